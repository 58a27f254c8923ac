"""Turns browser errors into messages that say what to do next."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from dovetail import ToolError

__all__ = [
    "PAGE_TIMEOUT",
    "CallError",
    "UnresponsivePageError",
    "abandon_after",
    "driver_errors",
    "explain",
    "first_line",
    "join_names",
    "message_of",
    "tool_error",
    "with_timeout",
]

T = TypeVar("T")

# Seconds for a page to respond; a page whose scripts are busy never does.
PAGE_TIMEOUT = 15.0
_LONGEST = 400

# Text in the browser's message -> explanation.
_MEANINGS: tuple[tuple[str, str], ...] = (
    ("ERR_TOO_MANY_REDIRECTS", "it redirects in a loop"),
    ("ERR_NAME_NOT_RESOLVED", "its host name is unknown"),
    ("ERR_CONNECTION_REFUSED", "nothing listens there"),
    ("ERR_CONNECTION_RESET", "the connection was reset by the server"),
    ("ERR_CONNECTION_CLOSED", "the connection was closed before a response was received"),
    ("ERR_EMPTY_RESPONSE", "the server closed the connection without a response"),
    ("ERR_TUNNEL_CONNECTION_FAILED", "the connection failed"),
    ("ERR_PROXY_CONNECTION_FAILED", "the browser's proxy does not respond"),
    ("ERR_INVALID_RESPONSE", "the response is not valid HTTP"),
    ("ERR_INVALID_HTTP_RESPONSE", "the response is not valid HTTP"),
    ("ERR_CONTENT_LENGTH_MISMATCH", "the response ended too early or exceeded the size limit"),
    ("ERR_INCOMPLETE_CHUNKED_ENCODING", "the response ended too early or exceeded the size limit"),
    ("ERR_CERT", "its certificate is not trusted"),
    ("ERR_SSL", "the TLS handshake failed"),
    ("ERR_BLOCKED_BY_CLIENT", "the request was refused by this server's address rules"),
    ("ERR_UNSAFE_PORT", "browsers refuse this port"),
    ("ERR_INTERNET_DISCONNECTED", "there is no network"),
    ("ERR_TIMED_OUT", "the connection timed out"),
    ("ERR_ABORTED", "loading was aborted (an empty response, or a file download)"),
    ("Target crashed", "its process crashed"),
    ("Page crashed", "its process crashed"),
    ("has been closed", "the tab was closed"),
    ("Execution context was destroyed", "it navigated to another page"),
    ("Frame was detached", "the frame was removed"),
    ("intercepts pointer events", "another element covers it"),
    ("not visible", "the element is not visible"),
    ("not enabled", "the element is disabled"),
    ("outside of the viewport", "the element cannot be scrolled into view"),
    ("not attached", "the element was removed"),
    ("not editable", "the element cannot be typed into"),
)


class CallError(ToolError):
    """A call failed; `steps` are suggestions what to call next.

    A step names tools as they are and parameters in backticks: those of the tool that it names, or
    else those of the failed call. See `hints.py`.
    """

    def __init__(self, what: str, steps: Sequence[str] = ()) -> None:
        listed = "".join(f"\n- {step}" for step in steps)
        super().__init__(f"{what}\n\nNext steps:{listed}" if steps else what)
        self.what = what
        self.steps = list(steps)


class UnresponsivePageError(CallError):
    """The page does not respond, probably because its scripts do not end."""


def driver_errors() -> tuple[type[Exception], ...]:
    """Return Playwright's exception types; imported only when an exception is handled."""
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not there before it is used

    return (Error,)


def tool_error(what: str, *steps: str) -> CallError:
    """Return an error with a list of next steps."""
    return CallError(what, steps)


def message_of(error: ToolError) -> str:
    """Return the message of an error without its next steps."""
    return error.what if isinstance(error, CallError) else str(error)


def first_line(error: BaseException) -> str:
    """Return the driver's message without the call log and function name."""
    line = re.split(r"\n|Call log:", str(error), maxsplit=1)[0].strip()
    return re.sub(r"^[A-Za-z]+\.[a-z_]+: ", "", line)[:_LONGEST]


def explain(error: BaseException) -> str:
    """Explain a message of the driver; names the element that covers another."""
    text = str(error)
    covering = re.search(r"(<[^>\n]{1,200}>)[^\n]{0,200}intercepts pointer events", text)
    if covering is not None:
        return f"{covering[1]} covers the element"
    return next((meaning for sign, meaning in _MEANINGS if sign in text), first_line(error))


async def with_timeout(work: Coroutine[Any, Any, T], what: str, seconds: float = PAGE_TIMEOUT) -> T:
    """Await an operation on a page; raise ToolError if the page does not respond in time."""
    try:
        return await abandon_after(seconds, work)
    except TimeoutError:
        raise UnresponsivePageError(
            f"The page did not respond within {seconds:g} s: {what}. "
            "Its scripts are probably busy.",
            (
                "manage_tabs with `action=close` ends the page, also while its scripts run",
                "fetch_webpage with a page of this host replaces the tab",
            ),
        ) from None


async def abandon_after(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await an operation of the driver; raise TimeoutError if it takes too long.

    Unlike `asyncio.timeout`, this does not wait for the cancelled operation: its cleanup can hang
    as well if the page's process is gone.
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
    raise TimeoutError


_abandoned: set[asyncio.Future[Any]] = set()


def _forget(task: asyncio.Future[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled():
        # Retrieve the exception, or asyncio logs a warning.
        task.exception()


def join_names(names: Iterable[str], most: int = 8) -> str:
    """Join names for a message; at most `most` of them."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
