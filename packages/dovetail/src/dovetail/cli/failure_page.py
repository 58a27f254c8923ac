"""Answers all requests with the error of a server that could not start, for `--reload`.

A client that waited instead would see a timeout without a reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import re
import socket
from collections.abc import AsyncIterator

from dovetail.net.addresses import is_loopback
from dovetail.wire import codec

__all__ = ["serve_failure"]

# Seconds and bytes for a request: the response must not be lost because its sender still writes.
_SECONDS = 5.0
_MAX_BODY = 4_194_304
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,9})[ \t]*\r\n", re.IGNORECASE)
_HOST = re.compile(rb"\r\nhost:[ \t]*(\[[^]\r\n]*\]|[^:\r\n]*)", re.IGNORECASE)
_ACCEPTS_HTML = re.compile(rb"\r\naccept:[^\r\n]*text/html", re.IGNORECASE)
_SUMMARY = "The server could not start"
_PAGE = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="1">
<title>{summary}</title><h1>{summary}</h1><pre>{reason}</pre>
<p>This page reloads until a file changes and the server starts.</p>
"""
# JSON-RPC 2.0: internal error
_INTERNAL = -32603


@contextlib.asynccontextmanager
async def serve_failure(listener: socket.socket, reason: str) -> AsyncIterator[None]:
    """Answer requests at a listener with 503 and the reason, while the context is open.

    Only requests for a loopback address get the reason; others are told to read the log.
    """

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(TimeoutError, OSError, asyncio.IncompleteReadError):
            try:
                async with asyncio.timeout(_SECONDS):
                    head = await _read_request(reader)
                    writer.write(_make_response(head, reason, writer.get_extra_info("sockname")))
                    await writer.drain()
            except asyncio.LimitOverrunError:
                pass  # a head that no client of this server sends
            finally:
                writer.close()

    # asyncio closes the socket that it is given.
    server = await asyncio.start_server(respond, sock=listener.dup())
    async with server:
        yield


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    if length is not None:
        await reader.readexactly(min(int(length[1]), _MAX_BODY))
    return head


def _make_response(head: bytes, reason: str, address: tuple[str, int]) -> bytes:
    host = _HOST.search(head)
    # A page of another site may have a name that points to this machine.
    is_own = host is not None and is_loopback(host[1].decode("latin-1").strip())
    shown = reason if is_own and is_loopback(address[0]) else "its log has the reason"
    if head.startswith(b"GET ") and _ACCEPTS_HTML.search(head):
        kind = "text/html; charset=utf-8"
        body = _PAGE.format(summary=_SUMMARY, reason=html.escape(shown)).encode()
    else:
        kind = "application/json"
        error = {"code": _INTERNAL, "message": f"{_SUMMARY}: {shown}"}
        body = codec.encode({"jsonrpc": "2.0", "id": None, "error": error})
    lines = (
        "HTTP/1.1 503 Service Unavailable",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "cache-control: no-store",
        "retry-after: 1",
        "connection: close",
        "\r\n",
    )
    return "\r\n".join(lines).encode() + body
