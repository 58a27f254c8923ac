"""The saboteur with authorization: it requires a token and has metadata documents.

A guarded server has its own port, because some of its documents are at the root. It has the
documents of an authorization server, but issues no tokens.
"""

from __future__ import annotations

import json
import socket
from typing import Any

from tests.check.saboteur.switch import HttpRequest, HttpResponse, switches

__all__ = ["HEALTHY", "TOKEN", "answer", "challenge", "listen", "name_at", "url_of"]

HEALTHY = "healthy"
TOKEN = "good-token"

_names: dict[int, str] = {}


def listen() -> list[socket.socket]:
    """A socket for the healthy server and for each switch that breaks a guarded one."""
    names = [HEALTHY, *(id for id, switch in switches.items() if switch.guarded)]
    listeners = []
    for name in names:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        _names[listener.getsockname()[1]] = name
        listeners.append(listener)
    return listeners


def name_at(port: int) -> str | None:
    """Which guarded server listens at a port."""
    return _names.get(port)


def url_of(name: str) -> str:
    """The endpoint of a guarded server."""
    [port] = [port for port, known in _names.items() if known == name]
    return f"http://127.0.0.1:{port}/mcp"


def answer(request: HttpRequest) -> HttpResponse | None:
    """The response to a request without a valid token; None if the request is allowed."""
    origin = f"http://{request.headers['host']}"
    document = _documents(origin).get(request.path)
    if document is not None:
        return HttpResponse(
            200, {"content-type": "application/json"}, json.dumps(document).encode()
        )
    if request.path != "/mcp":
        return HttpResponse(404)
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token == TOKEN:
        return None
    error = 'error="invalid_token", ' if token else ""
    return HttpResponse(401, {"www-authenticate": challenge(origin, error)})


def challenge(origin: str, error: str = "") -> str:
    """The WWW-Authenticate header of a 401."""
    place = f"{origin}/.well-known/oauth-protected-resource/mcp"
    return f'Bearer {error}resource_metadata="{place}", scope="notes:read"'


def _documents(origin: str) -> dict[str, dict[str, Any]]:
    issuer = f"{origin}/issuer"
    return {
        "/.well-known/oauth-protected-resource/mcp": {
            "resource": f"{origin}/mcp",
            "authorization_servers": [issuer],
            "scopes_supported": ["notes:read"],
        },
        "/.well-known/oauth-authorization-server/issuer": _server(issuer),
        # For clients of the revision in which a server was its own authorization server.
        "/.well-known/oauth-authorization-server": _server(origin),
    }


def _server(issuer: str) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
