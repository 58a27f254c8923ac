"""A proxy in front of `server.py`, for the official conformance suite.

UPSTREAM=http://127.0.0.1:8000/mcp UPSTREAM_MODE=legacy dovetail run qa/conformance/proxy.py
"""

from __future__ import annotations

import os

from dovetail import Options, Proxy

server = Proxy(
    os.environ["UPSTREAM"],
    name="conformance-proxy",
    version="1.0.0",
    mode=os.environ.get("UPSTREAM_MODE", "auto"),
    options=Options(state="memory://"),
)
