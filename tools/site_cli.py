"""Writes docs/reference/cli.md: every command of `dovetail` with its help text.

usage: python -m tools.site_cli [--write]

Without --write it prints the page. A test compares the page with the commands.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dovetail.cli.app import app

__all__ = ["COMMAND", "PAGE", "describe_commands", "main"]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"
COMMAND = "python -m tools.site_cli --write"

_WIDTH = 86
_INTRO = """# Commands

<!-- Written by `python -m tools.site_cli --write`. -->

Every command of `dovetail` with its help text, as `--help` prints it. [Command
line](../cli.md) explains the commands with examples, and [Shell completion](shell-completion.md)
completes them. `check`, `report`, `verify`, `diff`, `explain`, `rules` and `badge` come with the
package `dovetail-check`, `graph` with `dovetail-graph`, and each server below `serve` with its own
package.
"""


def describe_commands(group: click.Group, name: str) -> str:
    """The text of the page for a group of commands."""
    return "\n".join([_INTRO, *_describe(group, [name], None)])


def main(argv: Sequence[str]) -> int:
    """Print the page or, with --write, update it."""
    text = describe_commands(app, "dovetail")
    if "--write" in argv:
        PAGE.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    return 0


def _describe(
    command: click.Command, words: list[str], parent: click.Context | None
) -> Iterator[str]:
    context = click.Context(
        command,
        parent=parent,
        info_name=words[-1],
        terminal_width=_WIDTH,
        **command.context_settings,
    )
    line = " ".join(words)
    text = "\n".join(row.rstrip() for row in command.get_help(context).splitlines())
    yield f"{'#' * min(len(words) + 1, 4)} `{line}`\n\n```console\n$ {line} --help\n{text}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None and not child.hidden:
                yield from _describe(child, [*words, name], context)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
