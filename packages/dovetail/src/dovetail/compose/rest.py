"""The REST interface of a server: `POST /tools/NAME` and `GET /openapi.json`.

A call takes the same path as one of an MCP client, with the same guard. There is no session and no
stream: a tool that asks the user fails, and progress is not sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import msgspec

from dovetail.compose.rest_document import TOOLS, describe_tools
from dovetail.core.principal import Principal
from dovetail.core.schema.json_values import read_json
from dovetail.errors import InvalidValueError
from dovetail.runtime.auth_backend import AuthBackend, AuthRejection
from dovetail.runtime.stateless import StatelessEndpoint
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.transports.app_wrapper import AppWrapper
from dovetail.transports.asgi.messages import (
    JSON,
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    Headers,
    HttpRequest,
    HttpResponse,
    Receive,
    Scope,
    Transmit,
    read_body,
    respond,
    respond_and_drain,
)
from dovetail.transports.asgi.paths import mount_point, relative_path
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.streamable_http.credentials import without_credentials
from dovetail.transports.streamable_http.framing import framing_refusal, head_refusal
from dovetail.transports.streamable_http.security import RequestGuard
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.server import HttpAppOptions, Server

__all__ = ["RestApp", "rest_app"]

_DOCUMENT = "/openapi.json"
_BODY_TIMEOUT = 30.0
_CLOSE = (b"connection", b"close")
_SINGLE = (b"content-type", b"host", b"origin")
_INVALID_PARAMS, _FORBIDDEN, _TOO_MANY = -32602, 403, 429
# JSON-RPC error -> HTTP status.
_STATUS = {_INVALID_PARAMS: 404, _FORBIDDEN: 403, _TOO_MANY: 429, -32600: 400, -32700: 400}


class _Refusal(NamedTuple):
    """An error response: status, text and headers."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


def rest_app(
    server: Server,
    path: str = "/mcp",
    *,
    guard: AuthBackend | None = None,
    **options: Unpack[HttpAppOptions],
) -> RestApp:
    """Return an ASGI application with the tools of a server as REST operations, beside `/mcp`.

    It takes the arguments of `server.http_app`.
    """
    return RestApp(server, server.http_app(path, guard=guard, **options), guard, options)


