"""Nothing is left at work: what calls of other probes have become is cancelled at last."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail_check.personas import Persona, capabilities_of
from dovetail_check.probing import Order, probe
from dovetail_check.sittings import Sitting
from dovetail_check.talk import Talk
from dovetail_check.task_traffic import created_tasks, glimpses

__all__: list[str] = []


@probe("task-sweep", order=Order.ROUGH)
async def end_what_was_begun(talk: Talk) -> None:
    """cancel: each task of this line that was not seen to end, and that nobody has cancelled."""
    if not talk.is_modern and not talk.has("tasks.cancel"):
        return
    meta = None
    if talk.is_modern:
        meta = {keys.CLIENT_CAPABILITIES: capabilities_of(Persona.CAPABLE, talk.revision)}
    await asyncio.gather(
        *(
            talk.request("tasks/cancel", {"taskId": id}, meta=meta, variant="cancel")
            for id in _left_behind(talk)
        )
    )


def _left_behind(talk: Talk) -> list[str]:
    here = (talk.at.sitting, talk.line.place.line)
    frames = [frame for frame in talk.at.recording.frames if (frame.sitting, frame.line) == here]
    seen = Sitting(talk.at.transport, talk.revision, frames)
    done = [glimpse.id for glimpse in glimpses(seen) if glimpse.is_final]
    done += [exchange.params.get("taskId") for exchange in seen.sent("tasks/cancel")]
    begun = [glimpse.id for glimpse in created_tasks(seen) if isinstance(glimpse.id, str)]
    return [id for id in dict.fromkeys(begun) if id not in done]
