"""server/tools: calls. Only tools that the policy allows are called."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.wire import codec
from dovetail_check.calls import NO_SUCH_TOOL, invalid_calls, may_send, valid_calls
from dovetail_check.probe_client import GRACE, ProbeClient
from dovetail_check.probing import probe

__all__ = ["SLOW"]

# Seconds that a call must take to be cancelled.
SLOW = 1.0


@probe("tool-calls", needs="tools")
async def call_tools(client: ProbeClient) -> None:
    """Call each allowed tool with valid arguments."""
    await asyncio.gather(*(client.request("tools/call", call) for call in valid_calls(client)))


# Over HTTP every request gets a response, also a cancelled one.
@probe("cancel-call", needs="tools", transports=("stdio",))
async def cancel_a_slow_call(client: ProbeClient) -> None:
    """call: the tool that took longest when it was called before, if that is long enough.
    cancelled: its cancellation. A fence follows, so that the server has read both.
    """
    seconds, params = max(client.context.calls, key=lambda call: call[0], default=(0.0, {}))
    if seconds < SLOW:
        return
    id = client.new_id()
    message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", **client.params_of(params)}
    data = codec.encode(message)
    call = client.send(data, ids=(id,), variant="call", timeout=2 * seconds + GRACE)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(call)
        await asyncio.sleep(0.1 * seconds)
        cancellation = {"requestId": id, "reason": "a test of cancellation"}
        await client.notify("notifications/cancelled", cancellation, variant="cancelled")
        await client.fence()


@probe("tool-refusals", needs="tools")
async def send_invalid_calls(client: ProbeClient) -> None:
    """Calls that must fail.

    unknown: an unknown name. malformed/...: malformed params. missing, wrong-type, extra, list:
    arguments of allowed tools that violate the inputSchema, or are a list. case: the name of an
    allowed tool in a different case.
    """
    invalid: list[tuple[str, dict[str, Any]]] = [
        ("unknown", {"name": NO_SUCH_TOOL, "arguments": {}}),
        ("malformed/no-name", {"arguments": {}}),
        ("malformed/name-is-a-number", {"name": 5, "arguments": {}}),
        ("malformed/arguments-are-a-list", {"name": NO_SUCH_TOOL, "arguments": ["x"]}),
        *((call.fault, call.params) for call in invalid_calls(client)),
    ]
    await asyncio.gather(
        *(
            client.request("tools/call", params, variant=fault)
            for fault, params in invalid
            if may_send(client, params)
        ),
        _call_in_different_case(client),
    )


async def _call_in_different_case(client: ProbeClient) -> None:
    names = [tool.get("name") for tool in client.catalogue.tools]
    for call in valid_calls(client):
        other = call["name"].swapcase()
        if other not in names:
            await client.request("tools/call", {**call, "name": other}, variant="case")
            return
