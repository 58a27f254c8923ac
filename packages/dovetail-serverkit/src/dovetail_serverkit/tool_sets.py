"""The option `--tools`: which tools the list of a server shows. All of them can be called."""

from __future__ import annotations

from typing import Literal, get_args

import click

__all__ = ["TOOLS_OPTION", "ToolSet"]

ToolSet = Literal["default", "compact"]

TOOLS_OPTION = click.Option(
    ["--tools"],
    type=click.Choice(get_args(ToolSet)),
    default="default",
    show_default=True,
    help="Tools to list: compact is a short list of merged tools. All can be called.",
)
