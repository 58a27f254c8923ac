"""The REST interface of a server: `POST /tools/NAME` and `GET /openapi.json`.

Two routes beside the MCP endpoint. A call takes the same path as one of an MCP client, with the
same guard. There is no session and no stream: a tool that asks the user fails, and progress is not
sent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Unpack

import msgspec

from dovetail import HttpAppOptions, RouteRequest, RouteResponse, Server
from dovetail.auth import Guard
from dovetail_openapi.schemas import Schema, map_schemas

__all__ = ["add_rest", "describe_tools", "rest_app"]

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


# -- the document: one POST operation for each tool ------------------------------------------------

_TOOLS = "/tools/"
_SCHEMAS = "#/components/schemas/"
_ERROR, _CONTENT = "Error", "Content"
# Next to the schemas of tools, whose names have a dot and an ending.
_OWN_SCHEMAS: dict[str, Schema] = {
    _ERROR: {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    },
    _CONTENT: {
        "description": "The content blocks of a result without structured data.",
        "type": "object",
        "properties": {
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
                    "required": ["type"],
                },
            }
        },
        "required": ["content"],
    },
}
_FAILURES = {
    "400": "The request is not valid.",
    "401": "The credentials are missing or not valid.",
    "403": "The caller may not use this tool.",
    "404": "There is no such tool.",
    "422": "The tool failed, or its arguments are not valid.",
    "429": "There are too many requests.",
}


def describe_tools(
    tools: Iterable[Mapping[str, Any]],
    info: Mapping[str, Any],
    *,
    servers: Collection[str] = (),
    credential_headers: Collection[bytes] = (),
) -> dict[str, Any]:
    """Return the document; `tools` and `info` are as the protocol has them."""
    schemas: dict[str, Schema] = dict(_OWN_SCHEMAS)
    paths = {f"{_TOOLS}{tool['name']}": {"post": _operation(tool, schemas)} for tool in tools}
    about = {"title": info.get("title") or info["name"], "version": info["version"]}
    if info.get("description"):
        about["description"] = info["description"]
    components: dict[str, Any] = {"schemas": schemas}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": about}
    if servers:
        document["servers"] = [{"url": url} for url in servers]
    document |= {"paths": paths, "components": components}
    schemes = {_scheme_name(header): _scheme(header) for header in sorted(credential_headers)}
    if schemes:
        components["securitySchemes"] = schemes
        document["security"] = [{name: []} for name in schemes]
    return document


def _operation(tool: Mapping[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    name = tool["name"]
    schemas[f"{name}.input"] = _embed(tool["inputSchema"], f"{name}.input")
    result = f"{_SCHEMAS}{_CONTENT}"
    output = tool.get("outputSchema")
    if output is not None:
        # The REST interface has the form of results that all revisions have.
        output = output if output.get("type") == "object" else _wrap(output)
        schemas[f"{name}.output"] = _embed(output, f"{name}.output")
        result = f"{_SCHEMAS}{name}.output"
    operation: dict[str, Any] = {"operationId": name, "tags": ["tools"]}
    title = tool.get("title") or (tool.get("annotations") or {}).get("title")
    if title:
        operation["summary"] = title
    if tool.get("description"):
        operation["description"] = tool["description"]
    operation["requestBody"] = {
        "required": bool(tool["inputSchema"].get("required")),
        "content": _json(f"{_SCHEMAS}{name}.input"),
    }
    operation["responses"] = {
        "200": {"description": "The result of the tool.", "content": _json(result)},
        **{
            status: {"description": text, "content": _json(f"{_SCHEMAS}{_ERROR}")}
            for status, text in _FAILURES.items()
        },
    }
    return operation


def _wrap(schema: Schema) -> Schema:
    """Return the schema of `{"result": ...}`; definitions stay at the root, where refs point."""
    outer: Schema = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in outer}
    return {**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}


def _json(reference: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": reference}}}


def _embed(schema: Schema, name: str) -> Schema:
    """Return the schema with references that start at the document, not at the schema."""
    if "$id" in schema:
        return schema

    def move(part: Schema) -> Schema:
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return part
        return {**part, "$ref": f"{_SCHEMAS}{name}{reference[1:]}"}

    embedded: Schema = map_schemas(schema, move)
    return embedded


def _scheme_name(header: bytes) -> str:
    return "bearer" if header == b"authorization" else header.decode()


def _scheme(header: bytes) -> dict[str, str]:
    if header == b"authorization":
        return {"type": "http", "scheme": "bearer"}
    return {"type": "apiKey", "in": "header", "name": header.decode()}
