"""Cancel tasks that other probes created and that are still running."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail_check.client_profiles import ClientProfile, capabilities_of
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probing import Order, probe
from dovetail_check.task_traffic import created_tasks, task_snapshots

__all__: list[str] = []


@probe("task-sweep", order=Order.ROUGH)
async def cancel_remaining_tasks(client: ProbeClient) -> None:
    """cancel: each task of this connection that neither ended nor was cancelled."""
    if not client.is_modern and not client.has("tasks.cancel"):
        return
    meta = None
    if client.is_modern:
        meta = {keys.CLIENT_CAPABILITIES: capabilities_of(ClientProfile.FULL, client.revision)}
    await asyncio.gather(
        *(
            client.request("tasks/cancel", {"taskId": id}, meta=meta, variant="cancel")
            for id in _remaining(client)
        )
    )


def _remaining(client: ProbeClient) -> list[str]:
    here = (client.context.session, client.connection.recorder.connection)
    frames = [
        frame
        for frame in client.context.recording.frames
        if (frame.session, frame.connection) == here
    ]
    seen = ProbeSession(client.context.transport, client.revision, frames)
    done = [snapshot.id for snapshot in task_snapshots(seen) if snapshot.is_final]
    done += [exchange.params.get("taskId") for exchange in seen.sent("tasks/cancel")]
    begun = [snapshot.id for snapshot in created_tasks(seen) if isinstance(snapshot.id, str)]
    return [id for id in dict.fromkeys(begun) if id not in done]
