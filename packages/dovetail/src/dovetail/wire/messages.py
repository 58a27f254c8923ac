"""JSON-RPC 2.0 messages, without MCP.

Ids are kept as JSON text, so a response has the same type and value, and `1` differs from `"1"`.
Params and results stay raw JSON until code that knows their type decodes them.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Raw, Struct

from dovetail.errors import RpcError

__all__ = ["Batch", "Incoming", "Malformed", "Message", "Notification", "Request", "Response"]


class Request(Struct, frozen=True, gc=False):
    """A request, which gets a response with the same id."""

    id: bytes
    method: str
    params: Raw | None = None


class Notification(Struct, frozen=True, gc=False):
    """A notification, which gets no response."""

    method: str
    params: Raw | None = None


class Response(Struct, frozen=True, gc=False):
    """The response to a request: a result or an error, never both."""

    id: bytes | None
    result: Raw | None = None
    error: Raw | None = None


class Malformed(Struct, frozen=True):
    """Invalid input: the error to answer with, and the id if it could be read."""

    error: RpcError
    id: bytes | None = None


Message: TypeAlias = Request | Notification | Response


class Batch(Struct, frozen=True):
    """An array of messages; each one is valid or malformed."""

    items: tuple[Message | Malformed, ...]


Incoming: TypeAlias = Message | Malformed | Batch
