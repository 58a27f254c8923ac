"""Remove credential headers from the request that handlers see.

auth.no-passthrough (2025-06-18 basic/authorization): handlers cannot forward the credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from dovetail.transports.asgi.messages import Receive, RequestView, Scope, Transmit, Watch

__all__ = ["WithoutCredentials", "without_credentials"]


def without_credentials(scope: Scope, hidden: Collection[bytes]) -> Scope:
    """A copy of the scope without the `hidden` headers."""
    headers = [(name, value) for name, value in scope["headers"] if name not in hidden]
    return {**scope, "headers": headers}


class WithoutCredentials:
    """A request without the `hidden` headers in its scope; the scope is copied on first use."""

    __slots__ = ("_hidden", "_request", "_scope", "headers")

    def __init__(self, request: RequestView, hidden: Collection[bytes]) -> None:
        self._request = request
        self._hidden = hidden
        self._scope: Scope | None = None
        self.headers: dict[bytes, bytes] = request.headers

    @property
    def scope(self) -> Scope:
        """The value of `ctx.scope`."""
        if self._scope is None:
            self._scope = without_credentials(self._request.scope, self._hidden)
        return self._scope

    @property
    def receive(self) -> Receive:
        """The ASGI receive callable."""
        return self._request.receive

    @property
    def transmit(self) -> Transmit:
        """The ASGI send callable."""
        return self._request.transmit

    def watch(self, gone: Callable[[], None]) -> Watch:
        """Call `gone` when the client disconnects, until the watch is cancelled."""
        return self._request.watch(gone)
