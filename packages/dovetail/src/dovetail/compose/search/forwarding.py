"""Turns a call of `call_tool` into a call of the tool that it names.

This happens before anything else looks at the call. Guards, rate limits, the audit log,
validation and tasks all see the named tool, as if the client had called it directly.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dovetail.core.call import Call
from dovetail.core.dispatch import Chains, Dispatcher, MethodHandler, Outcome
from dovetail.spec.models import CallToolParams
from dovetail.wire import codec

__all__ = ["CALL_TOOL", "ForwardingDispatcher", "forward"]

CALL_TOOL = "call_tool"


class _Named(Struct, forbid_unknown_fields=True):
    """The arguments of `call_tool`."""

    name: str
    arguments: Raw | UnsetType = UNSET


def forward(call: Call) -> None:
    """Make a call of `call_tool` one of the tool it names; wrong arguments stay as they are."""
    params = call.params
    if not isinstance(params, CallToolParams) or params.name != CALL_TOOL:
        return
    try:
        named = codec.decode_as(_Named, b"{}" if params.arguments is UNSET else params.arguments)
    except msgspec.ValidationError:
        return
    if named.name == CALL_TOOL:
        return
    if call.received is params:
        call.sent = params
    arguments = _as_object(named.arguments)
    call.params = msgspec.structs.replace(params, name=named.name, arguments=arguments)


class ForwardingDispatcher(Dispatcher):
    """A dispatcher that forwards calls of `call_tool`."""

    def __init__(self, inner: Dispatcher) -> None:
        self._inner = inner

    def guarded(
        self, chains: Chains, transport: str, max_result_bytes: int | None = None
    ) -> ForwardingDispatcher:
        """The same with the middleware of a guard, which then sees the named tool."""
        return ForwardingDispatcher(self._inner.guarded(chains, transport, max_result_bytes))

    def needs_task(self, call: Call) -> bool:
        """Whether `answer` must be called in a separate task."""
        return self._inner.needs_task(call)

    def answer(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """The encoded response, or a coroutine that returns it."""
        forward(call)
        return self._inner.answer(call)

    def delegate(
        self, call: Call, handler: MethodHandler
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """The outcome of a handler, for a call that another server answers."""
        return self._inner.delegate(call, handler)


def _as_object(arguments: Raw | UnsetType) -> Raw | UnsetType:
    """Return the arguments; models often send an object without a schema as a JSON string."""
    if isinstance(arguments, Raw) and bytes(arguments)[:1] == b'"':
        return Raw(codec.decode_as(str, arguments).encode())
    return arguments
