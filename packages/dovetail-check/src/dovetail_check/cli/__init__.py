"""The command line of the checker: `dovetail-check`, and the subcommands that `dovetail` adds."""

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
    """Test MCP servers against the specification.

    `dovetail-check TARGET` and `dovetail-check -- COMMAND` run the command `check`.
    """


for _command in (check, report, verify, diff, explain, rules, badge_command):
    group.add_command(_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] not in (*group.commands, "-h", "--help", "--version"):
        words.insert(0, "check")
    return run_group(group, words, "dovetail-check")
