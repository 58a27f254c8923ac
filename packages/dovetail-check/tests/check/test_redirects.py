"""A redirect is not followed; the error names its target."""

from __future__ import annotations

import asyncio

import pytest

from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.connections.base import UnreachableError
from dovetail_check.targets import find_target

MOVED = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: /mcp/\r\nContent-Length: 0\r\n\r\n"


async def _redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.read(65536):
        writer.write(MOVED)
    writer.close()


def test_a_redirect_is_named_and_not_followed() -> None:
    async def main() -> None:
        server = await asyncio.start_server(_redirect, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        audit = Audit(find_target(f"http://127.0.0.1:{port}/mcp", []), AuditOptions())
        try:
            with pytest.raises(UnreachableError, match="it redirects to /mcp/"):
                await audit.run()
        finally:
            server.close()

    asyncio.run(main())
