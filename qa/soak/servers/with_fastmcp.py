"""FastMCP over HTTP, as its documentation shows it."""

from __future__ import annotations

import socket
import sys

import uvicorn
from fastmcp import FastMCP

from qa.soak.servers.watched import Watched, raise_limit_of_files

server = FastMCP("soak")


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    """Serve until a signal comes."""
    raise_limit_of_files()
    config = uvicorn.Config(Watched(server.http_app(path="/mcp")), log_level="error")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
