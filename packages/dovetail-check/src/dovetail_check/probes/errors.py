"""basic/index: errors; what JSON-RPC says of requests that cannot be served."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.calls import may_go
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe

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
async def ask_for_what_cannot_be(client: ProbeClient) -> None:
    """unknown-method: nobody has it. no-params: without the one that the method needs."""
    await client.request(NO_SUCH_METHOD, {}, variant="unknown-method")
    for capability, method in _WANT_PARAMS:
        if client.has(capability) and (method != "tools/call" or may_go(client, {})):
            await client.request(method, {}, variant="no-params")


@probe("garbage", order=Order.ROUGH)
async def send_what_is_no_request(client: ProbeClient) -> None:
    """truncated: no JSON. wrong-version, method-is-a-number: JSON, but no request; each has an id.

    A fence follows each of them: whether the server lived on.
    """
    await client.venture(b'{"jsonrpc":"2.0","id":', variant="truncated")
    # One after the other: an answer without the id belongs to what was sent last.
    for variant, spoiled in _SPOILED.items():
        if not client.line.is_open:
            await client.revive()
        await _spoil(client, variant, spoiled)


async def _spoil(client: ProbeClient, variant: str, spoiled: dict[str, Any]) -> None:
    id = client.new_id()
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": _harmless(client)}
    message |= client.params_of({}) | spoiled
    headers = client.headers_for(_harmless(client))
    await client.venture(codec.encode(message), ids=(id,), variant=variant, headers=headers)


def _harmless(client: ProbeClient) -> str:
    return "server/discover" if client.is_modern else "ping"
