"""What the browser says when something goes wrong, in words that lead on."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from dovetail import ToolError

__all__ = ["PATIENCE", "ask", "driver_errors", "explain", "first_line", "listed", "refuse"]

T = TypeVar("T")

# Seconds that a page has to answer a question about itself; one whose scripts are busy never does.
PATIENCE = 15.0
_LONGEST = 400

# Found in the browser's message -> what it means.
_MEANINGS: tuple[tuple[str, str], ...] = (
    ("ERR_TOO_MANY_REDIRECTS", "it redirects in a circle"),
    ("ERR_NAME_NOT_RESOLVED", "its host name is unknown"),
    ("ERR_CONNECTION_REFUSED", "nothing listens there"),
    ("ERR_CONNECTION_RESET", "the connection was cut by the other side"),
    ("ERR_CONNECTION_CLOSED", "the connection was closed before an answer came"),
    ("ERR_EMPTY_RESPONSE", "the server closed the connection without an answer"),
    ("ERR_TUNNEL_CONNECTION_FAILED", "no connection to it could be made"),
    ("ERR_PROXY_CONNECTION_FAILED", "the browser's own way out is closed"),
    ("ERR_INVALID_RESPONSE", "what came is no HTTP answer"),
    ("ERR_INVALID_HTTP_RESPONSE", "what came is no HTTP answer"),
    ("ERR_CONTENT_LENGTH_MISMATCH", "the answer ended too early, or was cut for its size"),
    ("ERR_INCOMPLETE_CHUNKED_ENCODING", "the answer ended too early, or was cut for its size"),
    ("ERR_CERT", "its certificate cannot be trusted"),
    ("ERR_SSL", "no secure connection could be agreed on"),
    ("ERR_BLOCKED_BY_CLIENT", "the request was refused by the rules of this server"),
    ("ERR_UNSAFE_PORT", "browsers refuse this port"),
    ("ERR_INTERNET_DISCONNECTED", "there is no network"),
    ("ERR_TIMED_OUT", "no answer came in time"),
    ("ERR_ABORTED", "it was stopped before anything came (an empty answer, or a file to download)"),
    ("Target crashed", "its process crashed"),
    ("Page crashed", "its process crashed"),
    ("has been closed", "the tab was closed meanwhile"),
    ("Execution context was destroyed", "it went on to another page meanwhile"),
    ("Frame was detached", "the frame went away meanwhile"),
    ("intercepts pointer events", "something else lies over the element"),
    ("not visible", "the element is not visible"),
    ("not enabled", "the element is disabled"),
    ("outside of the viewport", "the element cannot be scrolled into view"),
    ("not attached", "the element is gone"),
    ("not editable", "the element cannot be typed into"),
)


def driver_errors() -> tuple[type[Exception], ...]:
    """What the driver raises; loaded only once something was raised."""
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not there before it is used

    return (Error,)


def refuse(what: str, *steps: str) -> ToolError:
    """An error that says what could be done next."""
    listed = "".join(f"\n- {step}" for step in steps)
    return ToolError(f"{what}\n\nNext steps:{listed}" if steps else what)


def first_line(error: BaseException) -> str:
    """The driver's message without its call log and the name of its function."""
    line = re.split(r"\n|Call log:", str(error), maxsplit=1)[0].strip()
    return re.sub(r"^[A-Za-z]+\.[a-z_]+: ", "", line)[:_LONGEST]


def explain(error: BaseException) -> str:
    """What a message of the driver means; what covers an element is named."""
    text = str(error)
    covering = re.search(r"(<[^>\n]{1,200}>)[^\n]{0,200}intercepts pointer events", text)
    if covering is not None:
        return f"{covering[1]} lies over the element"
    return next((meaning for sign, meaning in _MEANINGS if sign in text), first_line(error))


async def ask(work: Coroutine[Any, Any, T], what: str, seconds: float = PATIENCE) -> T:
    """What a page answers; one that does not answer is an error, not a hang.

    It is asked in a task of its own: cleaning up after a question may hang just as well, where the
    process of the page is gone, and nobody waits for that.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if task.done():
            return task.result()
    finally:
        if not task.done():
            task.cancel()
            _abandoned.add(task)
            task.add_done_callback(_forget)
    raise refuse(
        f"The page did not answer within {seconds:g} s: {what}. Its scripts are probably busy.",
        "close_tab with this tab, then fetch_webpage again",
        "take_screenshot may still show what it looks like",
    )


_abandoned: set[asyncio.Future[Any]] = set()


def _forget(task: asyncio.Future[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        # Looked at, so that asyncio does not complain.
        task.exception()


def listed(names: Iterable[str], most: int = 8) -> str:
    """Some names for a sentence."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
