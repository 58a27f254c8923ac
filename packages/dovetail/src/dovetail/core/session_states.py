"""`SessionStateStore`: values that handlers keep for a caller between requests."""

from __future__ import annotations

from typing import Protocol

__all__ = ["SessionStateStore"]


class SessionStateStore(Protocol):
    """Values by owner and key; an owner is a principal or a session."""

    async def get(self, owner: str, key: str) -> bytes | None:
        """The value, None if there is none."""

    async def set(
        self, owner: str, key: str, value: bytes, *, lifetime: float | None, max_bytes: int
    ) -> None:
        """Store a value; raises LimitError if the owner would have more than `max_bytes`.

        The values of an owner expire `lifetime` seconds after the last use of any of them; with
        None they are stored until `forget`.
        """

    async def delete(self, owner: str, key: str) -> None:
        """Remove a value, if it exists."""

    def forget(self, owner: str) -> None:
        """Remove all values of an owner whose session has ended; returns at once."""
