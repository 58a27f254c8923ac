"""MiniMCP over HTTP, as its documentation shows it: its plain transport or the streamable one."""

from __future__ import annotations

from minimcp import (  # type: ignore[import-not-found] # needs an environment of its own
    HTTPTransport,
    StreamableHTTPTransport,
)

from qa.bench.contestants.http_options import http_options
from qa.bench.contestants.with_minimcp import server

transport = StreamableHTTPTransport if http_options()["streamable"] else HTTPTransport
app = transport(server).as_starlette("/mcp")
