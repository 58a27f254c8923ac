"""Which guard `dovetail run` uses: that of the server, or that of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.loading import Loaded
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = ["choose_guard"]


def choose_guard(
    loaded: Loaded, options: GuardOptions, *, over_http: bool
) -> tuple[Guard | None, list[str]]:
    """The guard of the command line, if any, and warnings about guards that nothing uses.

    Raises UsageError if the server has its own guard as well: either of them could be the one
    that authenticates callers.
    """
    used = [getattr(server, "guard", None) for server in loaded.servers]
    if options.names:
        if any(guard is not None for guard in used):
            raise UsageError(
                f"the server in {loaded.source!r} has its own guard, so {', '.join(options.names)} "
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
