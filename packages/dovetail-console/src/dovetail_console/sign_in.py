"""`POST api/sign-in`: signs in with OAuth, and shows each request and response of the flow.

The browser comes back to `/console/callback`. Secrets are masked in what the page shows; the token
itself is sent to the page only for a server at this address, whose requests the page sends itself.

Every client that can load the page can start a sign-in, so the requests to the authorization server
are limited: sign-ins are counted before they begin, and all of them use one registration. A cookie
binds a sign-in to the browser that started it, so nobody gets another user's token with its URL.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import msgspec

from dovetail.client.auth import (
    AuthorizationCode,
    AuthorizationError,
    AuthTrace,
    MemoryStore,
    OAuth,
    Redirect,
    TokenStore,
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
from dovetail_console.requests import (
    ApiRequest,
    ConsoleServer,
    RefusedError,
    find_address,
    internal_url,
    public_url,
)
from dovetail_console.traffic import REDACTED, mask_fields, mask_headers, mask_url

__all__ = ["SignIn"]

_SECONDS = 300.0
# Sign-ins that are under way, and those that began in the last minute: of all, and of one address.
_MAX_UNDER_WAY, _MAX_OWN_UNDER_WAY = 100, 5
_MAX_BEGUN, _MAX_OWN_BEGUN = 30, 5
_MINUTE = 60.0
# Seconds that a registration is used again, and for how many addresses of the page.
_REGISTERED_SECONDS = 3600.0
_MAX_REGISTERED = 8
_CALLBACK = "/console/callback"
_COOKIE = "dovetail-console-sign-in"
_COOKIE_VALUE = re.compile(rf"(?:^|;\s*){_COOKIE}=([A-Za-z0-9_-]{{32}})(?:;|$)")
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

    def __init__(self, streams: EventStreams, clock: Callable[[], float] = time.monotonic) -> None:
        self._streams = streams
        self._clock = clock
        # By the state of the request.
        self._waiting: dict[str, _Waiting] = {}
        self._under_way: list[str] = []
        # When sign-ins began, and from which address.
        self._begun: list[tuple[float, str]] = []
        # One sign-in at a time is on its way to the authorization page.
        self._preparing = asyncio.Lock()
        self._registered: dict[tuple[str, str], _Registration] = {}

    async def serve(self, given: ApiRequest) -> None:
        """Sign in, with an event for each step; raises RefusedError."""
        server = given.server
        if given.site.is_shared:
            raise RefusedError(501, "Sign-in needs one process: leave out --workers")
        address = find_address(given.request)
        self._count(address)
        self._under_way.append(address)
        try:
            await self._serve(given, server)
        finally:
            self._under_way.remove(address)

    def _count(self, address: str) -> None:
        now = self._clock()
        self._begun = [each for each in self._begun if now - each[0] < _MINUTE]
        begun = [each for _, each in self._begun]
        if (
            len(self._under_way) >= _MAX_UNDER_WAY
            or self._under_way.count(address) >= _MAX_OWN_UNDER_WAY
            or len(begun) >= _MAX_BEGUN
            or begun.count(address) >= _MAX_OWN_BEGUN
        ):
            raise RefusedError(429, "Too many sign-ins; finish or close them, or wait a minute")
        self._begun.append((now, address))

    async def _serve(self, given: ApiRequest, server: ConsoleServer) -> None:
        place = server.sign_in
        url = find_resource(server) or internal_url(given.request, server)
        url = url if place is None else place.url
        redirect_uri = public_url(given.request, _CALLBACK)
        browser_id = _read_cookie(given.request) or secrets.token_urlsafe(24)

        async def work(stream: EventStream) -> None:
            async with contextlib.AsyncExitStack() as preparing:
                await preparing.enter_async_context(self._preparing)
                store = self._open_store(url, redirect_uri) if place is None else place.store

                async def prepared() -> None:
                    if place is None:
                        self._keep_registration(url, redirect_uri, store)
                    await preparing.aclose()

                visit = _Visit(redirect_uri, browser_id, stream, self._waiting, prepared)
                auth = OAuth(
                    grant=AuthorizationCode(_PageBrowser(visit)),
                    store=store,
                    client_name="dovetail console",
                )
                await _sign_in(url, auth, stream, shows_token=place is None)

        cookie = f"{_COOKIE}={browser_id}; Path=/; HttpOnly; SameSite=Lax"
        cookie += "; Secure" if redirect_uri.startswith("https:") else ""
        headers = [(b"set-cookie", cookie.encode())]
        await self._streams.serve(given.request, work, headers)

    def _open_store(self, url: str, redirect_uri: str) -> TokenStore:
        """A store for one sign-in, with the registration of those before it."""
        store = MemoryStore()
        known = self._registered.get((url, redirect_uri))
        if known is not None and self._clock() - known.made_at < _REGISTERED_SECONDS:
            for key, record in known.records.items():
                store.save(key, record)
        return store

    def _keep_registration(self, url: str, redirect_uri: str, store: TokenStore) -> None:
        """Keep what is stored before the user's turn, which is the registration."""
        found = {key: store.load(key) for key in store.list_keys()}
        records = {key: record for key, record in found.items() if record is not None}
        known = self._registered.pop((url, redirect_uri), None)
        is_same = known is not None and known.records == records
        while len(self._registered) >= _MAX_REGISTERED:
            del self._registered[next(iter(self._registered))]
        self._registered[url, redirect_uri] = (
            known if known is not None and is_same else _Registration(self._clock(), records)
        )

    def finish(self, request: HttpRequest) -> HttpResponse:
        """Serve the page that the authorization server redirects to."""
        query = request.scope.get("query_string", b"").decode("latin-1")
        answer = parse_qs(query)
        state = answer.get("state", [""])[0]
        waiting = self._waiting.get(state)
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"cache-control", b"no-store")]
        # What is not the answer of the same browser ends nothing.
        if (
            waiting is None
            or waiting.answer.done()
            or not hmac.compare_digest(waiting.browser_id, _read_cookie(request))
        ):
            return HttpResponse(410, _UNKNOWN.encode(), headers)
        waiting.answer.set_result(f"{waiting.redirect_uri}?{query}")
        page = _REFUSED if "error" in answer else _RECEIVED
        return HttpResponse(200, page.encode(), headers)


