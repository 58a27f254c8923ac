"""Shared output functions: JSON, two columns, and a console of the right width.

Text from a server is untrusted: its control characters are escaped, so that it cannot rewrite the
terminal or hide parts of its output.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dovetail.cli.log_format import escape_control
from dovetail.wire import codec

__all__ = [
    "format_json",
    "make_console",
    "print_heading",
    "print_json",
    "print_pairs",
    "print_wrapped",
]

# Used if stdout is not a terminal; 80 columns would wrap signatures.
_PIPE_WIDTH = 120
_MIN_WIDTH = 40


def format_json(value: Any) -> str:
    """Any value as JSON, indented by two spaces."""
    return msgspec.json.format(codec.encode(value), indent=2).decode()


def print_json(value: Any) -> None:
    """Print any value as JSON, indented by two spaces."""
    click.echo(format_json(value))


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Print names in one column and values in the other."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        table.add_row(name, Text(escape_control(value)))
    make_console().print(table)


def print_heading(text: str) -> None:
    """Print a line in bold."""
    click.secho(text, bold=True)


def print_wrapped(text: str, *, indent: int = 0, hanging: int = 0) -> None:
    """Print text within the width of the terminal; keeps its lines and their indentation.

    The lines are indented, and continued lines more than that by `hanging`.
    """
    width = max(make_console().width, _MIN_WIDTH)
    for line in escape_control(text).split("\n"):
        own = indent + len(line) - len(line.lstrip())
        wrapped = textwrap.fill(
            line.strip(),
            width,
            initial_indent=" " * own,
            subsequent_indent=" " * (own + hanging),
            break_on_hyphens=False,
        )
        click.echo(wrapped)


def make_console() -> Console:
    """A console as wide as the terminal, or 120 columns if stdout is not a terminal."""
    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False)
