"""FastMCP's proxy."""

from __future__ import annotations

import os

from fastmcp.server import create_proxy

if __name__ == "__main__":
    create_proxy(os.environ["UPSTREAM"]).run(
        transport="http", port=int(os.environ["PORT"]), show_banner=False
    )
