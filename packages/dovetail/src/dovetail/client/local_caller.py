"""A server in this process, called as a given principal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.connection import Connection
from dovetail.server import Server

__all__ = ["LocalCaller"]


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """A client target: the server sees calls of `principal`, and `guard` applies to them.

    Without a principal, the caller is anonymous.
    """

    server: Server
    principal: Principal | str | None = None
    guard: AuthBackend | None = None

    def connect(self, send: Callable[[bytes], None]) -> Connection:
        """Open a connection that passes its messages to `send`."""
        return self.server.connect(send, principal=self.principal, guard=self.guard)

    async def close(self) -> None:
        """Close the server."""
        await self.server.close()
