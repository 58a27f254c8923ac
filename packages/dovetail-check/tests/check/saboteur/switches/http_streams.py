from __future__ import annotations

import json

from dovetail.wire.framing import SseEvent, encode_sse
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_event,
    on_reply,
    on_response,
    tuned,
)

# A tool of the healthy server sends log messages, so its response is a stream.
CALLS = ("tool-calls",)
for id in (
    "http.sse.wire-format",
    "http.sse.prime",
    "http.sse.retry",
    "http.sse.response",
    "http.sse.end-after-response",
    "http.sse.related-only",
    "http.sse.event-id-unique",
):
    tuned(id, probes=CALLS, revision="2025-11-25")
tuned("http.sse.no-early-close", probes=CALLS)


def _message(event: SseEvent) -> Message:
    try:
        value = json.loads(event.data)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@on_event("http.sse.wire-format")
def data_that_is_no_json(event: SseEvent, request: HttpRequest) -> list[SseEvent] | None:
    is_told = "method" in _message(event)
    return [event._replace(data=b"working on it")] if is_told else None


@on_event("http.sse.prime")
def no_priming(event: SseEvent, request: HttpRequest) -> list[SseEvent] | None:
    return None if event.data else []


@on_event("http.sse.retry", "http.sse.no-early-close")
def no_answer(event: SseEvent, request: HttpRequest) -> list[SseEvent]:
    return [] if "result" in _message(event) else [event._replace(retry=None)]


@on_event("http.sse.response")
def no_response_and_no_retry(event: SseEvent, request: HttpRequest) -> list[SseEvent]:
    return [] if "result" in _message(event) else [event._replace(id=None)]


@on_response("http.sse.end-after-response")
def no_end(response: HttpResponse, request: HttpRequest) -> None:
    response.hangs = response.is_stream and request.verb == "POST"


@on_reply("http.sse.related-only", "http2.sse.related-only", to="tools/call")
def progress_of_another_request(reply: Message, request: Message) -> list[Message] | None:
    if reply.get("method") != "notifications/message":
        return None
    params = {"progressToken": "somebody else's", "progress": 1}
    return [{"jsonrpc": "2.0", "method": "notifications/progress", "params": params}]


@on_event("http.sse.event-id-unique")
def the_same_id(event: SseEvent, request: HttpRequest) -> list[SseEvent]:
    return [event._replace(id=b"same")]


tuned("http.resume.same-stream", "http.sse.event-id-stream", probes=CALLS)


@on_response("http.resume.same-stream", "http.sse.event-id-stream")
def an_answer_of_another_stream(response: HttpResponse, request: HttpRequest) -> None:
    if "last-event-id" in request.headers and response.is_stream:
        response.prelude = encode_sse(b'{"jsonrpc":"2.0","id":987654,"result":{}}')