class _Registration(NamedTuple):
    made_at: float
    records: dict[str, bytes]


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


class _Waiting(NamedTuple):
    """A sign-in whose user is on the authorization page."""

    # The URL that the browser comes back to.
    answer: asyncio.Future[str]
    redirect_uri: str
    browser_id: str


def _read_cookie(request: HttpRequest) -> str:
    """The id of the browser; empty if it has none."""
    found = _COOKIE_VALUE.search(request.headers.get(b"cookie", b"").decode("latin-1"))
    return found[1] if found else ""


class _PageBrowser(UserAgent):
    """Lets the page of the console open the authorization page."""

    def __init__(self, visit: _Visit) -> None:
        self._visit = visit

    @contextlib.asynccontextmanager
    async def open(self, preferred: str | None) -> AsyncIterator[Redirect]:
        """Prepare one sign-in."""
        yield self._visit


class _Visit(Redirect):
    def __init__(
        self,
        redirect_uri: str,
        browser_id: str,
        stream: EventStream,
        waiting: dict[str, _Waiting],
        prepared: Callable[[], Awaitable[None]],
    ) -> None:
        self.uri = redirect_uri
        self._browser_id = browser_id
        self._stream = stream
        self._waiting = waiting
        self._prepared = prepared

    async def visit(self, url: str) -> str:
        await self._prepared()
        state = parse_qs(urlsplit(url).query)["state"][0]
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[state] = _Waiting(answer, self.uri, self._browser_id)
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
