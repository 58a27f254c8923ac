"""Ask the user for confirmation before a purge."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail import Context, ToolError

__all__ = ["confirm_purge"]


@dataclass
class Confirmation:
    """The user's answer.

    Attributes:
        confirm: Yes, erase it permanently.
    """

    confirm: bool = True


async def confirm_purge(ctx: Context, what: str, unasked: bool) -> None:
    """Raise ToolError unless the user agrees, or the client cannot ask and `unasked` is set."""
    declared = ctx.client.capabilities.get("elicitation")
    # An empty capability means forms; a client that declares only URLs cannot show one.
    if declared is None or (declared and "form" not in declared):
        if unasked:
            return
        raise ToolError(
            "purge erases data permanently and needs the user's confirmation, but this client does "
            "not support elicitation. Delete without purge (history is kept), or start the server "
            "with --purge-unasked. Nothing was changed"
        )
    answer = await ctx.elicit(
        f"Erase {what} permanently, with all history? This cannot be undone.", Confirmation
    )
    if not (answer.accepted and answer.data.confirm):
        raise ToolError("The user did not agree to the purge. Nothing was changed")
