"""What was sent and is not answered yet, on a line where all answers come the same way.

An answer is known by its id. Where a server changed the id's type, or could not read what it
answers, the nearest guess is taken: the rules say what was wrong with it, a line loses nothing.
"""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange

__all__ = ["Pending", "PendingList"]


class Pending:
    """Something sent whose answers have not all come."""

    def __init__(self, exchange: Exchange, ids: tuple[Any, ...] | None, *, holds: bool) -> None:
        self.exchange = exchange
        # None: an answer will have no id that could be known.
        self.ids = None if ids is None else list(ids)
        self._holds = holds
        self.done = asyncio.Event()

    def wants(self, id: Any, *, exactly: bool) -> bool:
        """Whether an answer with this id is for it."""
        if self.ids is None:
            return id is None and not exactly
        if exactly:
            return any(id == mine and type(id) is type(mine) for mine in self.ids)
        return id is not None and any(str(id) == str(mine) for mine in self.ids)

    def settle(self, id: Any) -> None:
        """One answer came."""
        if self.ids:
            self.ids = [mine for mine in self.ids if str(mine) != str(id)]
        if not self.ids:
            self.done.set()

    def notice(self) -> None:
        """Something came that belongs to it and answers nothing."""
        if self._holds:
            self.done.set()


class PendingList:
    """Everything of one line that waits."""

    def __init__(self) -> None:
        self._all: list[Pending] = []

    def add(self, exchange: Exchange, ids: tuple[Any, ...] | None, *, holds: bool) -> Pending:
        """Wait for answers to an exchange."""
        pending = Pending(exchange, ids, holds=holds)
        if ids != ():
            self._all.append(pending)
        return pending

    def drop(self, pending: Pending) -> None:
        """Wait no longer."""
        if pending in self._all:
            self._all.remove(pending)

    def drain(self) -> list[Pending]:
        """Everything that still waits; nothing does afterwards."""
        left, self._all = self._all, []
        return left

    def find(self, value: Any) -> Pending | None:
        """Whose answer it is: by id, else by how the id looks, else the oldest unreadable one."""
        first = value[0] if isinstance(value, list) and value else value
        if not isinstance(first, dict):
            return None
        if "method" in first:
            return self._find_held(first)
        id = first.get("id")
        for exactly in (True, False):
            for pending in self._all:
                if pending.wants(id, exactly=exactly):
                    return pending
        return None

    def take(self, pending: Pending, value: Any) -> None:
        """Something came for it."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and "method" in part:
                pending.notice()
            else:
                pending.settle(part.get("id") if isinstance(part, dict) else None)
        if not pending.ids:
            self.drop(pending)

    def _find_held(self, message: dict[str, Any]) -> Pending | None:
        """The subscription that a notification names."""
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        id = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
        if id is None or "id" in message:
            return None
        return next((one for one in self._all if one.wants(id, exactly=False)), None)
