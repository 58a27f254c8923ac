"""The closed set of things that can stand on the wire: JSON-RPC 2.0, nothing of MCP.

Ids stay the JSON text they arrived as, so an answer echoes them unchanged in type
and value, and `1` never meets `"1"`. Params and results stay raw JSON until
somebody who knows their type decodes them.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from dovetail.errors import RpcError

__all__ = ["Batch", "Incoming", "Malformed", "Message", "Notification", "Request", "Response"]


class Request(Struct, frozen=True, gc=False):
    """Somebody asks and waits for an answer with the same id."""

    id: bytes
    method: str
    params: Raw | None = None


class Notification(Struct, frozen=True, gc=False):
    """Somebody tells and waits for nothing."""

    method: str
    params: Raw | None = None


class Response(Struct, frozen=True, gc=False):
    """The answer to a request: a result or an error, never both."""

    id: bytes | None
    result: Raw | None = None
    error: Raw | None = None


class Malformed(Struct, frozen=True):
    """Bytes that are no message: answer with this error, under the id where it could be read."""

    error: RpcError
    id: bytes | None = None


Message: TypeAlias = Request | Notification | Response


class Batch(Struct, frozen=True):
    """An array of messages; each one is good or bad on its own."""

    items: tuple[Message | Malformed, ...]


Incoming: TypeAlias = Message | Malformed | Batch
