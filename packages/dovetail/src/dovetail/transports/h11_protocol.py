"""uvicorn's h11 protocol with a time limit for request heads.

uvicorn stops its keep-alive timer when the first byte of a request arrives, so a client could
keep a connection open with a part of a head.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["TimedH11Protocol"]


class TimedH11Protocol(H11Protocol):
    """Closes connections whose request head stays incomplete for the keep-alive timeout."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first head."""
        super().connection_made(transport)
        self._start_head_timer()

    def data_received(self, data: bytes) -> None:
        """Parse the data; the timer runs while a head is incomplete."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_head_timer()
        elif self._head_timer is None and not self.transport.is_closing():
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        super().connection_lost(exc)
        self._stop_head_timer()
        # uvicorn does not cancel the timer of a reset connection, which keeps it in memory.
        self._unset_keepalive_if_required()

    def _start_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(self.timeout_keep_alive, self.transport.close)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a server may ignore the header, and clients send it with every request."""
