from __future__ import annotations

from itertools import count

from tests.check.saboteur.responses import refuse
from tests.check.saboteur.switch import HttpRequest, HttpResponse, on_http, on_response

NUMBERS = count(1)


@on_response("http.session.ascii")
def a_space_in_the_id(response: HttpResponse, request: HttpRequest) -> None:
    if "mcp-session-id" in response.headers:
        response.headers["mcp-session-id"] = "session \xe9t\xe9"


@on_response("http.session.random", "sbp.session-nondeterministic")
def a_counter(response: HttpResponse, request: HttpRequest) -> None:
    if "mcp-session-id" in response.headers:
        response.headers["mcp-session-id"] = f"a-very-long-and-safe-session-{next(NUMBERS):06}"


@on_response("http.session.missing-400")
def not_found_without_a_session(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 400 and "mcp-session-id" not in request.headers:
        response.status = 404


@on_response("http.session.ended-404")
def ended_session_gets_400(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 404:
        response.status = 400


@on_http("http.version-header.default")
def missing_version_is_rejected(request: HttpRequest) -> HttpResponse | None:
    is_opening = request.message.get("method") == "initialize"
    is_named = "mcp-protocol-version" in request.headers
    return None if is_opening or is_named else refuse(request, 400, -32600)


@on_response("http.version-header.invalid-400")
def every_version_is_accepted(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 400:
        response.status = 200
