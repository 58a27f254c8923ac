"""basic/index: errors for requests that cannot be handled."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.calls import may_send
from dovetail_check.probe_client import NO_SUCH_METHOD, ProbeClient
from dovetail_check.probing import Order, probe

__all__: list[str] = []

# capability, method: all of them require a name or a URI in their params.
_REQUIRE_PARAMS = (
    ("prompts", "prompts/get"),
    ("resources", "resources/read"),
    ("tools", "tools/call"),
)

_MALFORMED: dict[str, dict[str, Any]] = {
    "wrong-version": {"jsonrpc": "1.0"},
    "method-is-a-number": {"method": 5},
}


@probe("errors")
async def send_failing_requests(client: ProbeClient) -> None:
    """unknown-method: an unknown method. no-params: without the required member of params."""
    await client.request(NO_SUCH_METHOD, {}, variant="unknown-method")
    for capability, method in _REQUIRE_PARAMS:
        if client.has(capability) and (method != "tools/call" or may_send(client, {})):
            await client.request(method, {}, variant="no-params")


@probe("garbage", order=Order.ROUGH)
async def send_malformed_messages(client: ProbeClient) -> None:
    """truncated: invalid JSON. wrong-version, method-is-a-number: JSON with an id that is not a
    valid request.

    A fence request after each shows whether the server still responds.
    """
    await client.send_lenient(b'{"jsonrpc":"2.0","id":', variant="truncated")
    # One after the other: a response without an id belongs to the last message.
    for variant, changes in _MALFORMED.items():
        if not client.connection.is_open:
            await client.reconnect()
        await _send_malformed(client, variant, changes)


async def _send_malformed(client: ProbeClient, variant: str, changes: dict[str, Any]) -> None:
    id = client.new_id()
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": _harmless(client)}
    message |= client.params_of({}) | changes
    headers = client.headers_for(_harmless(client))
    await client.send_lenient(codec.encode(message), ids=(id,), variant=variant, headers=headers)


def _harmless(client: ProbeClient) -> str:
    return "server/discover" if client.is_modern else "ping"
