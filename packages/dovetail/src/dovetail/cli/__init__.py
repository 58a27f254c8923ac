"""The `dovetail` command.

A client that starts a server waits for it, so `dovetail run FILE` takes a short cut: neither
click nor rich is imported on the way to the first answer, and for `dovetail serve` nothing but
click. Everything else goes through `cli.app`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if len(arguments) == 2 and arguments[0] == "run" and not arguments[1].startswith("-"):
        from dovetail.cli.running import run_file  # noqa: PLC0415 - the other half stays unread

        return run_file(arguments[1])
    if arguments[:1] == ["serve"]:
        from dovetail.cli.serve_command import run_serve  # noqa: PLC0415 - see above

        return run_serve(arguments[1:])
    from dovetail.cli.app import run_app  # noqa: PLC0415 - click and rich are slow to import

    return run_app(arguments)
