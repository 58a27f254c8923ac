"""The official SDK's MCPServer over HTTP, as its documentation shows it."""

from __future__ import annotations

import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer

from qa.soak.servers.watched import Watched, raise_limit_of_files

server = MCPServer("soak", log_level="ERROR")


@server.tool()
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    """Serve until a signal comes."""
    raise_limit_of_files()
    config = uvicorn.Config(Watched(server.streamable_http_app()), log_level="error")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])


if __name__ == "__main__":
    main()
