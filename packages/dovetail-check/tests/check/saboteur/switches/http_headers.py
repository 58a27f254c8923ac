from __future__ import annotations

from collections.abc import Callable

from dovetail_check.probes.http_headers import OTHER_NAME
from tests.check.saboteur.responses import refuse, serve
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    Message,
    on_http,
    on_reply,
    on_response,
)

MISMATCH = -32020
DISCOVER = "server/discover"


def _is_wrong_method(request: HttpRequest) -> bool:
    return request.message.get("method") == DISCOVER


def _names_something(request: HttpRequest) -> bool:
    return request.message.get("method") in ("tools/call", "prompts/get", "resources/read")


def _calls(request: HttpRequest, name: str) -> bool:
    return _names_something(request) and request.message["params"].get("name") == name


Condition = Callable[[HttpRequest], bool]

# Accepted, although it must be rejected.
SERVED: dict[str, Condition] = {
    "http2.header.method-missing": lambda r: _is_wrong_method(r) and "mcp-method" not in r.headers,
    "http2.header.method-mismatch": lambda r: (
        _is_wrong_method(r) and r.headers.get("mcp-method") == "tools/list"
    ),
    "http2.header.method-case": lambda r: r.headers.get("mcp-method") == "Server/Discover",
    "http2.header.name-missing": lambda r: _names_something(r) and "mcp-name" not in r.headers,
    "http2.header.name-mismatch": lambda r: r.headers.get("mcp-name") == OTHER_NAME,
    "http2.version-header.mismatch": lambda r: (
        r.headers.get("mcp-protocol-version") == "2025-11-25" and _is_wrong_method(r)
    ),
    "http2.header.invalid-chars": lambda r: not r.headers.get("mcp-param-region", "").isascii(),
    "http2.param.match": lambda r: r.headers.get("mcp-param-region") == OTHER_NAME,
    "http2.param.missing-reject": lambda r: (
        _calls(r, "near") and "mcp-param-region" not in r.headers
    ),
}

# Rejected, although it must be accepted.
REFUSED: dict[str, Condition] = {
    "http2.header.name-base64": lambda r: r.headers.get("mcp-name", "").startswith("=?base64?"),
    "http2.param.null-not-expected": lambda r: (
        _calls(r, "nearest") and "mcp-param-limit" not in r.headers
    ),
    "http2.param.integer-numeric": lambda r: r.headers.get("mcp-param-limit") == "42.0",
}


def _register(id: str, condition: Condition, answer: Callable[[HttpRequest], HttpResponse]) -> None:
    @on_http(id)
    def hook(request: HttpRequest) -> HttpResponse | None:
        return answer(request) if condition(request) else None


for id, condition in SERVED.items():
    _register(id, condition, serve)
for id, condition in REFUSED.items():
    _register(id, condition, lambda request: refuse(request, 400, MISMATCH))


@on_response("http2.header.reject-status")
def another_status(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 400 and str(MISMATCH).encode() in response.body:
        response.status = 200


@on_reply("http2.header.reject-code")
def another_code(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == MISMATCH:
        reply["error"]["code"] = -32602


@on_reply("http2.version-header.unsupported")
def no_list_of_versions(reply: Message, request: Message) -> None:
    if reply.get("error", {}).get("code") == -32022:
        del reply["error"]["data"]


@on_response("http2.method.unknown-404")
def a_status_of_success(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 404:
        response.status = 200
