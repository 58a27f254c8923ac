"""basic/index#batching: arrays of messages, where they exist and where they do not."""

from __future__ import annotations

from typing import Any

from dovetail.wire import codec
from dovetail_check.probing import Order, probe
from dovetail_check.talk import Talk

__all__: list[str] = []

_NOTICE = {"jsonrpc": "2.0", "method": "notifications/dovetail-check-unknown"}


@probe("batch")
async def send_batches(talk: Talk) -> None:
    """mixed: two requests and a notification in one array. notifications: nothing to answer."""
    if not talk.revision.batching:
        return
    ids = (talk.new_id(), talk.new_id())
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": ids[0], "method": "ping"},
        _NOTICE,
        {"jsonrpc": "2.0", "id": ids[1], "method": "ping"},
    ]
    await talk.venture(codec.encode(messages), ids=ids, variant="mixed")
    await talk.venture(codec.encode([_NOTICE, _NOTICE]), variant="notifications")


@probe("batch-removed", order=Order.ROUGH)
async def send_a_batch_where_there_are_none(talk: Talk) -> None:
    """An array with one request; what should come of it is written nowhere."""
    if talk.revision.batching:
        return
    id = talk.new_id()
    method = "server/discover" if talk.is_modern else "ping"
    message = {"jsonrpc": "2.0", "id": id, "method": method, **talk.params_of({})}
    headers = talk.headers_for(method)
    await talk.venture(codec.encode([message]), ids=(id,), headers=headers)
