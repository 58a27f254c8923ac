"""A request as handlers may see it: not how its sender has shown who it is.

auth.no-passthrough (2025-06-18 basic/authorization): what a handler lacks it cannot pass on.
"""

from __future__ import annotations

from collections.abc import Collection

from dovetail.transports.asgi.messages import Receive, RequestView, Scope, Transmit

__all__ = ["WithoutCredentials", "without_credentials"]


def without_credentials(scope: Scope, hidden: Collection[bytes]) -> Scope:
    """A copy of the scope, without these headers."""
    headers = [(name, value) for name, value in scope["headers"] if name not in hidden]
    return {**scope, "headers": headers}


class WithoutCredentials:
    """A request whose scope lacks some headers; the scope is made when somebody asks for it."""

    __slots__ = ("_hidden", "_request", "_scope", "headers")

    def __init__(self, request: RequestView, hidden: Collection[bytes]) -> None:
        self._request = request
        self._hidden = hidden
        self._scope: Scope | None = None
        self.headers = request.headers

    @property
    def scope(self) -> Scope:
        """What handlers find in `ctx.scope`."""
        if self._scope is None:
            self._scope = without_credentials(self._request.scope, self._hidden)
        return self._scope

    @property
    def receive(self) -> Receive:
        """What comes after the body."""
        return self._request.receive

    @property
    def transmit(self) -> Transmit:
        """Takes the response."""
        return self._request.transmit
