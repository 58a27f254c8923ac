"""`CallFacts`: the properties of a call that handlers and middleware can read."""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.wire import codec

__all__ = ["CallFacts", "call_of"]


class CallFacts:
    """The caller and the request."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def principal(self) -> Principal | None:
        """The authenticated caller (id, scopes, claims), None if nothing authenticated it."""
        return self._call.principal

    @property
    def revision(self) -> str:
        """The protocol revision of the request."""
        return self._call.era.revision.date

    @property
    def request_id(self) -> str | int:
        """The JSON-RPC id of the request."""
        id: str | int = codec.decode_json(self._call.id)
        return id

    @property
    def meta(self) -> dict[str, Any]:
        """The `_meta` of the request, trace context included."""
        return self._call.meta

    @property
    def client_extensions(self) -> dict[str, Any]:
        """The extensions that the client declared: their settings by name."""
        call = self._call
        # Older revisions have no extensions; their clients use `experimental`, and some both.
        is_modern = call.era.revision.extensions
        found: dict[str, Any] = {}
        for member in ("extensions",) if is_modern else ("experimental", "extensions"):
            declared = call.peer.capabilities.get(member)
            if isinstance(declared, dict):
                found.update({k: v for k, v in declared.items() if isinstance(v, dict)})
        return found

    @property
    def scope(self) -> Any:
        """The ASGI scope of the request, or the `scope` passed to `server.handle`."""
        return self._call.origin.scope


def call_of(facts: CallFacts) -> Call:
    """Return the call behind a context, for other parts of the framework."""
    return facts._call
