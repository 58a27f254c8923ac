"""Erasing for good: the user is asked first."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail import Context, ToolError

__all__ = ["ask_before_purge"]


@dataclass
class Confirmation:
    """The user's word.

    Attributes:
        confirm: Yes, erase it for good.
    """

    confirm: bool = True


async def ask_before_purge(ctx: Context, what: str, unasked: bool) -> None:
    """Go on only if the user agrees."""
    declared = ctx.client.capabilities.get("elicitation")
    # A client that names no kind can show forms; one that names pages only cannot.
    if declared is None or (declared and "form" not in declared):
        if unasked:
            return
        raise ToolError(
            "purge erases for good and asks the user first, but this client cannot ask. Delete "
            "without purge (history stays), or let the operator start the server with "
            "--purge-unasked. Nothing was changed"
        )
    answer = await ctx.elicit(
        f"Erase {what} for good, with all history? This cannot be undone.", Confirmation
    )
    if not (answer.accepted and answer.data is not None and answer.data.confirm):
        raise ToolError("The user did not agree to the purge. Nothing was changed")
