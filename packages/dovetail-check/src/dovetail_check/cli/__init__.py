"""The commands of the checker, and `dovetail-check` for people who do not use the framework."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from dovetail.commands import run_group
from dovetail_check.cli.commands import badge_command, check, diff, report, verify
from dovetail_check.cli.explaining import explain, rules

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dovetail-check", prog_name="dovetail-check")
def group() -> None:
    """Test MCP servers against the specification. Without a command: `check`."""


for _command in (check, report, verify, diff, explain, rules, badge_command):
    group.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    # `dovetail-check URL` and `dovetail-check -- COMMAND` are what people type first.
    if words and words[0] not in (*group.commands, "-h", "--help", "--version"):
        words.insert(0, "check")
    return run_group(group, words, "dovetail-check")
