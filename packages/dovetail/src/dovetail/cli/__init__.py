"""The `dovetail` command.

Clients wait for a server to start, so `dovetail run FILE` imports neither click nor rich, and
`dovetail serve` imports only click. The other commands go through `cli.app`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["WORKER", "main"]

# The environment variable with the settings of a worker process, see `settings.py`.
WORKER = "DOVETAIL_WORKER"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    is_plain = len(arguments) == 2 and arguments[0] == "run" and not arguments[1].startswith("-")
    if is_plain and WORKER not in os.environ:
        from dovetail.cli.run_stdio import run_file  # noqa: PLC0415 - faster start

        return run_file(arguments[1])
    if arguments[:1] == ["serve"]:
        from dovetail.cli.serve_command import run_serve  # noqa: PLC0415 - see above

        return run_serve(arguments[1:])
    from dovetail.cli.app import run_app  # noqa: PLC0415 - click and rich are slow to import

    return run_app(arguments)
