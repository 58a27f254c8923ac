"""basic/index: errors; what JSON-RPC says of requests that cannot be served."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.calls import may_go
from dovetail_check.probing import Order, probe
from dovetail_check.talk import Talk

__all__: list[str] = []

NO_SUCH_METHOD = "dovetail-check/unknown"

# capability, method: all of them want a name or a URI in their params.
_WANT_PARAMS = (
    ("prompts", "prompts/get"),
    ("resources", "resources/read"),
    ("tools", "tools/call"),
)

_SPOILED: dict[str, dict[str, Any]] = {
    "wrong-version": {"jsonrpc": "1.0"},
    "method-is-a-number": {"method": 5},
}


@probe("errors")
async def ask_for_what_cannot_be(talk: Talk) -> None:
    """unknown-method: nobody has it. no-params: without the one that the method needs."""
    await talk.request(NO_SUCH_METHOD, {}, variant="unknown-method")
    for capability, method in _WANT_PARAMS:
        if talk.has(capability) and (method != "tools/call" or may_go(talk, {})):
            await talk.request(method, {}, variant="no-params")


@probe("garbage", order=Order.ROUGH)
async def send_what_is_no_request(talk: Talk) -> None:
    """truncated: no JSON. wrong-version, method-is-a-number: JSON, but no request; each has an id.

    A fence follows each of them: whether the server lived on.
    """
    await talk.venture(b'{"jsonrpc":"2.0","id":', variant="truncated")
    # One after the other: an answer without the id belongs to what was sent last.
    for variant, spoiled in _SPOILED.items():
        if not talk.line.is_open:
            await talk.revive()
        await _spoil(talk, variant, spoiled)


async def _spoil(talk: Talk, variant: str, spoiled: dict[str, Any]) -> None:
    id = talk.new_id()
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": _harmless(talk)}
    message |= talk.params_of({}) | spoiled
    headers = talk.headers_for(_harmless(talk))
    await talk.venture(codec.encode(message), ids=(id,), variant=variant, headers=headers)


def _harmless(talk: Talk) -> str:
    return "server/discover" if talk.is_modern else "ping"
