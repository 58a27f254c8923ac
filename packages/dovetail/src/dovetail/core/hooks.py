"""What stands around a call: the one seam with which guards are built.

A hook is told before a call is answered and may refuse it, and is told once when it is over. It
gets a `HookedCall`, which can be read at any time; what costs something is worked out when asked.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw

from dovetail.core.call import Call
from dovetail.core.call_facts import CallFacts
from dovetail.wire import codec

__all__ = ["Hook", "HookedCall", "Outcomes"]

# ok: a result. tool_error: a result that says that the tool has failed. error: a JSON-RPC error.
# refused: a hook let it go no further. cancelled: nobody waits for the answer any more.
Outcomes: TypeAlias = Literal["ok", "tool_error", "error", "refused", "cancelled"]


class HookedCall(CallFacts):
    """One call as hooks see it."""

    __slots__ = (
        "_duration", "_notes", "_started", "error", "outcome", "size", "transport",
    )  # fmt: skip

    def __init__(self, call: Call, transport: str) -> None:
        super().__init__(call)
        self._started = perf_counter()
        self._duration: float | None = None
        self._notes: dict[Any, Any] | None = None
        self.transport = transport
        # How it ended, and the bytes of the answer: known when it is over.
        self.outcome: Outcomes | None = None
        self.size = 0
        # What ended it, where that was an exception.
        self.error: Exception | None = None

    @property
    def method(self) -> str:
        """The method of the request: `tools/call`, say."""
        return self._call.method

    @property
    def name(self) -> str | None:
        """The tool, prompt or URI that the request names."""
        spec = self._call.era.methods.get(self._call.method)
        if spec is None or spec.member is None:
            return None
        name: str | None = getattr(self._call.params, spec.member, None)
        return name

    @property
    def raw_arguments(self) -> bytes:
        """The arguments as JSON; nothing where the method takes none."""
        given = getattr(self._call.params, "arguments", UNSET)
        if given is UNSET or given is None:
            return b""
        return bytes(given) if isinstance(given, Raw) else codec.encode(given)

    @property
    def notes(self) -> dict[Any, Any]:
        """What hooks keep until the call is over, each under a key of its own."""
        if self._notes is None:
            self._notes = {}
        return self._notes

    @property
    def code(self) -> int | None:
        """The code of the JSON-RPC error that it ended with."""
        return self._call.failure

    @property
    def duration(self) -> float:
        """Seconds that it took, or has taken so far."""
        return perf_counter() - self._started if self._duration is None else self._duration

    def end(self, answer: bytes | None) -> None:
        """It is over, with an answer or without."""
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
    """Stands around calls. Write the methods you need; each call gets one `before` and one end."""

    def before(self, call: HookedCall) -> Awaitable[None] | None:
        """Look at a call before anything is done for it; may be `async`.

        Raise an `RpcError`, or a `ToolError` for a tool, to let it go no further. Hooks are asked
        in their order; those that have let it pass hear of its end in the opposite one.
        """

    def after(self, call: HookedCall) -> None:
        """It is over: `outcome`, `size` and `duration` say how."""

    def failed(self, call: HookedCall, error: Exception) -> None:
        """It is over because of an exception; unless you write this, `after` is told."""
        self.after(call)
