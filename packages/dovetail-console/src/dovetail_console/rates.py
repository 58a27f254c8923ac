"""Counts requests to the API like requests to the server.

The limits of a guard are middleware around the requests of its server, so the way to count one is
to make one: `server/discover`, in the name of the caller.
"""

from __future__ import annotations

from typing import Any

from dovetail.spec.revisions import REVISIONS, Family
from dovetail.transports import HttpRequest
from dovetail.wire import codec
from dovetail_console.config import describe_traits
from dovetail_console.requests import ConsoleServer, RefusedError

__all__ = ["count_request"]

_TOO_MANY = 429
_METHOD = "server/discover"
_REVISION = next(each for each in reversed(REVISIONS) if each.family is Family.MODERN)
_BODY = codec.encode(
    {
        "jsonrpc": "2.0",
        "id": "console",
        "method": _METHOD,
        "params": {"_meta": describe_traits(_REVISION, "0")["meta"]},
    }
)
_HEADERS = [
    (b"content-type", b"application/json"),
    (b"accept", b"application/json, text/event-stream"),
    (b"content-length", b"%d" % len(_BODY)),
    (b"mcp-protocol-version", _REVISION.date.encode()),
    (b"mcp-method", _METHOD.encode()),
]
_KEPT = (b"host", b"origin")


async def count_request(request: HttpRequest, server: ConsoleServer) -> None:
    """Count a request of the caller; raises RefusedError if it exceeds a limit of the guard."""
    auth = server.app.auth
    if auth is None:
        return
    kept = {*_KEPT, *auth.credential_headers}
    scope = {
        **request.scope,
        "method": "POST",
        "path": request.mount_point + server.path,
        "query_string": b"",
        "headers": [each for each in request.scope["headers"] if each[0] in kept] + _HEADERS,
    }
    bodies = [_BODY]
    sent: list[Any] = []

    async def receive() -> Any:
        body = bodies.pop() if bodies else None
        return (
            {"type": "http.disconnect"} if body is None else {"type": "http.request", "body": body}
        )

    async def send(message: Any) -> None:
        sent.append(message)

    await server.app(scope, receive, send)
    if sent[0]["status"] == _TOO_MANY:
        body = b"".join(each.get("body", b"") for each in sent[1:])
        text = codec.decode_json(body)["error"]["message"]
        after = tuple(each for each in sent[0]["headers"] if each[0] == b"retry-after")
        raise RefusedError(_TOO_MANY, text, after)
