"""Serves the custom routes of a server, such as `/health`, beside the MCP endpoint."""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from dovetail.core.principal import Principal
from dovetail.errors import InvalidRequestError
from dovetail.features.custom_routes import CustomRoute, RouteRequest, RouteResponse
from dovetail.runtime.engine import Engine
from dovetail.runtime.message_handler import start_lifespan
from dovetail.runtime.stateless import StatelessEndpoint
from dovetail.runtime.workers import WorkerPool
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.transports.asgi.in_flight import RequestTasks
from dovetail.transports.asgi.messages import (
    JSON,
    Headers,
    HttpRequest,
    HttpResponse,
    Scope,
    relative_path,
    respond,
)
from dovetail.wire import codec

__all__ = ["RouteEndpoint", "allowed_methods", "find_route"]

logger: logging.Logger = logging.getLogger("dovetail")

_TEXT: Headers = [(b"content-type", b"text/plain; charset=utf-8")]
_BYTES: Headers = [(b"content-type", b"application/octet-stream")]
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_BREAK = re.compile(r"[\r\n\0]")
_OWN_HEADERS = ("content-length", "transfer-encoding", "connection")
_FAILED = HttpResponse(500, b'{"error":"internal error"}')


def find_route(routes: Sequence[CustomRoute], method: str) -> CustomRoute | None:
    """The route for a method; GET also answers HEAD."""
    for wanted in (method, "GET" if method == "HEAD" else method):
        for route in routes:
            if wanted in route.methods:
                return route
    return None


def allowed_methods(routes: Sequence[CustomRoute]) -> bytes:
    """The value of the Allow header."""
    methods = {"OPTIONS"}.union(*(route.methods for route in routes))
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set()))).encode()


class RouteEndpoint:
    """Calls the handlers of custom routes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._endpoint = StatelessEndpoint(engine, LATEST_LEGACY)
        self.requests = RequestTasks()
        self._workers = WorkerPool(engine.options.worker_threads)

    async def serve(
        self,
        route: CustomRoute,
        request: HttpRequest,
        body: bytes,
        principal: Principal | None,
    ) -> None:
        """Call the handler and send its response; `request` has no credentials."""
        with self.requests.track():
            await self._serve(route, request, body, principal)

    async def _serve(
        self,
        route: CustomRoute,
        request: HttpRequest,
        body: bytes,
        principal: Principal | None,
    ) -> None:
        response: Any = _FAILED
        if await start_lifespan(self._engine) is None:
            state = self._engine.lifespan.state
            if route.mounted_state is not None:
                state = route.mounted_state()
            given = replace(
                _read_request(request, body, principal, state),
                parameters=_read_parameter(route, request),
                handle=partial(self._handle, request.scope, principal),
            )
            try:
                async with asyncio.timeout(self._engine.options.timeout):
                    value = await self._call(route, given)
                response = value if _is_asgi(value) else _encode(value)
            except InvalidRequestError as error:
                response = HttpResponse(400, codec.encode({"error": str(error)}))
            # SystemExit would stop the event loop, and with it every other request.
            except (Exception, SystemExit):
                logger.exception("%s failed", route.where)
        if not isinstance(response, HttpResponse):
            await response(request.scope, request.receive, request.transmit)
        elif request.scope["method"] == "HEAD":
            await respond(request.transmit, response.status, b"", response.headers)
        else:
            await respond(request.transmit, *response)

    async def _handle(
        self, scope: Scope, principal: Principal | None, message: bytes | str
    ) -> bytes | None:
        data = message.encode() if isinstance(message, str) else message
        answer = self._endpoint.handle(data, None, scope, principal)
        return answer if answer is None or isinstance(answer, bytes) else await answer

    async def _call(self, route: CustomRoute, given: RouteRequest) -> Any:
        if not route.is_async:
            value = await self._workers.run(partial(route.function, given))
        else:
            value = route.function(given)
        return await value if inspect.isawaitable(value) else value


def _read_request(
    request: HttpRequest, body: bytes, principal: Principal | None, lifespan: Any
) -> RouteRequest:
    query = request.scope.get("query_string", b"").decode("latin-1")
    headers: dict[str, str] = {}
    for name, value in request.scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        separator = "; " if key == "cookie" else ", "
        headers[key] = f"{headers[key]}{separator}{text}" if key in headers else text
    return RouteRequest(
        method=request.scope["method"],
        path=request.scope["path"],
        query=dict(parse_qsl(query, keep_blank_values=True)),
        query_string=query,
        headers=headers,
        body=body,
        principal=principal,
        lifespan=lifespan,
    )


def _read_parameter(route: CustomRoute, request: HttpRequest) -> dict[str, str]:
    if route.parameter is None:
        return {}
    return {route.parameter: relative_path(request.scope).rstrip("/").rpartition("/")[2]}


def _is_asgi(response: Any) -> bool:
    """Whether a handler returned a response of a web framework, which is an ASGI application."""
    return callable(response) and not isinstance(response, type)


def _encode(value: Any) -> HttpResponse:
    """The response for what a handler returned; raises TypeError."""
    if not isinstance(value, RouteResponse):
        value = RouteResponse(value, 204 if value is None else 200)
    body, headers = _encode_body(value.body)
    if not 200 <= value.status <= 599:
        raise ValueError(f"the status must be a number from 200 to 599, got {value.status!r}")
    own = [_encode_header(name, text) for name, text in value.headers.items()]
    names = {name for name, _ in own}
    kept = [header for header in headers if header[0] not in names]
    return HttpResponse(value.status, b"" if value.status in (204, 304) else body, [*kept, *own])


def _encode_header(name: str, value: str) -> tuple[bytes, bytes]:
    # A line break would end the header: text of a request must not become a header or a body.
    if _NAME.fullmatch(name) is None or _BREAK.search(value) is not None:
        raise ValueError(f"{name!r}: {value!r} is not a valid header")
    if name.lower() in _OWN_HEADERS:
        raise ValueError(f"the header {name!r} is set by the server")
    return name.lower().encode(), value.encode("latin-1")


def _encode_body(body: Any) -> tuple[bytes, Headers]:
    if body is None:
        return b"", []
    if isinstance(body, str):
        return body.encode(), _TEXT
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body), _BYTES if body else []
    return codec.encode(body), JSON
