"""server/utilities/logging."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []

NO_SUCH_LEVEL = "dovetail-check-loud"


@probe("set-levels", needs="logging", era=Family.LEGACY)
async def set_levels(client: ProbeClient) -> None:
    """level/...: each level. invalid: an unknown level. calls/...: tool calls at two levels."""
    for level in ("debug", "emergency"):
        await client.request("logging/setLevel", {"level": level}, variant=f"level/{level}")
        await _call_all(client, f"calls/{level}")
    # End with a common level: it may stay in effect for other clients.
    for level in [*(level for level in keys.LOG_LEVELS if level != "info"), "info"]:
        await client.request("logging/setLevel", {"level": level}, variant=f"level/{level}")
    await client.request("logging/setLevel", {"level": NO_SUCH_LEVEL}, variant="invalid")


@probe("log-levels", era=Family.MODERN)
async def request_log_messages(client: ProbeClient) -> None:
    """calls/LEVEL: tool calls with a level in `_meta`, while a subscription stream is open.

    invalid: an unknown level on server/discover. removed: logging/setLevel.
    """
    invalid = {keys.LOG_LEVEL: NO_SUCH_LEVEL}
    await client.request("server/discover", {}, meta=invalid, variant="invalid")
    await client.request("logging/setLevel", {"level": "info"}, variant="removed")
    if not client.has("logging"):
        return
    listening = None
    if isinstance(client.connection, HttpConnection):
        wanted = {"notifications": {"toolsListChanged": True}}
        listening = await client.request(
            "subscriptions/listen", wanted, variant="listening", keep_open=True
        )
    for level in ("debug", "error"):
        await _call_all(client, f"calls/{level}", level)
    if listening is not None and isinstance(client.connection, HttpConnection):
        await client.connection.close_response(listening)


async def _call_all(client: ProbeClient, variant: str, level: str | None = None) -> None:
    meta = {} if level is None else {keys.LOG_LEVEL: level}
    await asyncio.gather(
        *(
            client.request("tools/call", call, meta=meta, variant=variant)
            for call in valid_calls(client)
        )
    )
