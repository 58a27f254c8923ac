"""Which guard `dovetail run` uses: that of the server, or that of the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from dovetail.auth import GuardSettings
from dovetail.cli.loading import Loaded
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = ["choose_guard", "guard_flags"]


def choose_guard(
    loaded: Loaded, options: GuardSettings, *, over_http: bool
) -> tuple[Guard | None, list[str]]:
    """The guard of the command line, if any, and warnings about guards that nothing uses.

    Raises UsageError if the server has its own guard as well: either of them could be the one
    that authenticates callers.
    """
    used = [getattr(server, "guard", None) for server in loaded.servers]
    flags = guard_flags(options)
    if flags:
        if any(guard is not None for guard in used):
            raise UsageError(
                f"the server in {loaded.source!r} has its own guard, so {', '.join(flags)} "
                "cannot be applied; remove the options, or the guard in Server(guard=...)"
            )
        return options.build(), []
    if over_http:
        used += [endpoint.app.auth for endpoint in loaded.endpoints]
    return None, [
        f"the guard {name!r} in {loaded.source!r} is not used; pass it as Server(guard={name})"
        for name, guard in loaded.guards.items()
        if not any(guard is each for each in used)
    ]


def guard_flags(guard: GuardSettings) -> list[str]:
    """The guard options that are set, as on the command line."""
    return [
        f"--{each.name.replace('_', '-')}" for each in fields(guard) if getattr(guard, each.name)
    ]
