"""Hooks: middleware around calls. Guards, rate limits and audit logs are hooks.

A hook runs before each call and may reject it, and runs once more after the call. It gets a
`HookedCall`, which can be read at any time; expensive attributes are computed on access.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw

from dovetail.core.call import Call
from dovetail.core.call_facts import CallFacts
from dovetail.core.trace_context import SpanIds
from dovetail.wire import codec

__all__ = ["Hook", "HookedCall", "Outcomes"]

# ok: a result. tool_error: a tool result with isError. error: a JSON-RPC error.
# refused: rejected by a hook. cancelled: the client no longer waits for the response.
Outcomes: TypeAlias = Literal["ok", "tool_error", "error", "refused", "cancelled"]


class HookedCall(CallFacts):
    """One call, as hooks see it."""

    __slots__ = (
        "_duration", "_notes", "_started", "error", "outcome", "size", "span_ids", "transport",
    )  # fmt: skip

    def __init__(self, call: Call, transport: str) -> None:
        super().__init__(call)
        self._started = perf_counter()
        self._duration: float | None = None
        self._notes: dict[Any, Any] | None = None
        self.transport = transport
        # The outcome and the size of the response in bytes; set after the call.
        self.outcome: Outcomes | None = None
        self.size = 0
        # The exception that ended the call, if any.
        self.error: Exception | None = None
        # The span of the call, if a hook traces it.
        self.span_ids: SpanIds | None = None

    @property
    def method(self) -> str:
        """The method of the request, such as `tools/call`."""
        return self._call.method

    @property
    def has_known_method(self) -> bool:
        """Whether the revision has this method; otherwise the caller made up its name."""
        return self._call.method in self._call.era.methods

    @property
    def name(self) -> str | None:
        """The tool name, prompt name or URI in the request."""
        spec = self._call.era.methods.get(self._call.method)
        if spec is None or spec.member is None:
            return None
        name: str | None = getattr(self._call.params, spec.member, None)
        return name

    @property
    def has_known_target(self) -> bool:
        """Whether the named tool, prompt or resource exists; only known after the call.

        False as well if the call was rejected before the server looked for it.
        """
        return self._call.handler is not None or self.outcome in ("ok", "tool_error")

    @property
    def raw_arguments(self) -> bytes:
        """The arguments as JSON; empty if the method has no arguments."""
        given = getattr(self._call.params, "arguments", UNSET)
        if given is UNSET or given is None:
            return b""
        return bytes(given) if isinstance(given, Raw) else codec.encode(given)

    @property
    def notes(self) -> dict[Any, Any]:
        """Values that hooks store for the duration of the call, each under its own key."""
        if self._notes is None:
            self._notes = {}
        return self._notes

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error, if the call ended with one."""
        return self._call.failure

    @property
    def duration(self) -> float:
        """Seconds that the call took, or has taken so far."""
        return perf_counter() - self._started if self._duration is None else self._duration

    def end(self, answer: bytes | None) -> None:
        """Record the end of the call; `answer` is None if it has no response."""
        self._duration = perf_counter() - self._started
        if answer is None:
            self.outcome = "cancelled"
            return
        self.size = len(answer)
        if self._call.cancelled:
            self.outcome = "cancelled"
        if self.outcome is None:
            self.outcome = "ok" if self._call.failure is None else "error"


class Hook:
    """Middleware around calls; override the methods you need.

    Each call gets one `before`, then one `after` or `failed`.
    """

    def before(self, call: HookedCall) -> Awaitable[None] | None:
        """Runs before the handler; may be `async`.

        Raise an `RpcError`, or a `ToolError` for a tool, to reject the call. Hooks run in their
        order. After the call, the hooks that let it pass run in reverse order.
        """

    def after(self, call: HookedCall) -> None:
        """Runs after the call, when `outcome`, `size` and `duration` are set."""

    def failed(self, call: HookedCall, error: Exception) -> None:
        """Runs instead of `after` if the call raised an exception; calls `after` by default."""
        self.after(call)

    def session_ended(self, revision: str, transport: str, duration: float) -> None:
        """Runs when a session of a legacy revision has ended, after `duration` seconds."""
