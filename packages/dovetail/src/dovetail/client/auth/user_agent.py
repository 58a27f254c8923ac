"""Takes the user to the authorization page and receives the redirect from it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import webbrowser
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from urllib.parse import parse_qs, urlsplit

from dovetail.errors import AuthorizationError

__all__ = [
    "LoopbackBrowser",
    "Redirect",
    "UserAgent",
    "escape_unprintable",
    "has_display",
    "show_url",
]

_HOST = "127.0.0.1"
_PATH = "/callback"
_MAX_HEAD = 32 * 1024
_READ_SECONDS = 10.0
_LOGIN_SECONDS = 300.0

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<style>body{{font:1.1rem system-ui,sans-serif;margin:4rem auto;max-width:32rem}}</style>
<h1>{title}</h1><p>{text}</p></html>
"""
_RECEIVED = _PAGE.format(title="Login received", text="You can close this window.")
_REFUSED = _PAGE.format(
    title="Not logged in", text="The login was not completed. The program that asked says why."
)
_FOREIGN = _PAGE.format(
    title="Another login", text="This is not the response to the login that waits here."
)


class Redirect(ABC):
    """One login: where the authorization page redirects to, and the way there."""

    # The redirect URI.
    uri: str

    @abstractmethod
    async def visit(self, url: str) -> str:
        """Show the page to the user; returns the URL that it redirected to."""


class UserAgent(ABC):
    """Opens authorization pages."""

    @abstractmethod
    def open(self, preferred: str | None) -> AbstractAsyncContextManager[Redirect]:
        """Prepare one login; `preferred` is the redirect URI of an earlier one."""


def escape_unprintable(text: str) -> str:
    """The text of a server for a terminal: without control, format and bidi characters."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def show_url(url: str) -> None:
    """Write the address of the page to stderr."""
    sys.stderr.write(f"Open this page to log in:\n\n    {url}\n\n")
    sys.stderr.flush()


class LoopbackBrowser(UserAgent):
    """The user's browser, which redirects to a port of this machine (RFC 8252, section 7.3).

    `show` gets the address of the page if no browser can be opened, and always with
    `open_browser=False`. `port` is for clients that are registered with a fixed port.
    """

    def __init__(
        self,
        *,
        open_browser: bool = True,
        show: Callable[[str], None] = show_url,
        port: int = 0,
        timeout: float = _LOGIN_SECONDS,
    ) -> None:
        self._open_browser = open_browser
        self._show = show
        self._port = port
        self._timeout = timeout

    @contextlib.asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        """Listen on a port of this machine."""
        redirect = _LoopbackRedirect(self._take_user, self._timeout)
        listener = await self._listen(redirect, preferred)
        try:
            port = listener.sockets[0].getsockname()[1]
            redirect.uri = f"http://{_HOST}:{port}{_PATH}"
            yield redirect
        finally:
            listener.close()

    async def _listen(self, redirect: _LoopbackRedirect, preferred: str | None) -> asyncio.Server:
        known = urlsplit(preferred or "").port
        # The port of an earlier login may be in use; then any other will do.
        for port in dict.fromkeys((self._port or known or 0, self._port)):
            with contextlib.suppress(OSError):
                return await asyncio.start_server(redirect.connected, _HOST, port, limit=_MAX_HEAD)
        raise AuthorizationError(f"Port {self._port} of this machine is in use; log in later")

    async def _take_user(self, url: str) -> None:
        is_open = False
        if self._open_browser and has_display():
            with contextlib.suppress(webbrowser.Error):
                is_open = await asyncio.to_thread(webbrowser.open, url)
        if not is_open:
            self._show(url)


def has_display() -> bool:
    """Whether a window can be opened; a browser in the terminal would take it over."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


class _LoopbackRedirect(Redirect):
    def __init__(
        self, take_user: Callable[[str], Coroutine[None, None, None]], timeout: float
    ) -> None:
        self._take_user = take_user
        self._timeout = timeout
        # The page that the user was sent to, and the state that comes back from it.
        self._is_visited = False
        self._state: str | None = None
        self._came_back: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def visit(self, url: str) -> str:
        self._state = parse_qs(urlsplit(url).query).get("state", [None])[0]
        self._is_visited = True
        opening = asyncio.ensure_future(self._take_user(url))
        opening.add_done_callback(self._opened)
        try:
            async with asyncio.timeout(self._timeout):
                return await self._came_back
        except TimeoutError:
            raise AuthorizationError(
                f"Nobody finished the login at {urlsplit(url).hostname} within "
                f"{self._timeout:g} s; log in again and finish it in the browser"
            ) from None
        finally:
            opening.cancel()

    def _opened(self, opening: asyncio.Future[None]) -> None:
        error = None if opening.cancelled() else opening.exception()
        if error is not None and not self._came_back.done():
            self._came_back.set_exception(error)

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of the browser."""
        try:
            async with asyncio.timeout(_READ_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head.decode("latin-1")))
                await writer.drain()
        except (
            OSError,
            TimeoutError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            # Something other than a browser; the login goes on waiting.
            pass
        finally:
            writer.close()

    def _answer(self, head: str) -> bytes:
        method, _, rest = head.partition(" ")
        target = rest.partition(" ")[0]
        parts = urlsplit(target)
        # Browsers also ask for an icon.
        if method != "GET" or parts.path != _PATH or not self._is_visited:
            return _respond("404 Not Found", "")
        # Any page and any local user can send a request to this port: only the response to this
        # login ends it.
        states = parse_qs(parts.query).get("state", [])
        if self._state is not None and self._state not in states:
            return _respond("400 Bad Request", _FOREIGN)
        if self._came_back.done():
            return _respond("410 Gone", _REFUSED)
        self._came_back.set_result(f"{self.uri}?{parts.query}")
        return _respond("200 OK", _RECEIVED if "code" in parse_qs(parts.query) else _REFUSED)


def _respond(status: str, page: str) -> bytes:
    body = page.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n"
        # The address of the page contains the code.
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
    )
    return head.encode() + body
