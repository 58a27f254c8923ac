"""basic/index#batching: arrays of messages, in revisions with and without batching."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe

__all__: list[str] = []

_NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/dovetail-check-unknown"}


@probe("batch")
async def send_batches(client: ProbeClient) -> None:
    """mixed: two requests and a notification in one array. notifications: nothing to answer."""
    if not client.revision.batching:
        return
    ids = (client.new_id(), client.new_id())
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": ids[0], "method": "ping"},
        _NOTIFICATION,
        {"jsonrpc": "2.0", "id": ids[1], "method": "ping"},
    ]
    await client.send_lenient(codec.encode(messages), ids=ids, variant="mixed")
    await client.send_lenient(codec.encode([_NOTIFICATION, _NOTIFICATION]), variant="notifications")


@probe("batch-removed", order=Order.ROUGH)
async def send_a_batch_without_batching(client: ProbeClient) -> None:
    """An array with one request. The specification does not say how a server treats it."""
    if client.revision.batching:
        return
    id = client.new_id()
    method = "server/discover" if client.is_modern else "ping"
    message = {"jsonrpc": "2.0", "id": id, "method": method, **client.params_of({})}
    headers = client.headers_for(method)
    await client.send_lenient(codec.encode([message]), ids=(id,), headers=headers)
