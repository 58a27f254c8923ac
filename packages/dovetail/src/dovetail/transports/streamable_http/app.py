"""The ASGI application, which serves both eras at one URL.

It works without lifespan events from the framework that mounts it, sends no redirects, and
selects the era of each request from its headers and body.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from dovetail.core.call import Call
from dovetail.core.options import HttpAppOptions
from dovetail.core.principal import Principal
from dovetail.eras.select import speaks_modern
from dovetail.errors import InvalidRequestError, ShutdownError, UsageError
from dovetail.features.custom_routes import CustomRoute, CustomRoutes
from dovetail.runtime.auth_backend import AuthBackend, AuthRejection, AuthResult
from dovetail.runtime.engine import (
    HEALTH_PATHS,
    READY_PATH,
    Engine,
    PublicDocument,
    find_health_page,
)
from dovetail.runtime.message_handler import (
    MessageHandler,
    end_calls,
    refuse_message,
    start_lifespan,
    too_long,
)
from dovetail.spec.header_params import HeaderParams
from dovetail.spec.models import Implementation
from dovetail.transports.asgi.in_flight import HttpCounts
from dovetail.transports.asgi.messages import (
    JSON,
    SHUTTING_DOWN,
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
    accepts,
    read_body,
    relative_path,
    respond,
    respond_and_drain,
)
from dovetail.transports.streamable_http.custom_routes import (
    RouteEndpoint,
    allowed_methods,
    find_route,
)
from dovetail.transports.streamable_http.legacy import ClusterEndpoint, LegacyEndpoint
from dovetail.transports.streamable_http.modern import ModernEndpoint
from dovetail.transports.streamable_http.old_sse import OldSseEndpoint
from dovetail.transports.streamable_http.security import (
    RequestGuard,
    WithoutCredentials,
    framing_refusal,
    head_refusal,
    without_credentials,
)
from dovetail.transports.streamable_http.signals import end_streams_on_signal
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["HttpApp"]

logger: logging.Logger = logging.getLogger("dovetail")

_MAX_VALIDATED = 1024
_METHODS = b"POST, GET, DELETE, OPTIONS"
# Without sessions there is neither a GET stream nor a session to delete.
_STATELESS_METHODS = b"POST, OPTIONS"
_CLOSE = (b"connection", b"close")
_NO_CALLER = "This route needs an authenticated caller, and this one is anonymous"
# Headers that must not be repeated: a proxy could read another copy than this server.
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


class HttpApp:
    """The ASGI application; create it with `server.http_app()`."""

    def __init__(
        self,
        engine: Engine,
        path: str,
        options: HttpAppOptions,
        header_params: Callable[[str, Call], HeaderParams],
        auth: AuthBackend | None = None,
        routes: CustomRoutes | None = None,
    ) -> None:
        """`options` are complete; `header_params(tool, call)` are the arguments in headers."""
        if path and not path.startswith("/"):
            raise UsageError(f"path must begin with a slash or be empty, got {path!r}")
        if auth is not None:
            engine = auth.protect(engine, "http")
        self._engine = engine
        self.options: HttpAppOptions = options
        self._path = path.rstrip("/")
        self._guard = RequestGuard(options["allowed_hosts"], options["allowed_origins"])
        self._limit = engine.options.max_message_bytes
        self._auth = auth
        self._single = (*_SINGLE, *(() if auth is None else auth.credential_headers))
        # Fingerprints of validated requests: only the body of such a request is checked.
        self._validated: set[tuple[Any, ...]] = set()
        self.modern: ModernEndpoint = ModernEndpoint(
            engine, header_params, streaming=options["streaming"]
        )
        self.legacy: LegacyEndpoint = _legacy_endpoint(engine, options)
        self._methods = _STATELESS_METHODS if self.legacy.is_stateless else _METHODS
        self._is_draining = self._is_closing = False
        # Whether another ASGI server runs this application. SIGTERM and SIGINT end the streams
        # then, because the server waits for them silently.
        self._is_hosted = True
        self._old_sse = None
        old_sse = options["old_sse"]
        if old_sse is not None:
            self._old_sse = OldSseEndpoint(
                engine, path=old_sse.rstrip("/"), max_streams=options["max_sessions"]
            )
        self._routes = CustomRoutes() if routes is None else routes
        self._routes.attach(self)
        self._route_endpoint = RouteEndpoint(engine)

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
                    # The ASGI server only stops if it gets this message.
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    raise
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                self.close()
                await self._engine.lifespan.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    @property
    def path(self) -> str:
        """The path of the MCP endpoint, below the mount point of the application."""
        return self._path

    @property
    def server(self) -> Any:
        """The server that this application serves."""
        return self._engine.host.source

    @property
    def info(self) -> Implementation:
        """What the server says about itself."""
        info: Implementation = self.server.identity.implementation
        return info

    @property
    def auth(self) -> AuthBackend | None:
        """The guard of the application."""
        return self._auth

    def counts(self) -> HttpCounts:
        """Current number of sessions, calls and streams."""
        old = HttpCounts() if self._old_sse is None else self._old_sse.counts
        return HttpCounts.total((self.legacy.counts, self.modern.counts, old))

    # -- shutdown ---------------------------------------------------------------------------

    def serve_directly(self) -> None:
        """Leave the shutdown to the caller, who calls the following two methods."""
        self._is_hosted = False

    def begin_shutdown(self) -> None:
        """End the streams of clients that only listen; requests are still served."""
        self._is_draining = True
        self._engine.lifespan.begin_shutdown()
        self.end_streams()

    async def finish_shutdown(self, grace: float) -> None:
        """Refuse new requests, give running calls `grace` seconds, and end all sessions.

        What is refused or does not finish gets 503.
        """
        self._is_closing = True
        await asyncio.gather(
            end_calls(self._handlers(), grace, ShutdownError()),
            self._route_endpoint.requests.finish(grace),
        )
        self.close()

    def end_streams(self) -> None:
        """End the streams of clients that only listen; running calls go on."""
        self.legacy.end_streams()
        self.modern.end_streams()
        if self._old_sse is not None:
            self._old_sse.end_streams()

    def close(self) -> None:
        """End all sessions and streams at once."""
        self.end_streams()
        self.legacy.close()
        if self._old_sse is not None:
            self._old_sse.close()

    def _handlers(self) -> list[MessageHandler]:
        old = [] if self._old_sse is None else self._old_sse.handlers
        return [*self.legacy.handlers, *self.modern.handlers, *old]

    # -- requests ---------------------------------------------------------------------------

    async def _http(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        raw: Headers = scope["headers"]
        headers = dict(raw)
        request = HttpRequest(scope, headers, receive, send)
        if self._is_closing:
            await respond(send, *SHUTTING_DOWN)
            return
        if b"transfer-encoding" in headers or b"upgrade" in headers:
            is_exposed = self._is_hosted and self._auth is not None
            refusal = framing_refusal(headers, needs_trusted_headers=is_exposed)
            if refusal is not None:
                await self._refuse(request, *refusal, [_CLOSE])
                return
            # A copy, because uvicorn adds trailers to the list while the body arrives.
            scope = {**scope, "headers": [*raw]}
            request = HttpRequest(scope, headers, receive, send)
            if b"upgrade" in headers:
                # With httptools, uvicorn does not read the body of a request for an upgrade, and
                # would serve the body as the next request.
                request = request._replace(transmit=_with_headers(send, [_CLOSE]))
        fingerprint = request_fingerprint(scope, headers)
        if fingerprint in self._validated and len(headers) == len(raw):
            # A client sends the same headers with every message; they are validated once.
            await self._serve_post(request)
        else:
            if self._is_hosted:
                end_streams_on_signal(self)
            await self._validate(request, fingerprint)

    async def _validate(self, request: HttpRequest, fingerprint: tuple[Any, ...]) -> None:
        """Validate the path, headers and method of a request, then route it."""
        scope, headers, _, send = request
        raw: Headers = scope["headers"]
        path = relative_path(scope).rstrip("/")
        routes = () if self._is_mcp(path) else self._routes.find(path)
        if not self._is_mcp(path) and not routes:
            await self._serve_page(request, path)
            return
        refusal = self._find_refusal(scope, headers)
        if refusal is not None:
            await self._reject(request, refusal)
            return
        origin = headers.get(b"origin")
        if origin is not None and self._guard.allows_cors(origin):
            allowed = allowed_methods(routes) if routes else _METHODS
            cors = _cors_headers(origin, allowed)
            request = request._replace(transmit=_with_headers(send, cors))
        if len(headers) != len(raw):
            headers.update(_joined_accept(raw))
        method = scope["method"]
        if routes:
            await self._serve_route(request, routes, method)
        elif path != self._path:
            await self._serve_old_sse(request, method, path)
        else:
            # A client that repeats these headers need not be validated again.
            is_plain = origin is None and len(headers) == len(raw)
            await self._serve_mcp(request, method, fingerprint if is_plain else None)

    def find_refusal(self, request: HttpRequest) -> AuthRejection | None:
        """Why a request is refused whatever its path is: its framing, headers, Host or Origin.

        For applications that serve other paths beside this one.
        """
        is_exposed = self._is_hosted and self._auth is not None
        invalid = framing_refusal(request.headers, needs_trusted_headers=is_exposed)
        if invalid is not None:
            return AuthRejection(*invalid, (_CLOSE,))
        return self._find_refusal(request.scope, request.headers)

    def _find_refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> AuthRejection | None:
        invalid = head_refusal(scope, headers, self._single)
        if invalid is not None:
            return AuthRejection(*invalid, (_CLOSE,))
        text = self._guard.refusal(
            headers.get(b"host", b""), headers.get(b"origin", b""), scope.get("server")
        )
        return None if text is None else AuthRejection(403, text)

    def has_route(self, path: str) -> bool:
        """Whether a custom route of the server is at this path."""
        return bool(self._routes.find(path))

    async def _serve_mcp(
        self, request: HttpRequest, method: str, fingerprint: tuple[Any, ...] | None
    ) -> None:
        if method == "POST":
            if await self._is_json(request):
                if fingerprint is not None:
                    self._mark_validated(fingerprint)
                await self._serve_post(request)
        elif method == "OPTIONS":
            await respond(request.transmit, 204, headers=[(b"allow", self._methods)])
        elif method in ("GET", "DELETE") and not self.legacy.is_stateless:
            await self._get_or_delete(request, method)
        else:
            # http.get.sse-or-405: without sessions there is no stream
            await self._not_allowed(request, self._methods)

    async def find_health(self, path: str) -> PublicDocument | None:
        """The health page at a path, if there is one."""
        if not self.options["health"] and (self._auth is None or self._auth_page(path) is None):
            return None
        if path == READY_PATH and not self._engine.lifespan.started:
            # Nothing else may start it: an orchestrator sends no requests before this page is 200.
            await start_lifespan(self._engine)
        return find_health_page(path, self._engine, is_draining=self._is_draining)

    def _auth_page(self, path: str) -> PublicDocument | None:
        return None if self._auth is None else self._auth.page(path, self._path)

    async def _serve_page(self, request: HttpRequest, path: str) -> None:
        """Serve a health page or a page of the auth backend, or respond with 404."""
        page = await self.find_health(path) if path in HEALTH_PATHS else self._auth_page(path)
        method = request.scope["method"]
        origin = request.headers.get(b"origin")
        if origin is not None and self._guard.allows_cors(origin):
            request = request._replace(
                transmit=_with_headers(request.transmit, _cors_headers(origin))
            )
        if page is None:
            await respond(request.transmit, 404, b'{"error":"not found"}', JSON)
        elif method == "OPTIONS":
            await respond(request.transmit, 204, headers=[(b"allow", b"GET, HEAD, OPTIONS")])
        elif method in ("GET", "HEAD"):
            headers = [(b"content-type", page.content_type), (b"cache-control", b"no-store")]
            body = b"" if method == "HEAD" else page.body
            await respond(request.transmit, page.status, body, headers)
        else:
            await self._not_allowed(request, b"GET, HEAD, OPTIONS")

    def check_route(self, route: CustomRoute) -> None:
        """Raise UsageError if something else is served at the path of a custom route."""
        page = self._auth_page(route.path)
        if self._is_mcp(route.path) or page is not None:
            what = "the MCP endpoint" if page is None else "a page of the guard"
            raise UsageError(f"{route.where} conflicts with {what} at the same path")

    async def _serve_route(
        self, request: HttpRequest, routes: Sequence[CustomRoute], method: str
    ) -> None:
        route = find_route(routes, method)
        allowed = allowed_methods(routes)
        if route is None and method == "OPTIONS":
            await respond(request.transmit, 204, headers=[(b"allow", allowed)])
            return
        if route is None:
            await self._not_allowed(request, allowed)
            return
        principal = await self.identify(request) if route.guarded else None
        if isinstance(principal, AuthRejection):
            await self._reject(request, principal)
            return
        if route.needs_caller and principal is None:
            await self._refuse(request, 403, _NO_CALLER)
            return
        body = await self.read_body(request)
        if body is not None:
            hidden = () if self._auth is None else self._auth.credential_headers
            scope = without_credentials(request.scope, hidden)
            await self._route_endpoint.serve(route, request._replace(scope=scope), body, principal)

    def _mark_validated(self, fingerprint: tuple[Any, ...]) -> None:
        # Clients choose most of the fingerprint, so the set is bounded.
        if len(self._validated) >= _MAX_VALIDATED:
            self._validated.clear()
        self._validated.add(fingerprint)

    def _is_mcp(self, path: str) -> bool:
        """Whether MCP is served at this path, over either transport."""
        old = self._old_sse
        return path == self._path or (old is not None and path in (old.path, old.messages_path))

    async def _serve_old_sse(self, request: HttpRequest, method: str, path: str) -> None:
        old = self._old_sse
        assert old is not None
        if self._is_draining:
            # The stream on which the response would be sent is about to end.
            await respond(request.transmit, *SHUTTING_DOWN)
            return
        if (method, path) not in (("GET", old.path), ("POST", old.messages_path)):
            # sse.two-endpoints (2024-11-05 basic/transports): one to read, one to post to
            await self._not_allowed(request, b"GET" if path == old.path else b"POST")
            return
        principal = await self.identify(request)
        if isinstance(principal, AuthRejection):
            await self._reject(request, principal)
        elif method == "GET":
            hidden = () if self._auth is None else self._auth.credential_headers
            await old.get(request, without_credentials(request.scope, hidden), principal)
        else:
            body = await self.read_body(request) if await self._is_json(request) else None
            if body is not None:
                await old.post(request, body, principal)

    async def _get_or_delete(self, request: HttpRequest, method: str) -> None:
        if method == "GET" and not accepts(request.headers.get(b"accept"), b"text/event-stream"):
            await self._refuse(request, 406, "Accept must allow text/event-stream")
            return
        principal = await self.identify(request)
        if isinstance(principal, AuthRejection):
            await self._reject(request, principal)
            return
        serve = self.legacy.get if method == "GET" else self.legacy.delete
        await serve(request, principal)

    async def _serve_post(self, request: HttpRequest) -> None:
        # auth.token.validate-first: authenticate before the body is read
        principal = None if self._auth is None else await self.identify(request)
        if isinstance(principal, AuthRejection):
            await self._reject(request, principal)
            return
        body = await self.read_body(request)
        if body is None:
            return
        begun = self._begin(request, body, principal)
        if isinstance(begun, HttpResponse):
            await respond(request.transmit, *begun)
        else:
            await begun

    async def _is_json(self, request: HttpRequest) -> bool:
        """Check Content-Type and Accept; if it returns False, the error has been sent."""
        headers = request.headers
        content_type = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if content_type != b"application/json":
            await self._refuse(request, 415, "Content-Type must be application/json")
            return False
        if not accepts(headers.get(b"accept"), b"application/json"):
            await self._refuse(request, 406, "Accept must allow application/json")
            return False
        return True

    async def read_body(self, request: HttpRequest, limit: int | None = None) -> bytes | None:
        """The body of a request; None if it could not be read, after sending the error.

        Without a `limit` in bytes, it is that of messages.
        """
        limit = self._limit if limit is None else limit
        try:
            return await read_body(request, limit, self.options["body_timeout"])
        except BodyTooLargeError:
            body = self._error(request, too_long(limit).message)
            await respond_and_drain(request, HttpResponse(413, body, [*JSON, _CLOSE]))
        except BodyTooSlowError:
            text = f"The body did not arrive within {self.options['body_timeout']:g} seconds"
            await self._refuse(request, 408, text, [_CLOSE])
        except ClientGoneError:
            logger.debug("a client went away before its request was complete")
        return None

    def is_validated(self, request: RequestView) -> bool:
        """Whether an identical POST was validated before, so that only the body is unchecked."""
        return request_fingerprint(request.scope, request.headers) in self._validated

    def begin(self, request: RequestView, body: bytes) -> PendingResponse | None:
        """Start a validated POST with a complete body; None if the ASGI path is needed.

        For servers that can call this before they create a task. The handler may start in here,
        so this must be called in the context of the task that awaits the result.
        """
        if self._is_closing or not self._engine.lifespan.started or len(body) > self._limit:
            return None
        if self._auth is None:
            return self._begin(request, body, None)
        identified = self._auth.identify(request)
        if identified is None or isinstance(identified, Principal):
            return self._begin(request, body, identified)
        if isinstance(identified, AuthRejection):
            return _rejection(identified)
        return self._begin_identified(request, body, identified)

    async def _begin_identified(
        self, request: RequestView, body: bytes, identifying: Coroutine[Any, Any, AuthResult]
    ) -> None:
        """Start a request after asynchronous authentication."""
        identified = await identifying
        begun: PendingResponse
        if isinstance(identified, AuthRejection):
            begun = _rejection(identified)
        else:
            begun = self._begin(request, body, identified)
        await (respond(request.transmit, *begun) if isinstance(begun, HttpResponse) else begun)

    def _begin(
        self, request: RequestView, body: bytes, principal: Principal | None
    ) -> PendingResponse:
        if not self._engine.lifespan.started:
            return self._begin_after_startup(request, body, principal)
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

    async def _begin_after_startup(
        self, request: RequestView, body: bytes, principal: Principal | None
    ) -> None:
        error = await start_lifespan(self._engine)
        if error is not None:
            refusal = refuse_message(codec.decode(body), error)
            await respond(request.transmit, 500, refusal or b"", JSON)
            return
        begun = self._begin(request, body, principal)
        await (respond(request.transmit, *begun) if isinstance(begun, HttpResponse) else begun)

    async def identify(self, request: HttpRequest) -> AuthResult:
        """The caller of a request, None if it is anonymous, or why it is refused."""
        if self._auth is None:
            return None
        # auth.token.every-request, sbp.session-not-auth: also for requests with a session id
        identified = self._auth.identify(request)
        if identified is None or isinstance(identified, Principal | AuthRejection):
            return identified
        return await identified

    async def _reject(self, request: HttpRequest, refusal: AuthRejection) -> None:
        await self._refuse(request, refusal.status, refusal.text, [*refusal.headers])

    async def _not_allowed(self, request: HttpRequest, methods: bytes) -> None:
        text = f"Method {request.scope['method']} is not allowed; allowed: {methods.decode()}"
        # RFC 9110 section 15.5.6: the response lists the methods that are
        await self._refuse(request, 405, text, [(b"allow", methods)])

    async def _refuse(
        self, request: HttpRequest, status: int, text: str, extra: Headers | None = None
    ) -> None:
        body = self._error(request, text)
        await respond(request.transmit, status, body, [*JSON, *(extra or [])])

    def _error(self, request: HttpRequest, text: str) -> bytes:
        """The body of a refusal; clients of custom routes do not know JSON-RPC."""
        if self._is_mcp(relative_path(request.scope).rstrip("/")):
            return _error(text)
        return codec.encode({"error": text})


def _legacy_endpoint(engine: Engine, options: HttpAppOptions) -> LegacyEndpoint:
    stateless = options["stateless"] or not options["streaming"]
    if engine.processes is None or stateless:
        return LegacyEndpoint(
            engine,
            max_sessions=options["max_sessions"],
            session_lifetime=options["session_lifetime"],
            stateless=stateless,
            streaming=options["streaming"],
        )
    return ClusterEndpoint(
        engine,
        engine.processes,
        max_sessions=options["max_sessions"],
        session_lifetime=options["session_lifetime"],
    )


def _error(text: str) -> bytes:
    # http.origin.403-body, http.post.refused-body: an error without an id
    return codec.encode_error(None, InvalidRequestError(text))


def _rejection(refusal: AuthRejection) -> HttpResponse:
    return HttpResponse(refusal.status, _error(refusal.text), [*JSON, *refusal.headers])


def request_fingerprint(scope: Scope, headers: dict[bytes, bytes]) -> tuple[Any, ...]:
    """All values that decide whether a POST passes validation."""
    return (
        scope["method"],
        scope.get("http_version"),
        scope["path"],
        scope.get("root_path"),
        # Some servers pass a list, which is not hashable.
        *(scope.get("server") or ()),
        headers.get(b"host"),
        headers.get(b"origin"),
        headers.get(b"content-type"),
        headers.get(b"accept"),
    )


def _joined_accept(raw: Headers) -> Headers:
    """Join repeated Accept headers (RFC 9110 section 5.3)."""
    lines = [value for name, value in raw if name == b"accept"]
    return [(b"accept", b", ".join(lines))] if lines else []


def _cors_headers(origin: bytes, methods: bytes = _METHODS) -> Headers:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", methods),
        (b"access-control-allow-headers", b"*, authorization"),
        (b"access-control-expose-headers", b"mcp-session-id, www-authenticate"),
        (b"vary", b"origin"),
    ]


def _with_headers(transmit: Transmit, extra: Headers) -> Transmit:
    """Add headers to the response."""

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *extra]}
        await transmit(message)

    return send
