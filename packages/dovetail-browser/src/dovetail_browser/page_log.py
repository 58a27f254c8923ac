"""Keeps the latest console messages and requests of a tab."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dovetail_browser.page_errors import driver_errors

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Frame, Page, Request, Response

__all__ = ["LogKind", "LogLine", "PageLog"]

LogKind = Literal["console", "network", "errors"]

_MOST_LINES = 500
_LONGEST_TEXT = 2_000
_CHANGING = frozenset({"document", "script", "stylesheet", "xhr", "fetch"})


@dataclass(slots=True)
class LogLine:
    """A console message or a request."""

    id: int
    kind: str
    text: str
    source: str = ""
    resource_type: str = ""
    status: int | None = None
    failure: str = ""
    started: float = field(default_factory=time.monotonic)
    milliseconds: int | None = None
    # Kept for its body, which the browser discards after a while.
    response: Response | None = None
    # A call has waited for the request long enough.
    is_given_up: bool = False

    @property
    def is_error(self) -> bool:
        """Whether it reports an error."""
        return bool(self.failure) or self.kind == "error" or (self.status or 0) >= 400


class PageLog:
    """The console and network logs of a page, with a maximum length."""

    def __init__(self, page: Page) -> None:
        self._numbers = itertools.count(1)
        self._console: deque[LogLine] = deque(maxlen=_MOST_LINES)
        self._network: deque[LogLine] = deque(maxlen=_MOST_LINES)
        self._requests: dict[Request, LogLine] = {}
        self._page = page
        self._at_work: set[asyncio.Future[None]] = set()
        # The navigation request, until the page has been committed.
        self._underway: Request | None = None
        self._at_rest = asyncio.Event()
        self._at_rest.set()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._note("error", str(error)))
        page.on("crash", lambda _: self._rest())
        page.on("close", lambda _: self._rest())
        page.on("request", self._requested)
        page.on("response", self._responded)
        page.on("framenavigated", self._arrived)
        page.on("requestfinished", lambda request: self._finished(request, ""))
        page.on("requestfailed", lambda request: self._finished(request, request.failure or ""))

    @property
    def is_navigating(self) -> bool:
        """Whether a navigation is in progress."""
        return self._underway is not None

    async def arrival(self) -> None:
        """Wait until no navigation is in progress."""
        await self._at_rest.wait()

    @property
    def pending(self) -> int:
        """Number of requests without a response."""
        return len(self._requests)

    @property
    def open_requests(self) -> list[LogLine]:
        """Open requests that may change the page."""
        return [
            line
            for line in self._requests.values()
            if line.resource_type in _CHANGING and not line.is_given_up
        ]

    @property
    def is_busy(self) -> bool:
        """Whether a request is open that may change the page."""
        return bool(self.open_requests)

    def give_up(self) -> None:
        """Do not count the open requests any more; they may be streams that never end."""
        for line in self._requests.values():
            line.is_given_up = True

    def lines(self, kind: LogKind) -> Iterator[LogLine]:
        """Iterate over the entries of a log, oldest first."""
        if kind == "console":
            yield from self._console
        elif kind == "network":
            yield from self._network
        else:
            everything = sorted([*self._console, *self._network], key=lambda line: line.id)
            yield from (line for line in everything if line.is_error)

    def find(self, id: int) -> LogLine | None:
        """One line."""
        both = itertools.chain(self._console, self._network)
        return next((line for line in both if line.id == id), None)

    def _note(self, kind: str, text: str, source: str = "") -> None:
        self._console.append(LogLine(next(self._numbers), kind, text[:_LONGEST_TEXT], source))

    def _said(self, message: ConsoleMessage) -> None:
        where = message.location
        source = f"{where['url'][:300]}:{where['lineNumber']}" if where.get("url") else ""
        self._note(message.type, message.text, source)
        # Otherwise the driver and this process keep the arguments until the page is left.
        for argument in message.args:
            self._spawn(argument.dispose())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(_ignore_errors(work))
        self._at_work.add(task)
        task.add_done_callback(self._at_work.discard)

    def _requested(self, request: Request) -> None:
        line = LogLine(
            next(self._numbers),
            request.method,
            request.url[:_LONGEST_TEXT],
            resource_type=request.resource_type,
        )
        self._network.append(line)
        self._requests[request] = line
        if request.is_navigation_request() and self._is_of_page(request):
            self._underway = request
            self._at_rest.clear()
        # Limit the number of requests that never end, like streams.
        while len(self._requests) > _MOST_LINES:
            self._requests.pop(next(iter(self._requests)))

    def _responded(self, response: Response) -> None:
        line = self._requests.get(response.request)
        if line is not None:
            line.status = response.status
            line.response = response

    def _arrived(self, frame: Frame) -> None:
        if frame is self._page.main_frame:
            self._rest()

    def _rest(self) -> None:
        self._underway = None
        self._at_rest.set()

    def _is_of_page(self, request: Request) -> bool:
        with contextlib.suppress(*driver_errors()):
            return request.frame is self._page.main_frame
        return True

    def _finished(self, request: Request, failure: str) -> None:
        if request is self._underway:
            self._rest()
        line = self._requests.pop(request, None)
        if line is not None:
            line.failure = failure
            line.milliseconds = round((time.monotonic() - line.started) * 1000)


async def _ignore_errors(work: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(*driver_errors()):
        await work
