"""Explanations of browser errors."""

from __future__ import annotations

import asyncio

import pytest

from dovetail import ToolError
from dovetail_browser.page_errors import explain, first_line, join_names, tool_error, with_timeout
from tests.patience import CAP


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("Page.goto: net::ERR_TOO_MANY_REDIRECTS at http://x/", "it redirects in a loop"),
        ("Page.goto: net::ERR_CERT_DATE_INVALID at x", "its certificate is not trusted"),
        ("Page.evaluate: Target crashed", "its process crashed"),
        (
            'Locator.click: Timeout\nCall log:\n  - <div id="b">x</div> intercepts pointer events',
            '<div id="b"> covers the element',
        ),
        ("Locator.click: Something new\nCall log:\n - a", "Something new"),
    ],
)
def test_messages_are_explained(said: str, meaning: str) -> None:
    assert explain(RuntimeError(said)) == meaning


def test_the_first_line_is_limited_and_has_no_function_name() -> None:
    assert first_line(RuntimeError("Page.goto: oh no\nCall log:\n  - x")) == "oh no"
    assert len(first_line(RuntimeError("x" * 10_000))) <= 400


def test_an_error_lists_next_steps() -> None:
    assert (
        str(tool_error("No.", "do this", "or that")) == "No.\n\nNext steps:\n- do this\n- or that"
    )
    assert str(tool_error("No.")) == "No."
    assert join_names(list("abcdefghij"), 3) == "a, b, c and 7 more"


def test_a_page_that_does_not_respond_is_an_error() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    with pytest.raises(ToolError, match=r"did not respond within 0\.01 s: reading it"):
        asyncio.run(with_timeout(never(), "reading it", 0.01))


def test_a_cleanup_that_hangs_is_not_awaited() -> None:
    released = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await released.wait()

    async def run() -> None:
        asking = asyncio.ensure_future(with_timeout(stubborn(), "anything"))
        await asyncio.sleep(0)
        asking.cancel()
        async with asyncio.timeout(CAP):
            with pytest.raises(asyncio.CancelledError):
                await asking
        released.set()

    asyncio.run(run())


def test_exceptions_are_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(with_timeout(fail(), "anything"))
