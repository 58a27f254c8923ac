"""server/tools: calls. Nothing here reaches a tool that the policy does not allow."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail_check.calls import NO_SUCH_TOOL, fitting_calls, may_go, refusals
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("tool-calls", needs="tools")
async def call_tools(client: ProbeClient) -> None:
    """Call each tool that may be called, with arguments that fit."""
    await asyncio.gather(*(client.request("tools/call", call) for call in fitting_calls(client)))


@probe("tool-refusals", needs="tools")
async def call_what_is_refused(client: ProbeClient) -> None:
    """Calls that must fail.

    unknown: a name that does not exist. malformed/...: params that are no call at all.
    missing, wrong-type, extra: arguments that the tool's schema refuses. case: the name of a
    tool that may be called, in the other case.
    """
    doomed: list[tuple[str, dict[str, Any]]] = [
        ("unknown", {"name": NO_SUCH_TOOL, "arguments": {}}),
        ("malformed/no-name", {"arguments": {}}),
        ("malformed/name-is-a-number", {"name": 5, "arguments": {}}),
        ("malformed/arguments-are-a-list", {"name": NO_SUCH_TOOL, "arguments": ["x"]}),
        *((refusal.fault, refusal.params) for refusal in refusals(client)),
    ]
    await asyncio.gather(
        *(
            client.request("tools/call", params, variant=fault)
            for fault, params in doomed
            if may_go(client, params)
        ),
        _call_in_the_other_case(client),
    )


async def _call_in_the_other_case(client: ProbeClient) -> None:
    names = [tool.get("name") for tool in client.catalogue.tools]
    for call in fitting_calls(client):
        other = call["name"].swapcase()
        if other not in names:
            await client.request("tools/call", {**call, "name": other}, variant="case")
            return
