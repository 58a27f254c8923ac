"""Show messages and answer questions of the server while a request runs."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec
from rich.console import Console

from dovetail.cli.escaping import escape_control
from dovetail.cli.failures import FAILED_CALL, Failure
from dovetail.cli.questions import Questions
from dovetail.client import ElicitRequest, ElicitResponse
from dovetail.errors import RpcError
from dovetail.spec.models import LogParams, ProgressParams

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = [
    "Conversation",
    "Display",
]


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


T = TypeVar("T")

# URLElicitationRequiredError (2025-11-25 client/elicitation)
_URL_REQUIRED = -32042


class Conversation:
    """The display and the questions of one request.

    Without questions, it declares that it can answer and cancels each one: a server may hide tools
    from clients that cannot answer, and a list has all tools.
    """

    def __init__(self, questions: Questions | None = None) -> None:
        self.display: Display = Display()
        self._questions = questions
        self._limit: asyncio.Timeout | None = None
        self._seconds = math.inf

    @property
    def elicit(self) -> Callable[[ElicitRequest], Awaitable[ElicitResponse]] | None:
        """The callback of the client; None if questions cannot be answered."""
        can_answer = self._questions is None or self._questions.can_answer
        return self._answer if can_answer else None

    async def _answer(self, request: ElicitRequest) -> ElicitResponse:
        if self._questions is None:
            return ElicitResponse.cancel()
        self.display.hide_bar()
        self._set_limit(math.inf)
        try:
            return await self._questions.answer(request)
        finally:
            self._set_limit(self._seconds)

    def _set_limit(self, seconds: float) -> None:
        if self._limit is not None:
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if seconds == math.inf else now + seconds)

    async def wait(self, method: str, seconds: float, request: Callable[..., Awaitable[T]]) -> T:
        """Send a request and wait for it; the time that the user takes to answer does not count.

        Raises TimeoutError, and Failure if a question could not be answered.
        """
        self._seconds = seconds
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._limit = limit
                self._set_limit(seconds)
                try:
                    return await request(timeout=math.inf)
                finally:
                    self._limit = None
        except RpcError as error:
            if error.code != _URL_REQUIRED:
                raise
            await self._visit(error)
            raise Failure(f"{error}; call again when you have done that", FAILED_CALL) from None
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"The server did not answer {method} within {seconds:g} s") from None
        finally:
            self._check_questions()

    async def _visit(self, error: RpcError) -> None:
        """Show the URLs that the user must visit before the request can succeed."""
        listed = error.data.get("elicitations") if isinstance(error.data, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            try:
                request = msgspec.convert(entry, ElicitRequest)
            except msgspec.ValidationError:
                continue
            if self._questions is not None:
                await self._questions.answer(request)

    def _check_questions(self) -> None:
        if self._questions is None:
            return
        if self._questions.problem is not None:
            raise self._questions.problem
        for key in self._questions.unused:
            click.echo(f"dovetail: the server did not ask for --answer {key}", err=True)
