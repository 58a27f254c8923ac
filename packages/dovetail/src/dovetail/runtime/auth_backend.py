"""What a transport asks a guard, so that neither has to know the other."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.core.principal import Principal
from dovetail.runtime.engine import Engine

__all__ = ["AuthBackend", "AuthRejection", "AuthResult", "PublicDocument"]


class AuthRejection(NamedTuple):
    """Why somebody is not let in, in the words of HTTP."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


# None: nobody in particular, and let in all the same.
AuthResult: TypeAlias = Principal | AuthRejection | None


class PublicDocument(NamedTuple):
    """Something that anybody may read with GET."""

    status: int
    body: bytes
    content_type: bytes = b"application/json"


class AuthBackend(Protocol):
    """A guard, as far as transports need it."""

    @property
    def credential_headers(self) -> Collection[bytes]:
        """Headers that may be there once at most, in lower case."""

    def protect(self, engine: Engine, transport: str) -> Engine:
        """The engine, guarded."""

    def identify(
        self, headers: Mapping[bytes, bytes]
    ) -> AuthResult | Coroutine[Any, Any, AuthResult]:
        """Who sends a request with these headers: at once, or to be awaited."""

    def local(self, environment: Mapping[str, str]) -> Principal | None:
        """Who is at the other end of the standard streams; raises UsageError."""

    def page(self, path: str, mcp_path: str) -> PublicDocument | None:
        """What is to be read at a path that is not that of MCP."""
