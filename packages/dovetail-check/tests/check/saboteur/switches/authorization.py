from __future__ import annotations

import json
from itertools import count
from typing import Any

from tests.check.saboteur.guarded import TOKEN, challenge
from tests.check.saboteur.responses import refuse, serve
from tests.check.saboteur.switch import (
    HttpRequest,
    HttpResponse,
    on_http,
    on_response,
    tuned,
)

WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
RESOURCE = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENING = ("initialize", "server/discover")

tuned(
    "auth.status-codes",
    "auth.challenge.scope",
    "auth.challenge.scope-consistent",
    "auth.no-offline-access",
    "auth.token.validate",
    "auth.token.invalid-401",
    "auth.token.error-format",
    "auth.token.validate-first",
    "auth.prm.exists",
    "auth.prm.discovery",
    "auth.prm.www-authenticate",
    "auth.prm.authorization-servers",
    "auth.prm.resource-matches",
    "auth.uri.trailing-slash",
    "auth.as.metadata",
    "auth.as.pkce-advertised",
    "auth.as.cimd",
    "auth.as.iss",
    "auth.as.issuer-matches",
    "auth.https",
    "auth.b.metadata",
    "auth.b.metadata-location",
    "auth.b.default-endpoints",
    "auth.b.grants",
    guarded=True,
)
tuned(
    "auth.401-when-needed",
    "auth.token.every-request",
    "auth.token.not-in-query",
    "sbp.verify-all-inbound",
    guarded=True,
    headers=WITH_TOKEN,
)
tuned("sbp.session-not-auth", guarded=True, headers=WITH_TOKEN, revision="2025-11-25")
tuned(
    "auth.scope.insufficient-403",
    "auth.scope.challenge-error",
    "auth.scope.challenge-needed",
    guarded=True,
    headers=WITH_TOKEN,
    probes=("walk", "authorization"),
)


def _token(request: HttpRequest) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer").strip()


def _is_invalid(request: HttpRequest) -> bool:
    return bool(_token(request)) and _token(request) != TOKEN


def _members(response: HttpResponse) -> dict[str, Any]:
    members: dict[str, Any] = json.loads(response.body)
    return members


def _say(response: HttpResponse, members: dict[str, Any]) -> None:
    response.body = json.dumps(members).encode()


# -- statuses and challenges -----------------------------------------------------------------------


@on_http("auth.401-when-needed")
def redirect_instead_of_401(request: HttpRequest) -> HttpResponse | None:
    if request.path == "/mcp" and not _token(request):
        return HttpResponse(302, {"location": "/login"})
    return None


