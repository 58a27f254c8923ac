"""HTTP responses that replace those of the server."""

from __future__ import annotations

import json
from typing import Any

from tests.check.saboteur.switch import HttpRequest, HttpResponse, Message

__all__ = ["JSON", "STREAM", "refuse", "serve", "stream_of"]

JSON = {"content-type": "application/json"}
STREAM = {"content-type": "text/event-stream"}


def serve(request: HttpRequest, **members: Any) -> HttpResponse:
    """A plain result for any request."""
    result = {"resultType": "complete", **members}
    return _json(200, {"jsonrpc": "2.0", "id": request.message.get("id"), "result": result})


def refuse(request: HttpRequest, status: int, code: int, **members: Any) -> HttpResponse:
    """An error."""
    message = {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, **members}
    if "id" in request.message:
        message["id"] = request.message["id"]
    return _json(status, message)


def stream_of(body: bytes) -> HttpResponse:
    """A stream that ends after its events."""
    return HttpResponse(200, dict(STREAM), body)


def _json(status: int, message: Message) -> HttpResponse:
    return HttpResponse(status, dict(JSON), json.dumps(message).encode())
