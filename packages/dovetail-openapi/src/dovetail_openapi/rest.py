"""The REST interface of a server: `POST /tools/NAME` and `GET /openapi.json`.

Two routes beside the MCP endpoint. A call takes the same path as one of an MCP client, with the
same guard. There is no session and no stream: a tool that asks the user fails, and progress is not
sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Unpack

import msgspec

from dovetail import HttpAppOptions, RouteRequest, RouteResponse, Server
from dovetail.auth import Guard
from dovetail_openapi.rest_document import describe_tools

__all__ = ["add_rest", "rest_app"]

_DOCUMENT = "/openapi.json"
_INVALID_PARAMS, _FORBIDDEN, _TOO_MANY = -32602, 403, 429
# JSON-RPC error -> HTTP status.
_STATUS = {_INVALID_PARAMS: 404, _FORBIDDEN: 403, _TOO_MANY: 429, -32600: 400, -32700: 400}


def rest_app(
    server: Server,
    path: str = "/mcp",
    *,
    guard: Guard | None = None,
    **options: Unpack[HttpAppOptions],
) -> Any:
    """Return an ASGI application with the tools of a server as REST operations, beside `/mcp`.

    It takes the arguments of `server.http_app`.
    """
    add_rest(server, guard=guard)
    return server.http_app(path, guard=guard, **options)


def add_rest(server: Server, *, guard: Guard | None = None) -> None:
    """Add the REST interface to all HTTP applications of a server; call it once.

    `guard` is that of the applications, if it is not the server's own.
    """

    @server.custom_route(_DOCUMENT, guarded=True)
    async def describe(request: RouteRequest) -> Any:
        tools: list[Mapping[str, Any]] = []
        params: dict[str, Any] = {}
        while True:
            page = await _ask(request, "tools/list", params)
            if "error" in page:
                return _refusal(page["error"])
            tools += page["result"]["tools"]
            cursor = page["result"].get("nextCursor")
            if cursor is None:
                break
            params = {"cursor": cursor}
        root = request.path.removesuffix(_DOCUMENT)
        known = guard or server.guard
        return describe_tools(
            tools,
            msgspec.to_builtins(server.identity.implementation),
            servers=[root] if root else (),
            credential_headers=() if known is None else known.credential_headers,
        )

    @server.custom_route("/tools/{name}", methods=["POST"], guarded=True)
    async def call(request: RouteRequest) -> RouteResponse:
        arguments: Any = {}
        if request.body:
            essence = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if essence != "application/json":
                return _error(415, "Content-Type must be application/json")
            arguments = request.json()
        if not isinstance(arguments, dict):
            return _error(400, "The body must be an object with the arguments of the tool")
        answer = await _ask(request, "tools/call", {**request.parameters, "arguments": arguments})
        if "error" in answer:
            return _refusal(answer["error"])
        result = answer["result"]
        if result.get("isError"):
            blocks = (block.get("text", "") for block in result["content"])
            return _error(422, "\n".join(filter(None, blocks)))
        body = result.get("structuredContent")
        return RouteResponse({"content": result["content"]} if body is None else body)


async def _ask(request: RouteRequest, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await request.handle(msgspec.json.encode(message))
    assert answer is not None  # a request has a response
    return msgspec.json.decode(answer, type=dict[str, Any])


def _error(status: int, text: str, headers: Mapping[str, str] | None = None) -> RouteResponse:
    return RouteResponse({"error": text}, status, headers or {})


def _refusal(error: Mapping[str, Any]) -> RouteResponse:
    headers = {}
    if error["code"] == _TOO_MANY:
        after = (error.get("data") or {}).get("retryAfter", 1)
        headers["retry-after"] = str(max(1, math.ceil(after)))
    return _error(_STATUS.get(error["code"], 500), error["message"], headers)