@on_http("auth.status-codes")
def malformed_header_gets_500(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(500) if request.headers.get("authorization") == "Bearer" else None


@on_response("auth.challenge.scope")
def the_challenge_names_no_scope(response: HttpResponse, request: HttpRequest) -> None:
    _change_challenge(response, 'scope="notes:read"', 'realm="notes"')


_turn = count()


@on_response("auth.challenge.scope-consistent")
def every_challenge_has_another_scope(response: HttpResponse, request: HttpRequest) -> None:
    _change_challenge(response, "notes:read", f"notes:{next(_turn)}")


@on_response("auth.no-offline-access")
def challenge_names_offline_access(response: HttpResponse, request: HttpRequest) -> None:
    _change_challenge(response, "notes:read", "notes:read offline_access")


def _change_challenge(response: HttpResponse, old: str, new: str) -> None:
    header = response.headers.get("www-authenticate", "")
    if header:
        response.headers["www-authenticate"] = header.replace(old, new)


# -- tokens ----------------------------------------------------------------------------------------


@on_http("auth.token.validate")
def every_jwt_is_accepted(request: HttpRequest) -> HttpResponse | None:
    return serve(request) if _token(request).count(".") == 2 else None


@on_http("auth.token.invalid-401")
def invalid_tokens_get_403(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(403) if _is_invalid(request) else None


@on_response("auth.token.error-format")
def invalid_tokens_get_no_challenge(response: HttpResponse, request: HttpRequest) -> None:
    if _is_invalid(request):
        response.headers.pop("www-authenticate", None)


@on_response("auth.token.validate-first")
def rejection_has_a_result(response: HttpResponse, request: HttpRequest) -> None:
    if response.status == 401:
        response.body = serve(request).body
        response.headers["content-type"] = "application/json"


@on_http("auth.token.every-request", "sbp.verify-all-inbound")
def only_the_opening_needs_a_token(request: HttpRequest) -> None:
    if request.path == "/mcp" and request.message.get("method") not in OPENING:
        request.headers["authorization"] = WITH_TOKEN["Authorization"]


@on_http("sbp.session-not-auth")
def a_session_is_enough(request: HttpRequest) -> None:
    if "mcp-session-id" in request.headers:
        request.headers["authorization"] = WITH_TOKEN["Authorization"]


@on_http("auth.token.not-in-query")
def token_in_query_is_accepted(request: HttpRequest) -> None:
    if f"access_token={TOKEN}" in request.query:
        request.headers["authorization"] = WITH_TOKEN["Authorization"]


# -- scopes ----------------------------------------------------------------------------------------


def _insufficient_scope(request: HttpRequest, status: int, more: str) -> HttpResponse | None:
    if _token(request) != TOKEN or request.message.get("method") != "tools/list":
        return None
    response = refuse(request, status, -32001)
    error = f'error="insufficient_scope"{more}, '
    whole = challenge(f"http://{request.headers['host']}", error)
    response.headers["www-authenticate"] = whole
    return response


@on_http("auth.scope.insufficient-403")
def insufficient_scope_gets_401(request: HttpRequest) -> HttpResponse | None:
    return _insufficient_scope(request, 401, "")


@on_http("auth.scope.challenge-error", "auth.scope.challenge-needed")
def insufficient_scope_names_no_scope(request: HttpRequest) -> HttpResponse | None:
    response = _insufficient_scope(request, 403, "")
    if response is not None:
        _change_challenge(response, 'scope="notes:read"', 'realm="notes"')
    return response


# -- metadata of the resource ----------------------------------------------------------------------


@on_http("auth.prm.exists", "auth.prm.discovery")
def no_metadata_of_the_resource(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(404) if request.path.startswith(RESOURCE) else None


@on_response("auth.prm.www-authenticate")
def challenge_has_no_metadata_url(response: HttpResponse, request: HttpRequest) -> None:
    _change_challenge(response, "resource_metadata=", "place=")


def _in_resource(response: HttpResponse, request: HttpRequest, **changed: Any) -> None:
    if request.path.startswith(RESOURCE) and response.status == 200:
        _say(response, {**_members(response), **changed})


@on_response("auth.prm.authorization-servers")
def no_authorization_servers(response: HttpResponse, request: HttpRequest) -> None:
    _in_resource(response, request, authorization_servers=[])


@on_response("auth.prm.resource-matches")
def the_metadata_is_of_another_resource(response: HttpResponse, request: HttpRequest) -> None:
    _in_resource(response, request, resource=f"http://{request.headers['host']}/other")


@on_response("auth.uri.trailing-slash")
def the_resource_has_a_slash(response: HttpResponse, request: HttpRequest) -> None:
    _in_resource(response, request, resource=f"http://{request.headers['host']}/mcp/")


# -- metadata of the authorization server ----------------------------------------------------------


@on_http("auth.as.metadata", "auth.b.metadata", "auth.b.default-endpoints")
def no_metadata_of_the_server(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(404) if request.path.startswith(SERVER) else None


@on_http("auth.b.metadata", "auth.b.default-endpoints")
def no_resource_metadata(request: HttpRequest) -> HttpResponse | None:
    return HttpResponse(404) if request.path.startswith(RESOURCE) else None


@on_http("auth.b.metadata-location")
def the_metadata_is_at_the_path(request: HttpRequest) -> HttpResponse | None:
    if request.path == SERVER:
        return HttpResponse(404)
    if request.path == f"{SERVER}/mcp":
        request.path = SERVER
    return None


def _in_server(response: HttpResponse, request: HttpRequest, **changed: Any) -> None:
    if request.path.startswith(SERVER) and response.status == 200:
        members = {**_members(response), **changed}
        _say(response, {name: value for name, value in members.items() if value is not None})


@on_response("auth.as.pkce-advertised")
def no_pkce(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, code_challenge_methods_supported=None)


@on_response("auth.as.cimd")
def clients_have_no_documents(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, client_id_metadata_document_supported=None)


@on_response("auth.as.iss")
def no_iss_parameter(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, authorization_response_iss_parameter_supported=False)


@on_response("auth.as.issuer-matches")
def the_issuer_is_another(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, issuer="https://honest.example")


@on_response("auth.https")
def tokens_come_over_http(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, token_endpoint="http://auth.example/token")


@on_response("auth.b.grants")
def only_removed_grants(response: HttpResponse, request: HttpRequest) -> None:
    _in_server(response, request, grant_types_supported=["password", "implicit"])
