"""`POST api/sign-in`: signs in with OAuth, and shows each request and response of the flow.

The browser comes back to `/console/callback`. Secrets are masked in what the page shows; the token
itself is sent to the page only for a server at this address, whose requests the page sends itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import msgspec

from dovetail.client.auth import (
    AuthorizationCode,
    AuthorizationError,
    AuthTrace,
    MemoryStore,
    OAuth,
    Redirect,
    UserAgent,
    find_token,
    login,
    trace_requests,
)
from dovetail.errors import DovetailError
from dovetail.transports import HttpRequest, HttpResponse
from dovetail.wire import codec
from dovetail_console.config import find_resource
from dovetail_console.event_streams import EventStream, EventStreams
from dovetail_console.requests import ApiRequest, RefusedError, internal_url, public_url
from dovetail_console.traffic import REDACTED, mask_fields, mask_headers, mask_url

__all__ = ["SignIn"]

_SECONDS = 300.0
_MAX_WAITING = 100
_CALLBACK = "/console/callback"
_FORM = "application/x-www-form-urlencoded"
# Members that are secrets here, besides those that any log leaves out.
_SECRET = frozenset(
    {"code", "code_verifier", "client_assertion", "assertion", "device_code", "state"}
)
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
    "<h1>{title}</h1><p>{text}</p></html>"
)
_RECEIVED = _PAGE.format(title="Signed in", text="You can close this window.")
_REFUSED = _PAGE.format(
    title="Not signed in", text="The authorization server refused. The console says why."
)
_UNKNOWN = _PAGE.format(
    title="Not signed in",
    text="No sign-in of the console waits for this answer. Start again in the console.",
)


class SignIn:
    """The sign-ins that are under way."""

    def __init__(self, streams: EventStreams) -> None:
        self._streams = streams
        # The state of the request -> the answer, which is the URL that the browser came back to.
        self._waiting: dict[str, asyncio.Future[str]] = {}

    async def serve(self, given: ApiRequest) -> None:
        """Sign in, with an event for each step; raises RefusedError."""
        server = given.server
        if given.site.is_shared:
            raise RefusedError(501, "Sign-in needs one process: leave out --workers")
        if len(self._waiting) >= _MAX_WAITING:
            raise RefusedError(429, "Too many sign-ins are under way; finish or close them")
        place = server.sign_in
        url = find_resource(server) or internal_url(given.request, server)
        url = url if place is None else place.url
        redirect_uri = public_url(given.request, _CALLBACK)

        async def work(stream: EventStream) -> None:
            browser = _PageBrowser(redirect_uri, stream, self._waiting)
            store = MemoryStore() if place is None else place.store
            auth = OAuth(
                grant=AuthorizationCode(browser), store=store, client_name="dovetail console"
            )
            await _sign_in(url, auth, stream, shows_token=place is None)

        await self._streams.serve(given.request, work)

    def finish(self, request: HttpRequest) -> HttpResponse:
        """Serve the page that the authorization server redirects to."""
        query = request.scope.get("query_string", b"").decode("latin-1")
        answer = parse_qs(query)
        state = answer.get("state", [""])[0]
        waiting = self._waiting.get(state)
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
        if waiting is None or waiting.done():
            return HttpResponse(410, _UNKNOWN.encode(), headers)
        waiting.set_result(f"{public_url(request, _CALLBACK)}?{query}")
        page = _REFUSED if "error" in answer else _RECEIVED
        return HttpResponse(200, page.encode(), headers)


async def _sign_in(url: str, auth: OAuth, stream: EventStream, *, shows_token: bool) -> None:
    steps = _Steps()
    sending = asyncio.ensure_future(steps.send_to(stream))
    try:
        with trace_requests(steps.add):
            found = await login(url, auth)
    except (DovetailError, TimeoutError) as error:
        await steps.drain()
        await stream.send("error", {"message": str(error) or "The sign-in took too long"})
        return
    finally:
        sending.cancel()
    await steps.drain()
    token = find_token(url, auth) if shows_token else None
    await stream.send(
        "done", {"token": token, "scopes": list(found.scopes), "expires_at": found.expires_at}
    )


class _Steps:
    """The requests and responses of the flow, in order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self._count = 0

    def add(self, trace: AuthTrace) -> None:
        """Note a request or a response."""
        if trace.status is None:
            self._count += 1
        event = "request" if trace.status is None else "response"
        self._queue.put_nowait((event, _describe(trace, self._count)))

    async def send_to(self, stream: EventStream) -> None:
        """Send each step; never returns."""
        while True:
            await stream.send(*await self._queue.get())
            self._queue.task_done()

    async def drain(self) -> None:
        """Wait until all steps are sent."""
        await self._queue.join()


def _describe(trace: AuthTrace, step: int) -> dict[str, Any]:
    return {
        "step": step,
        "method": trace.method,
        "url": mask_url(trace.url),
        "status": trace.status,
        "headers": mask_headers(
            [(name.encode(), value.encode("utf-8")) for name, value in trace.headers]
        ),
        "body": _mask_body(trace),
    }


def _mask_body(trace: AuthTrace) -> str:
    text = trace.body.decode(errors="replace")
    kind = {name.lower(): value for name, value in trace.headers}.get("content-type", "")
    if kind.startswith(_FORM):
        fields = _mask_members(dict(parse_qsl(text, keep_blank_values=True)))
        return urlencode(fields, safe="[]:/")
    try:
        value = codec.decode_json(trace.body)
    except msgspec.ValidationError:
        return text if not text else "[not JSON]"
    return codec.encode(_mask_members(value)).decode() if isinstance(value, dict) else text


def _mask_members(fields: dict[str, Any]) -> dict[str, Any]:
    # Names with "token" are masked, except those whose values are URLs or names of methods.
    shown = {
        name: value
        for name, value in fields.items()
        if name.endswith(("_endpoint", "_supported", "_uri", "_type", "_method"))
    }
    masked: dict[str, Any] = mask_fields(fields)
    secret = {name: REDACTED for name in fields if name in _SECRET}
    return {**masked, **shown, **secret}


class _PageBrowser(UserAgent):
    """Lets the page of the console open the authorization page."""

    def __init__(
        self, uri: str, stream: EventStream, waiting: dict[str, asyncio.Future[str]]
    ) -> None:
        self._uri = uri
        self._stream = stream
        self._waiting = waiting

    @contextlib.asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        """Prepare one sign-in."""
        redirect = _PageRedirect(self._stream, self._waiting)
        redirect.uri = self._uri
        yield redirect


class _PageRedirect(Redirect):
    def __init__(self, stream: EventStream, waiting: dict[str, asyncio.Future[str]]) -> None:
        self._stream = stream
        self._waiting = waiting

    async def visit(self, url: str) -> str:
        state = parse_qs(urlsplit(url).query)["state"][0]
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[state] = answer
        try:
            await self._stream.send("open", {"url": url})
            async with asyncio.timeout(_SECONDS):
                return await answer
        except TimeoutError:
            raise AuthorizationError(
                f"Nobody finished the sign-in at {urlsplit(url).hostname} within {_SECONDS:g} s"
            ) from None
        finally:
            del self._waiting[state]
