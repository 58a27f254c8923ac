"""Nothing is left at work: what calls of other probes have become is cancelled at last."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail_check.personas import Persona, capabilities_of
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.probing import Order, probe
from dovetail_check.task_traffic import created_tasks, glimpses

__all__: list[str] = []


@probe("task-sweep", order=Order.ROUGH)
async def end_what_was_begun(client: ProbeClient) -> None:
    """cancel: each task of this line that was not seen to end, and that nobody has cancelled."""
    if not client.is_modern and not client.has("tasks.cancel"):
        return
    meta = None
    if client.is_modern:
        meta = {keys.CLIENT_CAPABILITIES: capabilities_of(Persona.CAPABLE, client.revision)}
    await asyncio.gather(
        *(
            client.request("tasks/cancel", {"taskId": id}, meta=meta, variant="cancel")
            for id in _left_behind(client)
        )
    )


def _left_behind(client: ProbeClient) -> list[str]:
    here = (client.at.session, client.line.place.line)
    frames = [frame for frame in client.at.recording.frames if (frame.session, frame.line) == here]
    seen = ProbeSession(client.at.transport, client.revision, frames)
    done = [glimpse.id for glimpse in glimpses(seen) if glimpse.is_final]
    done += [exchange.params.get("taskId") for exchange in seen.sent("tasks/cancel")]
    begun = [glimpse.id for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)]
    return [id for id in dict.fromkeys(begun) if id not in done]
