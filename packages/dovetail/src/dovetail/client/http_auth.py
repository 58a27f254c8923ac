"""Authentication of HTTP requests: the interface, and a pool that uses it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.errors import AccessDeniedError
from dovetail.net.addresses import Endpoint
from dovetail.net.http_connection import ClientResponse, Headers
from dovetail.net.http_pool import HttpPool

__all__ = ["Auth", "AuthorizedPool", "Authorizer", "Denial"]

# A new token, a wider token, and a nonce may each take one more attempt.
_MAX_ATTEMPTS = 5
# A 401 to DELETE, which ends a session, does not start a login.
_NO_LOGIN_METHOD = "DELETE"


@dataclass(slots=True)
class Denial:
    """A response with status 401 or 403 to one request."""

    status: int
    response: ClientResponse
    # The headers that the authorizer had added to the request.
    sent: Headers
    # What was tried for this request so far; the authorizer adds to it.
    tried: set[str] = field(default_factory=set)


class Authorizer(Protocol):
    """Authenticates the requests to one server."""

    async def headers(self, method: str, url: str) -> list[tuple[str, str]]:
        """The headers to add to a request; raises AccessDeniedError."""

    async def answer(self, denial: Denial) -> bool:
        """Handle a denied request; True if it is worth sending again.

        Raises AccessDeniedError if access cannot be obtained.
        """

    def secrets(self) -> Sequence[str]:
        """Words that must not appear in messages."""

    async def close(self) -> None:
        """Release connections."""


class Auth(Protocol):
    """What `Client(url, auth=...)` takes."""

    def authorize(self, endpoint: Endpoint) -> Authorizer:
        """The authorizer for one server; raises UsageError if the URL is not safe for it."""


class AuthorizedPool(HttpPool):
    """Connections to one origin, whose requests are authenticated."""

    def __init__(self, endpoint: Endpoint, auth: Auth) -> None:
        super().__init__(endpoint)
        self._authorizer = auth.authorize(endpoint)

    @contextlib.asynccontextmanager
    async def exchange(
        self, method: str, headers: Headers, body: bytes = b"", at: Endpoint | None = None
    ) -> AsyncIterator[ClientResponse]:
        """Send a request; sends it again after the authorizer has answered a denial."""
        tried: set[str] = set()
        for _ in range(_MAX_ATTEMPTS):
            target = at or self.endpoint
            own = await self._authorizer.headers(method, str(target))
            async with super().exchange(method, [*headers, *own], body, at) as response:
                response.secrets = self._authorizer.secrets()
                if response.status not in (401, 403) or method == _NO_LOGIN_METHOD:
                    yield response
                    return
                denial = Denial(response.status, response, own, tried)
                if not await self._authorizer.answer(denial):
                    yield response
                    return
        raise AccessDeniedError(
            f"{self.endpoint} denies access again and again; this request is not sent any more"
        )

    async def close(self) -> None:
        """Close every connection, also those to the authorization server."""
        await super().close()
        await self._authorizer.close()
