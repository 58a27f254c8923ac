"""Limits on what a check keeps of the output of a server, so that no server fills the memory."""

from __future__ import annotations

__all__ = ["Budget", "FloodError"]

# Of one connection. An honest server sends a few hundred messages; the limits of a whole check
# are a few times those of a connection.
MAX_MESSAGES = 20_000
MAX_BYTES = 64 * 1024 * 1024
_CONNECTIONS = 4
# What a line, or a value inside a JSON document, costs in addition to its bytes, roughly.
_VALUE = 32
_VALUE_MARKS = (b",", b"[", b"{")


class FloodError(Exception):
    """The server sent more than a check keeps; `str` says how much."""


class Budget:
    """What may still be kept of one connection; without `whole`, of a check."""

    def __init__(self, whole: Budget | None = None) -> None:
        times = 1 if whole else _CONNECTIONS
        self._whole = whole
        self._max_messages, self._max_bytes = times * MAX_MESSAGES, times * MAX_BYTES
        self._messages = self._bytes = self._weight = 0

    def take_bytes(self, data: bytes) -> None:
        """Count received bytes; raises FloodError."""
        self._take(len(data), len(data) + _VALUE * data.count(b"\n"), 0)

    def take_message(self, data: bytes) -> None:
        """Count one message whose bytes are counted already; raises FloodError."""
        self._take(0, _VALUE * sum(map(data.count, _VALUE_MARKS)), 1)

    def _take(self, size: int, weight: int, messages: int) -> None:
        self._messages += messages
        self._bytes += size
        self._weight += weight
        if self._messages > self._max_messages or self._weight > self._max_bytes:
            where = "on one connection" if self._whole else "in the whole check"
            raise FloodError(
                f"the server sent {self._messages:,} messages with {self._bytes:,} bytes {where}, "
                "more than the checker keeps"
            )
        if self._whole is not None:
            self._whole._take(size, weight, messages)
