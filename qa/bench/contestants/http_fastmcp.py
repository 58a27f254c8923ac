"""FastMCP over HTTP, as its documentation shows it."""

from __future__ import annotations

from qa.bench.contestants.http_options import http_options
from qa.bench.contestants.with_fastmcp import server

app = server.http_app(**http_options())
