"""Calls of one tool become calls of the tool that they name, before anything looks at them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, Raw

from dovetail.compose.search.forwarding import ForwardingDispatcher, forward
from dovetail.core.call import Call
from dovetail.core.dispatch import Dispatcher, MethodHandler
from dovetail.core.middleware import GuardChains
from dovetail.spec.models import CallToolParams, ListParams


class Recorder(Dispatcher):
    """A dispatcher that records the params of the calls that reach it."""

    def __init__(self) -> None:
        super().__init__({}, dict)
        self.seen: list[Any] = []

    def answer(self, call: Call) -> bytes:
        self.seen.append(call.params)
        return b"{}"


def forwarded(arguments: bytes | None, name: str = "call_tool") -> tuple[Call, CallToolParams]:
    raw = UNSET if arguments is None else Raw(arguments)
    params = CallToolParams(name=name, arguments=raw)
    call = Call(b"1", "tools/call", params, None, None)  # type: ignore[arg-type]
    inner = Recorder()
    assert ForwardingDispatcher(inner).answer(call) == b"{}"
    return call, inner.seen[0]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (b'{"name":"known"}', None),
        (b'{"name":"known","arguments":{"a":1}}', b'{"a":1}'),
        (b'{"name":"known","arguments":"{\\"a\\":1}"}', b'{"a":1}'),
        (b'{"name":"known","arguments":[1]}', b"[1]"),
    ],
)
def test_a_call_is_forwarded(arguments: bytes, expected: bytes | None) -> None:
    call, seen = forwarded(arguments)
    assert seen.name == "known"
    assert (None if seen.arguments is UNSET else bytes(seen.arguments)) == expected
    assert isinstance(call.sent, CallToolParams) and call.sent.name == "call_tool"
    forward(call)
    assert call.params is seen


@pytest.mark.parametrize(
    "arguments", [None, b"[]", b"{}", b'{"name":"call_tool"}', b'{"name":"known","x":1}']
)
def test_other_calls_stay_as_they_are(arguments: bytes | None) -> None:
    call, seen = forwarded(arguments)
    assert seen.name == "call_tool" and call.sent is None
    call, seen = forwarded(b'{"name":"known"}', name="other")
    assert seen.name == "other" and call.sent is None


def test_params_that_another_server_replaced_are_not_what_was_sent() -> None:
    wire = CallToolParams(name="shop_call_tool")
    call = Call(b"1", "tools/call", wire, None, None)  # type: ignore[arg-type]
    call.replace_params(CallToolParams(name="call_tool", arguments=Raw(b'{"name":"known"}')))
    forward(call)
    assert call.params.name == "known" and call.sent is None  # type: ignore[attr-defined]
    assert call.received is wire


def test_other_methods_pass() -> None:
    inner = Recorder()
    dispatcher = ForwardingDispatcher(inner)
    call = Call(b"1", "tools/list", ListParams(), None, None)  # type: ignore[arg-type]
    assert dispatcher.answer(call) == b"{}"
    assert dispatcher.needs_task(call) is inner.needs_task(call) is False
    assert dispatcher.delegate(call, MethodHandler(lambda _: {"a": 1})) == {"a": 1}


def test_hooks_run_inside() -> None:
    chains = GuardChains([], [])
    hooked = ForwardingDispatcher(Dispatcher({}, dict)).guarded(chains, "stdio")
    assert isinstance(hooked, ForwardingDispatcher)
    assert hooked.needs_task(Call(b"1", "ping", ListParams(), None, None))  # type: ignore[arg-type]
