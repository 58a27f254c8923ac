from __future__ import annotations

from dovetail.wire.framing import SseEvent
from tests.check.saboteur.switch import HttpRequest, HttpResponse, on_event, on_http, tuned

# Every server with HTTP+SSE gets a note.
tuned("http2.deprecated.http-sse", transport="sse", revision="2024-11-05")


@on_http("sse.two-endpoints")
def nowhere_to_post(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(405) if request.message.get("method") == "tools/list" else None


@on_event("sse.endpoint-event")
def something_before_the_endpoint(event: SseEvent, request: HttpRequest) -> list[SseEvent] | None:
    if event.event != b"endpoint":
        return None
    hello = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
    return [SseEvent(b"message", hello), event]
