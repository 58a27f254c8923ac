"""The ASGI application: one URL for both eras.

A bare ASGI callable. It needs no lifespan from whoever mounts it, makes no redirects, and
picks the era of each request from what the request says of itself.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any

from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.eras.select import speaks_modern
from dovetail.errors import InvalidRequestError, UsageError
from dovetail.features.header_params import HeaderParams
from dovetail.runtime.auth_backend import AuthBackend, AuthRejection, AuthResult
from dovetail.runtime.engine import Engine
from dovetail.runtime.message_handler import refuse_message, start_lifespan, too_long
from dovetail.transports.asgi.accept import accepts
from dovetail.transports.asgi.counts import HttpCounts
from dovetail.transports.asgi.messages import (
    JSON,
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    Headers,
    HttpRequest,
    HttpResponse,
    PendingResponse,
    Receive,
    RequestView,
    Scope,
    Transmit,
    read_body,
    respond,
)
from dovetail.transports.streamable_http.credentials import (
    WithoutCredentials,
    without_credentials,
)
from dovetail.transports.streamable_http.legacy import LegacyEndpoint
from dovetail.transports.streamable_http.modern import ModernEndpoint
from dovetail.transports.streamable_http.old_sse import OldSseEndpoint
from dovetail.transports.streamable_http.security import RequestGuard
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["HttpApp", "HttpOptions"]

logger = logging.getLogger("dovetail")

_MAX_VALIDATED = 1024
_METHODS = b"POST, GET, DELETE, OPTIONS"
# Headers whose value must not depend on which of two copies somebody looks at.
_SINGLE = (
    b"mcp-protocol-version",
    b"mcp-method",
    b"mcp-name",
    b"mcp-session-id",
    b"last-event-id",
    b"content-type",
    b"host",
    b"origin",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """What can be set about HTTP; the defaults suit a server on the user's own machine."""

    path: str = "/mcp"
    # Hosts that requests may name. None: loopback names where the server listens on a loopback
    # address, anything where it does not; ("*",) anything in any case.
    allowed_hosts: Collection[str] | None = None
    # Pages that may call from a browser, beside those of the same host.
    allowed_origins: Collection[str] = ()
    # Keep no sessions for legacy clients: no back channel, no GET stream.
    stateless: bool = False
    # Answer with JSON only, for places where streaming is not possible.
    streaming: bool = True
    max_sessions: int = 10_000
    session_lifetime: float = 1800.0
    # Serve HTTP+SSE of 2024-11-05 as well, its stream at this path ("/sse", say).
    old_sse: str | None = None
    # Seconds that the rest of a body may take to arrive.
    body_timeout: float = 30.0


