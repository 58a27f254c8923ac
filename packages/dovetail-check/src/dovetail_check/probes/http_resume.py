"""basic/transports, resumability: resume a stream."""

from __future__ import annotations

from dovetail.spec.revisions import Family
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.http_traffic import first_event_id
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import Order, probe
from dovetail_check.unobserved import exchanges_in

__all__: list[str] = []

# The number of streams to resume. Two are enough to show a mix-up.
_MOST = 2


@probe("http-resume", order=Order.ROUGH, era=Family.LEGACY, transports=("http",))
async def resume_streams(client: ProbeClient) -> None:
    """GET with the first event id of streams that earlier probes opened, if they had ids."""
    place, connection = client.connection.recorder, client.connection
    if not isinstance(connection, HttpConnection) or client.revision.old_sse:
        return
    mine = [
        frame
        for frame in client.context.recording.frames
        if (frame.session, frame.connection) == (place.session, place.connection)
    ]
    streams = [one for one in exchanges_in(mine) if one.is_stream and one.sent.method == "POST"]
    ids = [id for one in streams if (id := first_event_id(one)) is not None]
    for id in ids[-_MOST:]:
        resumed = await client.fetch("GET", headers={"Last-Event-ID": id}, keep_open=True)
        await client.fence()
        await connection.close_response(resumed)
