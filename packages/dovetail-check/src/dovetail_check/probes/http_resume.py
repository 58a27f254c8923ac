"""basic/transports, resumability: a stream is picked up again."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.http_traffic import first_event_id
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probe_sessions import exchanges_in
from dovetail_check.probing import Order, probe

__all__: list[str] = []

# Streams that are picked up: with two of them a mix-up would show.
_MOST = 2


@probe("http-resume", order=Order.ROUGH, era=Family.LEGACY, transports=("http",))
async def pick_streams_up(client: ProbeClient) -> None:
    """GET with the first event id of streams that earlier probes saw here, if any had ids."""
    place, line = client.line.place, client.line
    if not isinstance(line, HttpLine) or client.revision.old_sse:
        return
    mine = [
        frame
        for frame in client.at.recording.frames
        if (frame.session, frame.line) == (place.session, place.line)
    ]
    streams = [one for one in exchanges_in(mine) if one.is_stream and one.sent.method == "POST"]
    ids = [id for one in streams if (id := first_event_id(one)) is not None]
    for id in ids[-_MOST:]:
        resumed = await client.fetch("GET", headers={"Last-Event-ID": id}, holds=True)
        await client.fence()
        await line.hang_up(resumed)
