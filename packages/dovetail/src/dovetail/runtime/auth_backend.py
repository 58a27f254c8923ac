"""The authentication interface between transports and the guard; neither imports the other."""

from __future__ import annotations

from collections.abc import Collection, Coroutine, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

from dovetail.core.principal import Principal
from dovetail.runtime.engine import Engine, PublicDocument

__all__ = ["AuthBackend", "AuthRejection", "AuthRequest", "AuthResult"]


class AuthRequest(Protocol):
    """The parts of an HTTP request that identify its caller."""

    @property
    def headers(self) -> Mapping[bytes, bytes]:
        """Headers by lower-case name."""

    @property
    def scope(self) -> Mapping[str, Any]:
        """The ASGI scope; may be created on first use."""


class AuthRejection(NamedTuple):
    """A rejected request, as an HTTP response."""

    status: int
    text: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


# None: the caller is anonymous, and anonymous callers are allowed.
AuthResult: TypeAlias = Principal | AuthRejection | None


class AuthBackend(Protocol):
    """The part of a guard that transports use."""

    @property
    def credential_headers(self) -> Collection[bytes]:
        """Headers that may occur at most once in a request, in lower case."""

    @property
    def requires_auth(self) -> bool:
        """Whether anonymous callers are refused."""

    def protect(self, engine: Engine, transport: str) -> Engine:
        """Return an engine that applies the guard to every call of this transport."""

    def identify(self, request: AuthRequest) -> AuthResult | Coroutine[Any, Any, AuthResult]:
        """Authenticate a request; returns the result or a coroutine for it."""

    def local(self, environment: Mapping[str, str]) -> Principal | None:
        """Return the principal of a stdio client; raises UsageError."""

    def page(self, path: str, mcp_path: str) -> PublicDocument | None:
        """Return the public document at a path other than the MCP path; None if there is none."""
