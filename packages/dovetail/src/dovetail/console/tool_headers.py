"""`POST api/headers`: which arguments of tools a client repeats in headers."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dovetail.console.requests import ApiRequest
from dovetail.errors import UsageError
from dovetail.features.header_params import find_headers
from dovetail.transports.asgi.messages import HttpResponse
from dovetail.wire import codec

__all__ = ["serve_headers"]


class _Tool(Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any] = {}


class _Asked(Struct):
    tools: list[_Tool]


async def serve_headers(given: ApiRequest) -> HttpResponse:
    """Return the headers by tool, and the tools that a client must leave out."""
    asked = given.read(_Asked, "tools")
    headers = {}
    excluded = []
    for tool in asked.tools:
        try:
            headers[tool.name] = find_headers(tool.input_schema, tool.name)
        except (UsageError, AttributeError, RecursionError) as error:
            excluded.append({"name": tool.name, "message": str(error)})
    return HttpResponse(200, codec.encode({"headers": headers, "excluded": excluded}))
