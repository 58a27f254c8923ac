"""What the browser says, in words."""

from __future__ import annotations

import asyncio

import pytest

from dovetail import ToolError
from dovetail_browser.page_errors import ask, explain, first_line, listed, refuse


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("Page.goto: net::ERR_TOO_MANY_REDIRECTS at http://x/", "it redirects in a circle"),
        ("Page.goto: net::ERR_CERT_DATE_INVALID at x", "its certificate cannot be trusted"),
        ("Page.evaluate: Target crashed", "its process crashed"),
        (
            'Locator.click: Timeout\nCall log:\n  - <div id="b">x</div> intercepts pointer events',
            '<div id="b"> lies over the element',
        ),
        ("Locator.click: Something new\nCall log:\n - a", "Something new"),
    ],
)
def test_messages_are_explained(said: str, meaning: str) -> None:
    assert explain(RuntimeError(said)) == meaning


def test_the_first_line_is_bounded_and_without_the_name_of_the_function() -> None:
    assert first_line(RuntimeError("Page.goto: oh no\nCall log:\n  - x")) == "oh no"
    assert len(first_line(RuntimeError("x" * 10_000))) <= 400


def test_a_refusal_names_next_steps() -> None:
    assert str(refuse("No.", "do this", "or that")) == "No.\n\nNext steps:\n- do this\n- or that"
    assert str(refuse("No.")) == "No."
    assert listed(list("abcdefghij"), 3) == "a, b, c and 7 more"


def test_a_page_that_does_not_answer_is_an_error() -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    with pytest.raises(ToolError, match=r"did not answer within 0\.01 s: reading it"):
        asyncio.run(ask(never(), "reading it", 0.01))


def test_nobody_waits_for_a_question_that_hangs_while_it_cleans_up() -> None:
    released = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await released.wait()

    async def run() -> None:
        asking = asyncio.ensure_future(ask(stubborn(), "anything"))
        await asyncio.sleep(0)
        asking.cancel()
        async with asyncio.timeout(5):
            with pytest.raises(asyncio.CancelledError):
                await asking
        released.set()

    asyncio.run(run())


def test_what_a_question_raises_is_raised() -> None:
    async def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(ask(fail(), "anything"))
