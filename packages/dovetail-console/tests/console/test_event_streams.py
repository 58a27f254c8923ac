from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from dovetail.transports import HttpRequest
from dovetail_console.event_streams import EventStream, EventStreams
from tests.patience import CAP


class Page:
    """The browser's end of one stream."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gone = asyncio.Event()
        self.has_head = asyncio.Event()

    def request(self) -> HttpRequest:
        async def receive() -> Any:
            await self.gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self.sent.append(message)
            self.has_head.set()

        return HttpRequest({"type": "http"}, {}, receive, send)

    @property
    def body(self) -> bytes:
        return b"".join(each.get("body", b"") for each in self.sent)


def serve(
    work: Callable[[EventStream], Coroutine[Any, Any, None]],
    meanwhile: Callable[[Page, EventStreams], Awaitable[None]] | None = None,
) -> Page:
    async def run() -> Page:
        page, streams = Page(), EventStreams()
        async with asyncio.timeout(CAP):
            serving = asyncio.ensure_future(streams.serve(page.request(), work))
            await page.has_head.wait()
            if meanwhile is not None:
                await meanwhile(page, streams)
            await serving
        return page

    return asyncio.run(run())


def test_events_are_sent_and_the_response_is_ended() -> None:
    async def work(stream: EventStream) -> None:
        await stream.send("frame", {"text": "a\nb"})

    page = serve(work)
    assert b'event: frame\ndata: {"text":"a\\nb"}\n\n' in page.body
    assert page.sent[0]["status"] == 200
    assert (b"content-type", b"text/event-stream") in page.sent[0]["headers"]
    assert not page.sent[-1].get("more_body", False)


async def wait_forever(stream: EventStream) -> None:
    await asyncio.Event().wait()


def test_work_is_cancelled_if_the_page_goes_away() -> None:
    async def leave(page: Page, streams: EventStreams) -> None:
        page.gone.set()

    serve(wait_forever, leave)


def test_work_is_cancelled_at_shutdown() -> None:
    async def shut_down(page: Page, streams: EventStreams) -> None:
        await asyncio.sleep(0)
        streams.end()

    page = serve(wait_forever, shut_down)
    assert not page.sent[-1].get("more_body", False)


def test_a_failure_is_logged_and_the_page_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def work(stream: EventStream) -> None:
        raise ValueError("secret detail")

    page = serve(work)
    assert b"event: error" in page.body
    assert b"secret detail" not in page.body
    assert "secret detail" in caplog.text
