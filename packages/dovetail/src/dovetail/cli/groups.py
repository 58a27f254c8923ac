"""Runs a click group whose commands accept `-- COMMAND`: `dovetail list -- python server.py`."""

from __future__ import annotations

from collections.abc import Sequence

import click

__all__ = ["run_group"]


def run_group(group: click.Group, arguments: Sequence[str], prog_name: str) -> int:
    """Run a command line; click exits the process with the exit code.

    The arguments after `--` are a command that starts a server; they become `context.obj`.
    """
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    group.main(args=words[:cut], prog_name=prog_name, obj=words[cut + 1 :])
    return 0
