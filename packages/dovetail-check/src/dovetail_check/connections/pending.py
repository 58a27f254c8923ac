"""Matches responses to requests on connections that carry all responses on one stream.

A response is matched by its id, also if it comes after the timeout. If the server changed the type
of the id, or could not read the request, the closest pending request is taken, and rules report the
defect.
"""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange

__all__ = ["Pending", "PendingList"]


class Pending:
    """A request with responses outstanding."""

    def __init__(self, exchange: Exchange, ids: tuple[Any, ...] | None, *, keep_open: bool) -> None:
        self.exchange = exchange
        # None: the response will have no id.
        self.ids = None if ids is None else list(ids)
        self._keep_open = keep_open
        self.done = asyncio.Event()

    def matches(self, id: Any, *, exact: bool) -> bool:
        """Whether a response with this id belongs to it."""
        if self.ids is None:
            return id is None and not exact
        if exact:
            return any(id == own and type(id) is type(own) for own in self.ids)
        return id is not None and any(str(id) == str(own) for own in self.ids)

    def on_response(self, id: Any) -> None:
        """Mark a response as received."""
        if self.ids:
            self.ids = [own for own in self.ids if str(own) != str(id)]
        if not self.ids:
            self.done.set()

    def on_notification(self) -> None:
        """Handle a notification that belongs to it."""
        if self._keep_open:
            self.done.set()


class PendingList:
    """The pending requests of one connection."""

    def __init__(self) -> None:
        self._all: list[Pending] = []
        # Requests whose timeout has passed.
        self._late: list[Pending] = []

    def add(self, exchange: Exchange, ids: tuple[Any, ...] | None, *, keep_open: bool) -> Pending:
        """Add an exchange and the ids of its responses."""
        pending = Pending(exchange, ids, keep_open=keep_open)
        if ids != ():
            self._all.append(pending)
        return pending

    def drop(self, pending: Pending) -> None:
        """Stop waiting for a request; a late response with its id still belongs to it."""
        if pending in self._all:
            self._all.remove(pending)
            if pending.ids:
                self._late.append(pending)

    def drain(self) -> list[Pending]:
        """Remove and return all requests."""
        left, self._all = self._all, []
        return left

    def find(self, value: Any) -> Pending | None:
        """Find the request by id, else by the text of the id, else the oldest without one."""
        first = value[0] if isinstance(value, list) and value else value
        if not isinstance(first, dict):
            return None
        if "method" in first:
            return self._find_subscription(first)
        id = first.get("id")
        places = ((self._all, True), (self._late, True), (self._all, False), (self._late, False))
        for known, exact in places:
            for pending in known:
                if pending.matches(id, exact=exact):
                    return pending
        return None

    def take(self, pending: Pending, value: Any) -> None:
        """Handle a message that belongs to a request."""
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict) and "method" in part:
                pending.on_notification()
            else:
                pending.on_response(part.get("id") if isinstance(part, dict) else None)
        if not pending.ids:
            self.drop(pending)
            if pending in self._late:
                self._late.remove(pending)

    def _find_subscription(self, message: dict[str, Any]) -> Pending | None:
        """Find the subscription that a notification names."""
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        id = meta.get(keys.SUBSCRIPTION_ID) if isinstance(meta, dict) else None
        if id is None or "id" in message:
            return None
        return next((one for one in self._all if one.matches(id, exact=False)), None)