class HttpApp:
    """The application; make it with `server.http_app()`."""

    def __init__(
        self,
        engine: Engine,
        options: HttpOptions,
        header_params: Callable[[str, Call], HeaderParams],
        auth: AuthBackend | None = None,
    ) -> None:
        if options.path and not options.path.startswith("/"):
            raise UsageError(f"path must begin with a slash or be empty, got {options.path!r}")
        if auth is not None:
            engine = auth.protect(engine, "http")
        self._engine = engine
        self._options = options
        self._path = options.path.rstrip("/")
        self._guard = RequestGuard(options.allowed_hosts, options.allowed_origins)
        self._limit = engine.options.max_message_bytes
        self._auth = auth
        self._single = (*_SINGLE, *(() if auth is None else auth.credential_headers))
        # What is known of requests whose message is all that is left to look at.
        self._validated: set[tuple[Any, ...]] = set()
        self.modern = ModernEndpoint(engine, header_params, streaming=options.streaming)
        self.legacy = LegacyEndpoint(
            engine,
            max_sessions=options.max_sessions,
            session_lifetime=options.session_lifetime,
            stateless=options.stateless or not options.streaming,
            streaming=options.streaming,
        )

        self._old_sse = None
        if options.old_sse is not None:
            path = options.old_sse.rstrip("/")
            self._old_sse = OldSseEndpoint(engine, path=path, max_streams=options.max_sessions)

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _lifespan(self, receive: Receive, send: Transmit) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._engine.lifespan.start()
                except Exception as error:
                    # Only what is said here keeps the process from serving all the same.
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    raise
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self.close()
                await self._engine.lifespan.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def counts(self) -> HttpCounts:
        """How much is held for clients at this moment."""
        old = HttpCounts() if self._old_sse is None else self._old_sse.counts
        return HttpCounts.total((self.legacy.counts, self.modern.counts, old))

    def close(self) -> None:
        """End sessions and streams, so that the process can end."""
        self.legacy.close()
        self.modern.close()
        if self._old_sse is not None:
            self._old_sse.close()

    async def _http(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        raw: Headers = scope["headers"]
        headers = dict(raw)
        request = HttpRequest(scope, headers, receive, send)
        fingerprint = request_fingerprint(scope, headers)
        if fingerprint in self._validated and len(headers) == len(raw):
            # A client sends the same outside with every message; it is looked at once.
            await self._take(request)
        else:
            await self._look_at(request, fingerprint)

    async def _look_at(self, request: HttpRequest, fingerprint: tuple[Any, ...]) -> None:
        """Find out what a request wants and whether it may have it."""
        scope, headers, _, send = request
        raw: Headers = scope["headers"]
        path = self._path_in(scope)
        if path != self._path and not self._is_old(path):
            await self._elsewhere(request, path)
            return
        refusal = self._guard.refusal(
            headers.get(b"host", b""), headers.get(b"origin", b""), scope.get("server")
        )
        if refusal is not None:
            await self._refuse(request, 403, refusal)
            return
        origin = headers.get(b"origin")
        if origin is not None and self._guard.allows_cors(origin):
            request = request._replace(transmit=_with_cors(send, origin))
        if len(headers) != len(raw):
            if _has_copies(raw, self._single):
                await self._refuse(request, 400, "A header of the protocol is there twice")
                return
            headers.update(_whole_accept(raw))
        method = scope["method"]
        if path != self._path:
            await self._old(request, method, path)
        elif method == "POST":
            if await self._is_json(request):
                if origin is None and len(headers) == len(raw):
                    self._remember(fingerprint)
                await self._take(request)
        elif method == "OPTIONS":
            await respond(request.transmit, 204, headers=[(b"allow", _METHODS)])
        elif method in ("GET", "DELETE"):
            await self._get_or_delete(request, method)
        else:
            await self._refuse(request, 405, f"{method} is not served here")

    async def _elsewhere(self, request: HttpRequest, path: str) -> None:
        """What a guard has to be read: where to get a token, say. Else there is nothing."""
        page = None if self._auth is None else self._auth.page(path, self._path)
        method = request.scope["method"]
        origin = request.headers.get(b"origin")
        if origin is not None and self._guard.allows_cors(origin):
            request = request._replace(transmit=_with_cors(request.transmit, origin))
        if page is None:
            await respond(request.transmit, 404, b'{"error":"not found"}', JSON)
        elif method == "OPTIONS":
            await respond(request.transmit, 204, headers=[(b"allow", b"GET, HEAD, OPTIONS")])
        elif method in ("GET", "HEAD"):
            headers = [(b"content-type", page.content_type), (b"cache-control", b"no-store")]
            body = b"" if method == "HEAD" else page.body
            await respond(request.transmit, page.status, body, headers)
        else:
            await self._refuse(request, 405, f"{method} is not served here")

    def _remember(self, fingerprint: tuple[Any, ...]) -> None:
        # Clients choose much of it, so it must not grow with them.
        if len(self._validated) >= _MAX_VALIDATED:
            self._validated.clear()
        self._validated.add(fingerprint)

    def _path_in(self, scope: Scope) -> str:
        """The path below wherever the application is mounted; a slash at its end says nothing."""
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        # Some servers leave the prefix of a mount in the path, some take it off.
        if root and (path == root or path.startswith(root.rstrip("/") + "/")):
            path = path[len(root.rstrip("/")) :]
        return path.rstrip("/")

    def _is_old(self, path: str) -> bool:
        old = self._old_sse
        return old is not None and path in (old.path, old.messages_path)

    async def _old(self, request: HttpRequest, method: str, path: str) -> None:
        old = self._old_sse
        assert old is not None
        if (method, path) not in (("GET", old.path), ("POST", old.messages_path)):
            # sse.two-endpoints (2024-11-05 basic/transports): one to read, one to post to
            await self._refuse(request, 405, f"{method} is not served here")
            return
        principal = await self._identify(request)
        if isinstance(principal, AuthRejection):
            await self._turn_away(request, principal)
        elif method == "GET":
            hidden = () if self._auth is None else self._auth.credential_headers
            await old.get(request, without_credentials(request.scope, hidden), principal)
        else:
            body = await self._body(request) if await self._is_json(request) else None
            if body is not None:
                await old.post(request, body, principal)

    async def _get_or_delete(self, request: HttpRequest, method: str) -> None:
        if method == "GET" and not accepts(request.headers.get(b"accept"), b"text/event-stream"):
            await self._refuse(request, 406, "Accept must allow text/event-stream")
            return
        principal = await self._identify(request)
        if isinstance(principal, AuthRejection):
            await self._turn_away(request, principal)
            return
        serve = self.legacy.get if method == "GET" else self.legacy.delete
        await serve(request, principal)

    async def _take(self, request: HttpRequest) -> None:
        # auth.token.validate-first: not even the body of a stranger is read
        principal = None if self._auth is None else await self._identify(request)
        if isinstance(principal, AuthRejection):
            await self._turn_away(request, principal)
            return
        body = await self._body(request)
        if body is None:
            return
        begun = self._begin(request, body, principal)
        if isinstance(begun, HttpResponse):
            await respond(request.transmit, *begun)
        else:
            await begun

    async def _is_json(self, request: HttpRequest) -> bool:
        """Whether both sides speak JSON; a client that does not has been told."""
        headers = request.headers
        content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if content_type != b"application/json":
            await self._refuse(request, 415, "Content-Type must be application/json")
            return False
        if not accepts(headers.get(b"accept"), b"application/json"):
            await self._refuse(request, 406, "Accept must allow application/json")
            return False
        return True

    async def _body(self, request: HttpRequest) -> bytes | None:
        """The body of a POST; None if there is none to be had and the client has been told."""
        try:
            return await read_body(request, self._limit, self._options.body_timeout)
        except BodyTooLargeError:
            await self._refuse(request, 413, too_long(self._limit).message)
        except BodyTooSlowError:
            await self._refuse(request, 408, "The body took too long to arrive")
        except ClientGoneError:
            logger.debug("a client went away before its request was complete")
        return None

    def is_validated(self, request: RequestView) -> bool:
        """Whether a POST like this has been looked at, so that its body alone is left."""
        return request_fingerprint(request.scope, request.headers) in self._validated

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Begin to answer a welcome POST whose body is there; None where that must wait.

        For servers that can call before they make a task. An author's function may begin in
        here: it has to be called as if in the task that goes on with what is left.
        """
        if not self._engine.lifespan.started or len(body) > self._limit:
            return None
        if self._auth is None:
            return self._begin(request, body, None)
        identified = self._auth.identify(request.headers)
        if identified is None or isinstance(identified, Principal):
            return self._begin(request, body, identified)
        if isinstance(identified, AuthRejection):
            return _turned_away(identified)
        return self._begin_identified(request, body, identified)

    async def _begin_identified(
        self, request: RequestView, body: bytes, identifying: Coroutine[Any, Any, AuthResult]
    ) -> None:
        """For a caller whom it takes time to know."""
        identified = await identifying
        begun: PendingResponse
        if isinstance(identified, AuthRejection):
            begun = _turned_away(identified)
        else:
            begun = self._begin(request, body, identified)
        await (respond(request.transmit, *begun) if isinstance(begun, HttpResponse) else begun)

    def _begin(
        self, request: RequestView, body: bytes, principal: Principal | None
    ) -> PendingResponse:
        if not self._engine.lifespan.started:
            return self._begin_late(request, body, principal)
        if self._auth is not None:
            request = WithoutCredentials(request, self._auth.credential_headers)
        message = codec.decode(body)
        if not speaks_modern(message, request.headers.get(b"mcp-protocol-version")):
            return self.legacy.begin(request, message, principal)
        if isinstance(message, Request):
            return self.modern.begin(request, message, principal)
        if isinstance(message, Notification):
            # http.post.notification-202 (2026-07-28 basic/transports/streamable-http)
            return HttpResponse(202, b"", [])
        return HttpResponse(400, self.modern.refuse(message))

    async def _begin_late(
        self, request: RequestView, body: bytes, principal: Principal | None
    ) -> None:
        error = await start_lifespan(self._engine)
        if error is not None:
            refusal = refuse_message(codec.decode(body), error)
            await respond(request.transmit, 500, refusal or b"", JSON)
            return
        begun = self._begin(request, body, principal)
        await (respond(request.transmit, *begun) if isinstance(begun, HttpResponse) else begun)

    async def _identify(self, request: HttpRequest) -> AuthResult:
        if self._auth is None:
            return None
        # auth.token.every-request, sbp.session-not-auth: whatever session the request names
        identified = self._auth.identify(request.headers)
        if identified is None or isinstance(identified, Principal | AuthRejection):
            return identified
        return await identified

    async def _turn_away(self, request: HttpRequest, refusal: AuthRejection) -> None:
        await respond(request.transmit, *_turned_away(refusal))

    async def _refuse(self, request: HttpRequest, status: int, text: str) -> None:
        # http.origin.403-body, http.post.refused-body: an error without an id
        body = codec.encode_error(None, InvalidRequestError(text))
        extra: Headers = [(b"allow", _METHODS)] if status == 405 else []
        if status in (408, 413):
            extra.append((b"connection", b"close"))
        await respond(request.transmit, status, body, JSON + extra)


def _turned_away(refusal: AuthRejection) -> HttpResponse:
    body = codec.encode_error(None, InvalidRequestError(refusal.text))
    return HttpResponse(refusal.status, body, [*JSON, *refusal.headers])


def request_fingerprint(scope: Scope, headers: dict[bytes, bytes]) -> tuple[Any, ...]:
    """Everything that decides whether a POST is looked into."""
    return (
        scope["method"],
        scope["path"],
        scope.get("root_path"),
        # Some servers give a list, which no set takes.
        *(scope.get("server") or ()),
        headers.get(b"host"),
        headers.get(b"origin"),
        headers.get(b"content-type"),
        headers.get(b"accept"),
    )


def _whole_accept(raw: Headers) -> Headers:
    """A list may come on several lines (RFC 9110 section 5.3)."""
    lines = [value for name, value in raw if name == b"accept"]
    return [(b"accept", b", ".join(lines))] if lines else []


def _has_copies(raw: Headers, single: Collection[bytes]) -> bool:
    names = [name for name, _ in raw]
    return any(
        names.count(name) > 1 for name in names if name in single or name.startswith(b"mcp-param-")
    )


def _with_cors(transmit: Transmit, origin: bytes) -> Transmit:
    """Responses that a page of another origin may read."""
    extra: Headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", b"*, authorization"),
        (b"access-control-expose-headers", b"mcp-session-id, www-authenticate"),
        (b"vary", b"origin"),
    ]

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *extra]}
        await transmit(message)

    return send
