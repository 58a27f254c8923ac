"""Show messages and answer questions of the server while a request runs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import msgspec

from dovetail.cli.display import Display
from dovetail.cli.failures import FAILED_CALL, Failure
from dovetail.cli.questions import Questions
from dovetail.client import ElicitRequest, ElicitResponse
from dovetail.errors import RpcError

__all__ = ["Conversation"]

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
