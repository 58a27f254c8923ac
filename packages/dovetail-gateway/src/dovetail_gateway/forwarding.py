"""`Forwarding`: a call while its request is at the upstream.

Notifications and questions of the upstream have to find the call that they belong to. Over HTTP
they arrive in the response to its request, which is read in the context of the call. Elsewhere the
connection knows which calls are in flight, and one connection serves one caller at a time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

from dovetail.core.call import Call
from dovetail.runtime.deadlines import TaskDeadline
from dovetail.spec.keys import LOG_LEVELS
from dovetail.spec.models import LogParams, ProgressParams
from dovetail.wire import codec

__all__ = ["Asker", "Forwarding", "current_forwarding"]

T = TypeVar("T")


class Asker(Protocol):
    """Asks the caller of a forwarded call."""

    async def ask(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the caller's answer; raises RpcError."""


class Forwarding:
    """One call at the upstream."""

    __slots__ = ("asker", "call", "caller", "limit", "seconds")

    def __init__(self, call: Call, caller: object, asker: Asker, seconds: float | None) -> None:
        # The call that waits now; a retried request takes over the forwarding of the first one.
        self.call: Call = call
        self.caller: object = caller
        self.asker: Asker = asker
        self.seconds: float | None = seconds
        # The time limit of the upstream, while it runs.
        self.limit: TaskDeadline | None = None

    def progressed(self, params: ProgressParams) -> None:
        """Pass progress on, with the caller's token."""
        call = self.call
        token = call.progress_token
        if token is None:
            return
        message = params.message if call.era.revision.progress_message else None
        passed = ProgressParams(
            progress_token=token, progress=params.progress, total=params.total, message=message
        )
        call.notify("notifications/progress", codec.encode(passed))

    def logged(self, params: LogParams) -> None:
        """Pass a log message on, if the caller wants its level."""
        wanted = self.call.peer.log_rank
        rank = LOG_LEVELS.get(params.level)
        if wanted is not None and rank is not None and rank >= wanted:
            self.call.notify("notifications/message", codec.encode(params))

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the caller; the time does not count against the limit of the call."""
        return await self.waiting(self.asker.ask(self.call, method, params))

    async def waiting(self, answer: Awaitable[T]) -> T:
        """Await an answer of the caller without a time limit of the upstream."""
        self._move_limit(None)
        try:
            return await answer
        finally:
            self._move_limit(self.seconds)

    def _move_limit(self, seconds: float | None) -> None:
        if self.limit is not None:
            self.limit.move(seconds)


# The forwarding whose response is read in this context.
current_forwarding: ContextVar[Forwarding | None] = ContextVar("current_forwarding", default=None)
