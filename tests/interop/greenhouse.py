"""Where the example server is, and how a client starts it as a process of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from dovetail.cli.loading import load_server
from dovetail.server import Server

__all__ = ["ARGUMENTS", "COMMAND", "EXAMPLE", "ROOT", "load_greenhouse"]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "everything.py"
COMMAND = sys.executable
ARGUMENTS = ["-m", "dovetail", "run", str(EXAMPLE)]


def load_greenhouse() -> Server:
    """The example in this process, fresh: what it learned in another test is gone."""
    return load_server(str(EXAMPLE))
