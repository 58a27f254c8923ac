"""Errors that end a command, and their exit codes.

0  success    1  the call failed    2  wrong usage    4  the server could not start
130  interrupted with Ctrl-C
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from dovetail.cli.log_format import escape_control
from dovetail.errors import UsageError

__all__ = [
    "COULD_NOT_START",
    "FAILED_CALL",
    "INTERRUPTED",
    "WRONG_USAGE",
    "Failure",
    "or_fail",
]

T = TypeVar("T")

FAILED_CALL, WRONG_USAGE, COULD_NOT_START, INTERRUPTED = 1, 2, 4, 130


class Failure(click.ClickException):
    """Ends the command with an error message and an exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        # click sets it on the class but reads it from the instance.
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: object = None) -> None:
        """Print the message to stderr; it may contain text of a server."""
        click.echo(f"dovetail: {escape_control(self.message)}", err=True)


def or_fail(work: Callable[[], T]) -> T:
    """Return the result of `work`; a UsageError ends the command."""
    try:
        return work()
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
