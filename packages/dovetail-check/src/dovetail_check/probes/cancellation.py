"""basic/utilities/cancellation, basic/patterns/cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.wire import codec
from dovetail_check.probing import probe
from dovetail_check.talk import Talk

__all__: list[str] = []

NO_SUCH_ID = "dovetail-check-never-sent"


@probe("cancellations")
async def cancel_in_vain(talk: Talk) -> None:
    """finished: a request that was answered. unknown: an id never used. malformed: no id at all.

    A fence follows each of them: whether the server lived on.
    """
    finished = talk.new_id()
    method = "server/discover" if talk.is_modern else "ping"
    await talk.request(method, id=finished, variant="request")
    await asyncio.gather(
        _cancel(talk, "finished", {"requestId": finished, "reason": "too late"}),
        _cancel(talk, "unknown", {"requestId": NO_SUCH_ID}),
        _cancel(talk, "malformed", {"requestId": {"not": "an id"}}),
    )


async def _cancel(talk: Talk, variant: str, params: dict[str, Any]) -> None:
    method = "notifications/cancelled"
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    headers = talk.headers_for(method)
    await talk.venture(codec.encode(message), variant=variant, headers=headers)