class RestApp(AppWrapper):
    """The ASGI application; create it with `rest_app()`."""

    def __init__(
        self, server: Server, mcp: HttpApp, guard: AuthBackend | None, options: HttpAppOptions
    ) -> None:
        super().__init__(mcp)
        guard = guard or server.guard
        engine = server.engine if guard is None else guard.protect(server.engine, "http")
        self._endpoint = StatelessEndpoint(engine, LATEST_LEGACY)
        self._info = msgspec.to_builtins(server.identity.implementation)
        self._limit = engine.options.max_message_bytes
        self._body_timeout = options.get("body_timeout", _BODY_TIMEOUT)
        self._auth = guard
        self._credentials = () if guard is None else tuple(guard.credential_headers)
        self._origins = RequestGuard(
            options.get("allowed_hosts"), options.get("allowed_origins", ())
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection; everything but REST requests goes to the MCP endpoint."""
        path = relative_path(scope) if scope["type"] == "http" else ""
        if self._is_closing or not (path == _DOCUMENT or path.startswith(TOOLS)):
            await self._app(scope, receive, send)
            return
        request = HttpRequest(scope, dict(scope["headers"]), receive, send)
        answer = await self._serve(request, path)
        if isinstance(answer, _Refusal):
            body = codec.encode({"error": answer.text})
            answer = HttpResponse(answer.status, body, [*JSON, *answer.headers])
        if answer is not None:
            await respond(send, *answer)

    # -- requests -----------------------------------------------------------------------------

    async def _serve(self, request: HttpRequest, path: str) -> HttpResponse | _Refusal | None:
        scope, headers = request.scope, request.headers
        invalid = framing_refusal(
            headers, needs_trusted_headers=self._is_hosted and self._auth is not None
        ) or head_refusal(scope, headers, (*_SINGLE, *self._credentials))
        if invalid is not None:
            return _Refusal(*invalid, (_CLOSE,))
        refusal = self._origins.refusal(
            headers.get(b"host", b""), headers.get(b"origin", b""), scope.get("server")
        )
        if refusal is not None:
            return _Refusal(403, refusal)
        method = "GET" if path == _DOCUMENT else "POST"
        if scope["method"] != method:
            text = f"Method {scope['method']} is not allowed; allowed: {method}"
            return _Refusal(405, text, ((b"allow", method.encode()),))
        caller = None if self._auth is None else self._auth.identify(request)
        if caller is not None and not isinstance(caller, Principal | AuthRejection):
            caller = await caller
        if isinstance(caller, AuthRejection):
            return _Refusal(*caller)
        own_scope = without_credentials(scope, self._credentials)
        if path == _DOCUMENT:
            return await self._describe(own_scope, caller)
        return await self._call(request, own_scope, path.removeprefix(TOOLS), caller)

    async def _describe(self, scope: Scope, caller: Principal | None) -> HttpResponse | _Refusal:
        tools: list[Mapping[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = await self._ask("tools/list", params, scope, caller)
            if "error" in page:
                return _refusal(page["error"])
            tools += page["result"]["tools"]
            cursor = page["result"].get("nextCursor")
            if cursor is None:
                break
            params = {"cursor": cursor}
        root = mount_point(scope)
        document = describe_tools(
            tools,
            self._info,
            servers=[root] if root else (),
            credential_headers=self._credentials,
        )
        return HttpResponse(200, codec.encode(document), JSON)

    async def _call(
        self, request: HttpRequest, scope: Scope, name: str, caller: Principal | None
    ) -> HttpResponse | _Refusal | None:
        arguments = await self._read_arguments(request)
        if arguments is None or isinstance(arguments, _Refusal):
            return arguments
        params = {"name": name, "arguments": arguments}
        answer = await self._ask("tools/call", params, scope, caller)
        if "error" in answer:
            return _refusal(answer["error"])
        result = answer["result"]
        if result.get("isError"):
            blocks = (block.get("text", "") for block in result["content"])
            return _Refusal(422, "\n".join(filter(None, blocks)))
        body = result.get("structuredContent")
        return HttpResponse(
            200, codec.encode({"content": result["content"]} if body is None else body), JSON
        )

    async def _read_arguments(self, request: HttpRequest) -> dict[str, Any] | _Refusal | None:
        """Return the object in the body; None if the client has gone or has its response."""
        try:
            body = await read_body(request, self._limit, self._body_timeout)
        except BodyTooLargeError:
            text = codec.encode({"error": f"The body has more than {self._limit} bytes"})
            await respond_and_drain(request, HttpResponse(413, text, [*JSON, _CLOSE]))
            return None
        except BodyTooSlowError:
            return _Refusal(408, "The body did not arrive in time", (_CLOSE,))
        except ClientGoneError:
            return None
        if not body:
            return {}
        essence = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if essence != b"application/json":
            return _Refusal(415, "Content-Type must be application/json")
        try:
            value = read_json(body)
        except InvalidValueError as error:
            return _Refusal(400, f"The body is not valid JSON: {error}")
        if not isinstance(value, dict):
            return _Refusal(400, "The body must be an object with the arguments of the tool")
        return value

    async def _ask(
        self, method: str, params: Mapping[str, Any], scope: Scope, caller: Principal | None
    ) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self._endpoint.handle(codec.encode(message), None, scope, caller)
        if answer is not None and not isinstance(answer, bytes):
            answer = await answer
        assert answer is not None  # a request has a response
        decoded: dict[str, Any] = codec.decode_json(answer)
        return decoded


def _refusal(error: Mapping[str, Any]) -> _Refusal:
    headers: Headers = []
    if error["code"] == _TOO_MANY:
        after = (error.get("data") or {}).get("retryAfter", 1)
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(after))))
    return _Refusal(_STATUS.get(error["code"], 500), error["message"], tuple(headers))
