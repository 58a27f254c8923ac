"""Shows progress and log messages on stderr while a command waits for a server.

On a terminal, progress is a bar that disappears at the end, and log messages scroll above it;
otherwise each message is a line.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console

from dovetail.cli.escaping import escape_control
from dovetail.spec.models import LogParams, ProgressParams

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Display"]


class Display:
    """The messages of one call."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._bar: tuple[Progress, TaskID] | None = None

    def show_log(self, message: LogParams) -> None:
        """Print a log message, above the bar if there is one."""
        logger = f" {message.logger}" if message.logger else ""
        data = message.data if isinstance(message.data, str) else repr(message.data)
        self._print(f"[{message.level}{logger}] {data}")

    def show_progress(self, progress: ProgressParams) -> None:
        """Move the bar, or print a line."""
        total = "" if progress.total is None else f"/{progress.total:g}"
        count, message = f"{progress.progress:g}{total}", progress.message or ""
        if not self._is_terminal:
            self._print(f"[{count}] {message}".rstrip())
            return
        bar, task = self._bar or self._make_bar()
        text = escape_control(f"{count} {message}".partition("\n")[0])
        bar.update(task, completed=progress.progress, total=progress.total, text=text)
        if self._bar is None:
            self._bar = (bar, task)
            bar.start()
        bar.refresh()

    def hide_bar(self) -> None:
        """Remove the bar; the next progress message draws it again."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    @staticmethod
    def _make_bar() -> tuple[Progress, TaskID]:
        # Importing it takes 30 ms, and few calls report progress.
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

        # The text is written by the server, so it must not be read as markup.
        text = TextColumn("{task.fields[text]}", markup=False)
        console = Console(stderr=True, highlight=False, markup=False)
        bar = Progress(BarColumn(), text, console=console, transient=True, auto_refresh=False)
        return bar, bar.add_task("", total=None, text="")

    def _print(self, line: str) -> None:
        click.echo(escape_control(line) if self._is_terminal else line, err=True)
