"""Servers that violate a row in another way than the one that its rule was written for."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from dovetail.wire.framing import SseEvent
from dovetail_check.calls import NO_SUCH_TOOL
from tests.check.saboteur.messages import answer, refuse, result_of
from tests.check.saboteur.responses import serve
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_event,
    on_http,
    on_reply,
    on_request,
    on_response,
    tuned,
)

MODERN, LEGACY, OLDEST = "2026-07-28", "2025-11-25", "2024-11-05"
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def _called(request: Message) -> Any:
    params = request.get("params")
    return params.get("name") if isinstance(params, dict) else None


def _arguments(request: Message) -> Any:
    params = request.get("params")
    return params.get("arguments") if isinstance(params, dict) else None


# -- the era and its versions ----------------------------------------------------------------------

for _transport in ("stdio", "http"):
    tuned(f"versioning.discover-exists~{_transport}", probes=("walk",), transport=_transport)


@on_request("versioning.discover-exists~stdio", "versioning.discover-exists~http")
def discovery_is_unknown(request: Message) -> list[Message] | None:
    return refuse(request, -32601) if request.get("method") == "server/discover" else None


@on_http("versioning.discover-exists~not-found")
def discovery_is_not_found(request: HttpRequest) -> HttpResponse | None:
    is_discovery = request.message.get("method") == "server/discover"
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}'
    return HttpResponse(404, {"content-type": "application/json"}, body) if is_discovery else None


tuned("versioning.discover-exists~not-found", probes=("walk",))


@on_reply("versioning.supported-honoured~unknown", to="server/discover")
def another_version_is_listed(reply: Message, request: Message) -> None:
    result_of(reply).setdefault("supportedVersions", []).append("2027-01-01")


@on_reply("versioning.supported-honoured~no-date", to="server/discover")
def a_name_is_listed_as_version(reply: Message, request: Message) -> None:
    result_of(reply).setdefault("supportedVersions", []).append("newest")


tuned("versioning.supported-honoured~unknown", "versioning.supported-honoured~no-date")
tuned(
    "lifecycle.version.counter-offer~no-date",
    "lifecycle.version.counter-offer~unserved",
    revision="all",
    transport="http",
)


def _offers_unknown(request: Message) -> bool:
    version = request.get("params", {}).get("protocolVersion")
    return version in ("1999-01-01", "2099-01-01")


@on_reply("lifecycle.version.counter-offer~no-date", to="initialize")
def the_counter_offer_is_no_date(reply: Message, request: Message) -> None:
    if _offers_unknown(request):
        result_of(reply)["protocolVersion"] = "1.0"


@on_reply("lifecycle.version.counter-offer~unserved", to="initialize")
def the_counter_offer_is_not_served(reply: Message, request: Message) -> None:
    # 2025-03-26 is answered like an unknown version, so the survey sees it.
    if _offers_unknown(request) or request["params"]["protocolVersion"] == "2025-03-26":
        result_of(reply)["protocolVersion"] = "2024-10-07"


tuned(
    "lifecycle.version.echo~changes",
    "lifecycle.version.echo~header",
    "lifecycle.version.echo~listed",
    "versioning.supported-honoured~other",
    revision="all",
    transport="http",
)
tuned("lifecycle.version.counter-offer~old", revision="all", transport="stdio")
_offered: list[str] = []


@on_reply("lifecycle.version.echo~changes", to="initialize")
def the_next_handshake_gets_another_version(reply: Message, request: Message) -> None:
    offer = request["params"]["protocolVersion"]
    if offer == "2025-06-18" and offer in _offered:
        result_of(reply)["protocolVersion"] = "2025-03-26"
    _offered.append(offer)


@on_reply(
    "lifecycle.version.echo~header",
    "lifecycle.version.echo~listed",
    "versioning.supported-honoured~other",
    to="initialize",
)
def one_version_gets_an_older_one(reply: Message, request: Message) -> None:
    if request["params"]["protocolVersion"] == "2025-06-18":
        result_of(reply)["protocolVersion"] = "2025-03-26"


@on_http("lifecycle.version.echo~header")
def the_header_with_that_version_is_accepted(request: HttpRequest) -> HttpResponse | None:
    is_named = request.headers.get("mcp-protocol-version") == "2025-06-18"
    return serve(request) if is_named and request.message.get("method") == "ping" else None


@on_reply(
    "lifecycle.version.echo~listed", "versioning.supported-honoured~other", to="server/discover"
)
def that_version_is_listed(reply: Message, request: Message) -> None:
    result_of(reply).setdefault("supportedVersions", []).append("2025-06-18")


@on_reply("lifecycle.version.counter-offer~old", to="initialize")
def every_older_version_is_returned(reply: Message, request: Message) -> None:
    offer = request["params"]["protocolVersion"]
    if offer < OLDEST:
        result_of(reply)["protocolVersion"] = offer


# -- messages --------------------------------------------------------------------------------------

for _revision in (LEGACY, MODERN):
    tuned(f"stdio.no-embedded-newline~{_revision}", probes=("walk",), revision=_revision)


@on_reply("stdio.no-embedded-newline~2025-11-25", "stdio.no-embedded-newline~2026-07-28")
def everything_is_spread_over_lines(reply: Message, request: Message) -> bytes:
    return json.dumps(reply, indent=2).encode()


for _transport in ("stdio", "http"):
    tuned(f"base.response.id-echo~double-{_transport}", transport=_transport)
    tuned(f"base.response.id-echo~list-{_transport}", transport=_transport)


@on_reply("base.response.id-echo~double-stdio", "base.response.id-echo~double-http")
def ids_become_doubles(reply: Message, request: Message) -> None:
    if isinstance(reply.get("id"), int):
        reply["id"] = int(float(reply["id"]))


@on_reply("base.response.id-echo~list-stdio", "base.response.id-echo~list-http", to="tools/list")
def ids_of_lists_lose_their_sign(reply: Message, request: Message) -> None:
    if isinstance(reply.get("id"), int):
        reply["id"] = abs(reply["id"])


tuned("base.response.id-echo~null", transport="stdio", probes=("errors",))


@on_reply("base.response.id-echo~null")
def errors_have_no_id(reply: Message, request: Message) -> None:
    if "error" in reply:
        reply["id"] = None


tuned("http.sse.wire-format~data", probes=("progress",), revision=MODERN)
tuned("http.sse.wire-format~line", probes=("progress",), revision=MODERN)
tuned("http.sse.wire-format~legacy-line", probes=("progress",), revision=LEGACY)


@on_event("http.sse.wire-format~data")
def data_that_is_no_message(event: SseEvent, request: HttpRequest) -> list[SseEvent]:
    return [SseEvent(data=b"working", event=event.event, id=None, retry=None), event]


@on_response("http.sse.wire-format~line", "http.sse.wire-format~legacy-line")
def a_line_that_is_no_field(response: HttpResponse, request: HttpRequest) -> None:
    if response.is_stream:
        response.prelude = b"working on it\n\n"


# -- lists -----------------------------------------------------------------------------------------

_turns = count()


@on_request("pagination.walk~empty", "pagination.walk~empty-prompts")
def pages_without_end(request: Message) -> list[Message] | None:
    member = LISTS.get(str(request.get("method")))
    if member is None:
        return None
    return answer(request, {member: [], "nextCursor": f"page-{next(_turns)}"})


tuned("pagination.walk~empty", revision=MODERN)
tuned("pagination.walk~empty-prompts", revision=LEGACY)

for _row in ("tools.schema.shape", "prompts.schema.shape", "resources.schema.shape"):
    for _revision in (OLDEST, MODERN):
        tuned(f"{_row}~{_revision}", revision=_revision)


@on_reply(
    *(
        f"{row}.schema.shape~{revision}"
        for row in ("tools", "prompts", "resources")
        for revision in (OLDEST, MODERN)
    )
)
def a_cursor_that_is_a_number(reply: Message, request: Message) -> None:
    if request.get("method") in LISTS and "result" in reply:
        reply["result"]["nextCursor"] = 5


@on_reply("tools.list-order~reversed")
def every_other_page_is_reversed(reply: Any, request: Any) -> None:
    # Both are lists for a batch of 2025-03-26.
    if isinstance(reply, list):
        return
    member = LISTS.get(str(request.get("method")))
    items = result_of(reply).get(member or "")
    if isinstance(items, list) and next(_turns) % 2:
        items.reverse()


@on_request("base.reqmeta.clientinfo-no-behaviour~nobody")
def clients_must_have_a_name(request: Message) -> list[Message] | None:
    meta = (request.get("params") or {}).get("_meta") or {}
    is_named = "io.modelcontextprotocol/clientInfo" in meta
    return None if is_named or request.get("method") != "tools/list" else refuse(request, -32603)


@on_request("base.reqmeta.clientinfo-no-behaviour~long")
def clients_must_have_a_short_name(request: Message) -> list[Message] | None:
    meta = (request.get("params") or {}).get("_meta") or {}
    info = meta.get("io.modelcontextprotocol/clientInfo") or {}
    return refuse(request, -32602) if len(info.get("name", "")) > 100 else None


# -- calls -----------------------------------------------------------------------------------------


@on_request("tools.call.malformed~list", "tools.security.validate~list")
def a_list_of_arguments_is_accepted(request: Message) -> list[Message] | None:
    if request.get("method") == "tools/call" and _called(request) == "picture":
        return answer(request, {"content": []})
    return None


@on_request("tools.security.validate~optional")
def optional_arguments_are_not_validated(request: Message) -> list[Message] | None:
    given = _arguments(request)
    is_wrong = isinstance(given, dict) and "to" in given and not isinstance(given["to"], int)
    return answer(request, {"content": []}) if is_wrong else None


def _calls_nearest(request: HttpRequest) -> bool:
    given = _arguments(request.message)
    return _called(request.message) == "nearest" and isinstance(given, dict) and "limit" in given


@on_http("http2.param.match~optional", "http2.header.invalid-chars~optional")
def a_different_limit_is_accepted(request: HttpRequest) -> HttpResponse | None:
    said = request.headers.get("mcp-param-limit")
    if not _calls_nearest(request) or said is None:
        return None
    return serve(request, content=[])


@on_http("http2.param.missing-reject~optional")
def a_missing_limit_is_accepted(request: HttpRequest) -> HttpResponse | None:
    if not _calls_nearest(request) or "mcp-param-limit" in request.headers:
        return None
    return serve(request, content=[])


# -- subscriptions ---------------------------------------------------------------------------------


@on_request("resources.updated-only-subscribed~unsubscribed")
def unsubscribing_has_no_effect(request: Message) -> list[Message] | None:
    if request.get("method") == "resources/unsubscribe":
        return [{"jsonrpc": "2.0", "id": request.get("id"), "result": {}}]
    return None


@on_request("stdio.cancel-silence~updates")
def cancelling_has_no_effect(request: Message) -> list[Message] | None:
    return [] if request.get("method") == "notifications/cancelled" else None


tuned("resources.updated-only-subscribed~unsubscribed", transport="stdio", revision=LEGACY)


@on_event("subs.id-on-all~crossed")
def updates_name_the_other_stream(event: SseEvent, request: HttpRequest) -> list[SseEvent] | None:
    if b"notifications/resources/updated" not in event.data:
        return None
    message = json.loads(event.data)
    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] = "another"
    return [event._replace(data=json.dumps(message).encode())]


# -- notifications ---------------------------------------------------------------------------------


@on_response("http.post.notification-202~modern")
def modern_notifications_get_200(response: HttpResponse, request: HttpRequest) -> None:
    if "method" in request.message and "id" not in request.message and response.status == 202:
        response.status = 200


# -- what a second request shows -------------------------------------------------------------------


@on_request("tools.call.unknown~internal")
def an_unknown_tool_is_an_internal_error(request: Message) -> list[Message] | None:
    return refuse(request, -32603) if _called(request) == NO_SUCH_TOOL else None


@on_response("http2.legacy.ignore-session~dual")
def modern_responses_have_a_session_id(response: HttpResponse, request: HttpRequest) -> None:
    if "mcp-method" in request.headers:
        response.headers["mcp-session-id"] = "a-session-for-modern-clients"


tuned("tools.list-not-per-connection~again", transport="stdio", revision=MODERN)
tuned("tools.list-not-per-connection~counter", transport="http", revision=MODERN)


@on_reply("tools.list-not-per-connection~counter", to="tools/list")
def every_list_has_another_tool(reply: Message, request: Message) -> None:
    for tool in result_of(reply).get("tools", [])[:1]:
        tool["name"] = f"tool-{next(_turns)}"


@on_reply("tools.list-not-per-connection~again", to="tools/list")
def the_first_list_uses_up_a_tool(reply: Message, request: Message) -> None:
    if "cursor" not in request["params"] and next(_turns):
        del result_of(reply)["tools"][:1]


for _transport in ("stdio", "http"):
    tuned(f"base.core-components~unicode-{_transport}", transport=_transport)
    tuned(f"base.core-components~unknown-tool-{_transport}", transport=_transport)
_TWICE = ("base.response.id-echo~twice", "base.response.id-echo~twice-errors")
tuned(*_TWICE, transport="stdio", probes=("errors",))


@on_request("base.core-components~unicode-stdio", "base.core-components~unknown-tool-stdio")
def some_requests_are_ignored(request: Message) -> list[Message] | None:
    id = request.get("id")
    is_odd = isinstance(id, str) and not id.isascii()
    return [] if is_odd or _called(request) == NO_SUCH_TOOL else None


@on_response("base.core-components~unicode-http", "base.core-components~unknown-tool-http")
def some_requests_get_an_empty_body(response: HttpResponse, request: HttpRequest) -> None:
    if some_requests_are_ignored(request.message) is not None:
        response.body = b""


@on_reply("base.response.id-echo~twice", to="tools/list")
def lists_are_sent_twice(reply: Message, request: Message) -> list[Message]:
    return [reply, reply]


@on_reply("base.response.id-echo~twice-errors")
def errors_are_sent_twice(reply: Message, request: Message) -> list[Message] | None:
    return [reply, reply] if "error" in reply else None
