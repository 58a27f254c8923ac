"""The API behind the tools: sends requests to its host and to no other.

The redirects, cookies and sizes of the responses are limited here, because tools act for callers
who must not see each other's data, and for models that do what a response says.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request

import httpx

from dovetail import ToolError
from dovetail_openapi.document import DocumentNode
from dovetail_openapi.operations import Operation
from dovetail_openapi.request_parts import RequestParts

__all__ = ["ApiClient", "ApiResponse"]

_MAX_REDIRECTS = 5
_ENCODINGS = ("identity", "gzip", "deflate")
# For zlib: find out whether the data is gzip or deflate.
_ANY_WRAPPER = 32 + zlib.MAX_WBITS


class ApiResponse(NamedTuple):
    """A complete response."""

    status: int
    reason: str
    media_type: str
    body: bytes


class ApiClient:
    """Sends requests with an HTTP client."""

    def __init__(
        self,
        client: httpx.AsyncClient | None,
        make_client: Callable[[], httpx.AsyncClient],
        *,
        timeout: float,
        max_response_bytes: int,
        around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
    ) -> None:
        """Without a `client`, which its owner closes, one is made when the server starts.

        `around` is entered while a client that was made here is open.
        """
        self._client = client
        self._is_own = client is None
        self._make_client = make_client
        self._around = around
        self._timeout = timeout
        self._max_bytes = max_response_bytes
        if client is not None:
            _keep_cookies_out(client)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Have a client while the server runs."""
        if not self._is_own:
            yield
            return
        async with self._around(), self._make_client() as client:
            self._client = client
            _keep_cookies_out(client)
            yield

    def find_base(self, operation: Operation) -> str:
        """Return the URL that the path of an operation is appended to; raises UsageError."""
        own = "" if self._client is None else str(self._client.base_url)
        url = own or _server_url(operation.server)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            place = operation.server or operation.head.node
            raise place.error(
                f"the URL of the server is {url!r}, which has no host; pass "
                'client=httpx.AsyncClient(base_url="https://...")'
            )
        return url.partition("?")[0].rstrip("/")

    async def send(self, method: str, base: str, parts: RequestParts, label: str) -> ApiResponse:
        """Send a request and read its response; raises ToolError."""
        client = self._client
        if client is None:
            raise ToolError(
                f"{label}: the server was running when its operations were added; pass client="
            )
        url = base + parts.path + (f"?{parts.query}" if parts.query else "")
        content, files = (None, None) if parts.body is None else parts.body[:2]
        request = client.build_request(
            method.upper(), url, headers=parts.headers, content=content, files=files
        )
        try:
            async with asyncio.timeout(self._timeout):
                return await self._exchange(client, request, label)
        except (TimeoutError, httpx.TimeoutException):
            raise ToolError(f"{label}: no complete response in {self._timeout:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            # Not the text of the error, which may contain the URL with a key in it.
            host = request.url.host
            kind = type(error).__name__
            raise ToolError(f"{label}: the request to {host} failed ({kind})") from None

    async def _exchange(
        self, client: httpx.AsyncClient, request: httpx.Request, label: str
    ) -> ApiResponse:
        for _ in range(_MAX_REDIRECTS):
            response = await client.send(request, stream=True, follow_redirects=False)
            try:
                following = response.next_request
                if following is None:
                    return await self._read(response, label)
            finally:
                await response.aclose()
            if _origin(following.url) != _origin(request.url):
                raise ToolError(
                    f"{label}: the API redirects to {following.url.host}, which is another host, "
                    "so the redirect is not followed"
                )
            request = following
        raise ToolError(f"{label}: the API redirects more than {_MAX_REDIRECTS} times")

    async def _read(self, response: httpx.Response, label: str) -> ApiResponse:
        body = bytearray()
        async for chunk in _decode(response, label, self._max_bytes):
            body += chunk
            if len(body) > self._max_bytes:
                raise ToolError(
                    f"{label}: the response has more than {self._max_bytes:,} bytes; ask for less, "
                    "for example with a filter or a smaller page"
                )
        media_type = response.headers.get("content-type", "")
        return ApiResponse(response.status_code, response.reason_phrase, media_type, bytes(body))


async def _decode(response: httpx.Response, label: str, limit: int) -> AsyncIterator[bytes]:
    """Yield the body in pieces of limited size; httpx would decompress a whole chunk at once."""
    if response.is_stream_consumed:
        yield response.content
        return
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in _ENCODINGS:
        raise ToolError(f"{label}: the response has the encoding {encoding!r}, which is not read")
    decoder = zlib.decompressobj(_ANY_WRAPPER) if encoding != "identity" else None
    async for chunk in response.aiter_raw():
        if decoder is None:
            yield chunk
            continue
        try:
            # The rest of the chunk is left out: this much is over the limit.
            yield decoder.decompress(chunk, limit + 1)
        except zlib.error:
            raise ToolError(f"{label}: the response is not valid {encoding}") from None


class _NoNewCookies(DefaultCookiePolicy):
    """Stores no cookies: a session that one caller got must not be used for another."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        """Reject every cookie."""
        return False


def _keep_cookies_out(client: httpx.AsyncClient) -> None:
    client.cookies.jar.set_policy(_NoNewCookies())


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _server_url(server: DocumentNode | None) -> str:
    """Return the URL of a server, its variables replaced by their defaults."""
    if server is None:
        return ""
    url = server.text("url")
    for name, variable in server.members("variables"):
        url = url.replace(f"{{{name}}}", str(variable.value.get("default", "")))
    return url
