"""The official SDK's low-level Server over HTTP: schemas by hand, arguments unchecked."""

from __future__ import annotations

from qa.bench.contestants.http_options import http_options
from qa.bench.contestants.with_mcp_lowlevel import server

app = server.streamable_http_app(**http_options())
