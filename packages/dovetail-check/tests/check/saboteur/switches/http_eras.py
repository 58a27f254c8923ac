from __future__ import annotations

import json

from dovetail.wire.framing import encode_sse
from dovetail_check.probes.http_eras import CLOSED_ID
from tests.check.saboteur.responses import refuse, serve
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_http,
    on_reply,
    on_response,
    tuned,
)

LISTEN = "subscriptions/listen"
# A tool of the healthy server sends log messages if the request asks for them.
for id in ("http2.sse.related-only", "http2.sse.no-requests", "patterns.no-server-requests"):
    tuned(id, probes=("log-levels",))
for id in ("http2.sse.accel-buffering", "http2.sse.no-request-notifs-on-listen"):
    tuned(id, probes=("http-hang-up",))


@on_http(
    "http2.version-header.absent-reject",
    "http2.legacy.get-delete-405",
    "http2.legacy.ignore-session",
    "http2.legacy.ignore-last-event-id",
)
def modern_clients_only(request: HttpRequest) -> HttpResponse | None:
    # The healthy server answers GET and DELETE without a session with 400, not 405.
    is_legacy = request.message.get("method") == "initialize"
    return refuse(request, 400, -32022) if is_legacy else None


@on_http("http2.version-header.absent-reject")
def missing_version_is_accepted(request: HttpRequest) -> HttpResponse | None:
    is_named = "mcp-protocol-version" in request.headers
    return None if is_named or request.verb != "POST" else serve(request)


@on_http("http2.legacy.ignore-session")
def no_such_session(request: HttpRequest) -> HttpResponse | None:
    return refuse(request, 404, -32600) if "mcp-session-id" in request.headers else None


@on_http("http2.legacy.ignore-last-event-id")
def no_such_event(request: HttpRequest) -> HttpResponse | None:
    return refuse(request, 400, -32600) if "last-event-id" in request.headers else None


@on_reply("http2.sse.no-requests", "patterns.no-server-requests", to="tools/call")
def a_request_on_the_stream(reply: Message, request: Message) -> list[Message] | None:
    if reply.get("method") != "notifications/message":
        return None
    return [{"jsonrpc": "2.0", "id": "q", "method": "roots/list"}]


@on_response("http2.sse.accel-buffering")
def no_accel_buffering_header(response: HttpResponse, request: HttpRequest) -> None:
    response.headers.pop("x-accel-buffering", None)


@on_response("http2.sse.no-request-notifs-on-listen")
def a_log_message_on_a_subscription(response: HttpResponse, request: HttpRequest) -> None:
    if request.message.get("method") == LISTEN:
        params = {"level": "info", "data": "hello"}
        message = {"jsonrpc": "2.0", "method": "notifications/message", "params": params}
        response.prelude = encode_sse(json.dumps(message).encode())


@on_response("http2.cancel.silence")
def a_message_after_the_stream_was_closed(response: HttpResponse, request: HttpRequest) -> None:
    if request.message.get("method") == LISTEN and request.message["id"] != CLOSED_ID:
        meta = {"io.modelcontextprotocol/subscriptionId": CLOSED_ID}
        method = "notifications/tools/list_changed"
        message = {"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}
        response.prelude = encode_sse(json.dumps(message).encode())
