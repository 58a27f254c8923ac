"""Closes connections without losing requests when the server shuts down.

A client that reuses a connection while the server closes it loses its request. So a connection is
closed after a response that says so (RFC 9112 section 9.6).
"""

from __future__ import annotations

from typing import Any

__all__ = ["CLOSE", "close_after_response"]

CLOSE = (b"connection", b"close")


def close_after_response(connection: Any) -> None:
    """Announce the end of a connection of uvicorn with its next response.

    Later requests get the header from the default headers of the server. A response whose head is
    sent already leaves the connection open for one more request.
    """
    connection.takes_fast_path = False
    # None before the first request; a WebSocket has none at all.
    cycle = getattr(connection, "cycle", None)
    if cycle is not None and not cycle.response_started:
        cycle.default_headers = [*cycle.default_headers, CLOSE]
        cycle.keep_alive = False
