"""HTTP error responses, and the exceptions they become.

Error messages quote the body and headers of the response, because they explain the problem best.
Values of the user's own headers are masked, because some servers repeat the token they reject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from dovetail.errors import (
    AccessDeniedError,
    HeaderMismatchError,
    MethodNotFoundError,
    MissingCapabilityError,
    PeerError,
    TransportError,
    UnsupportedVersionError,
)
from dovetail.net.http_connection import ClientResponse, Headers
from dovetail.wire import codec
from dovetail.wire.messages import Response

__all__ = ["HttpFailure", "find_secrets"]

# Longer error bodies are not read.
_MAX_BODY = 64 * 1024
# Characters of a body that are quoted in an error message.
_SHOWN = 300
# Shorter words are not secrets; masking `Bearer` or `1` would make messages unreadable.
_SHORTEST_SECRET = 8

_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)

# How HTTP+SSE servers reject a POST to the URL of their stream.
_SSE_STATUSES = (400, 404, 405)
# JSON-RPC errors that modern servers send with the same statuses.
_MODERN_CODES = (
    HeaderMismatchError.code,
    MissingCapabilityError.code,
    UnsupportedVersionError.code,
    MethodNotFoundError.code,
)


class _Code(Struct):
    code: int


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """A response with an error status."""

    where: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...] = ()

    @classmethod
    async def read(cls, response: ClientResponse, secrets: tuple[str, ...]) -> HttpFailure:
        """Read the body of an error response."""
        where, reason = str(response.endpoint), response.reason
        body = await response.read(_MAX_BODY)
        # A compressed body is ignored; the request did not allow it.
        body = b"" if response.coding else body
        hidden = (*secrets, *response.secrets)
        return cls(where, response.status, reason, response.headers, body, hidden)

    @property
    def is_denial(self) -> bool:
        """Whether the server denied access (401 or 403)."""
        return self.status in (401, 403)

    @property
    def may_be_http_sse(self) -> bool:
        """Whether the server may support HTTP+SSE only."""
        # http.compat.old-sse (2026-07-28 basic/transports/streamable-http): three statuses,
        # unless the body has an error code that only newer servers send.
        return self.status in _SSE_STATUSES and self._read_code() not in _MODERN_CODES

    def _read_code(self) -> int | None:
        incoming = codec.decode(self.body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return None
        try:
            return codec.decode_as(_Code, incoming.error).code
        except msgspec.ValidationError:
            return None

    def to_error(self, what: str, hint: str = "") -> TransportError | PeerError:
        """The exception to raise for the message `what`."""
        if self.is_denial:
            challenge = self.headers.get("www-authenticate")
            quoted = f"; WWW-Authenticate: {self._hide(challenge)}" if challenge else ""
            return AccessDeniedError(
                f"{self.where} denies access: {self.reason}{quoted}{self._excerpt()}"
            )
        text = f"{self.where} answered {what} with {self.reason}"
        location = self.headers.get("location")
        if location is not None and 300 <= self.status < 400:
            # Without the query, which is often copied from the user's URL and may contain a key.
            place = self._hide(location.partition("?")[0])
            return PeerError(f"{text}; it has moved: use {place}")
        text += self._excerpt() + hint
        return TransportError(text) if self.status >= 500 else PeerError(text)

    def _excerpt(self) -> str:
        text = self.body.decode(errors="replace")
        if self.headers.get("content-type", "").lower().startswith("text/html"):
            text = _MARKUP.sub(" ", text)
        text = " ".join(self._hide(text).split())
        if not text:
            return ""
        return f": {text[:_SHOWN]}{'...' if len(text) > _SHOWN else ''}"

    def _hide(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def find_secrets(own_headers: Headers) -> tuple[str, ...]:
    """The words in the user's headers that messages must not show, longest first."""
    words: Iterable[str] = {word for _, value in own_headers for word in value.split()}
    return tuple(sorted((w for w in words if len(w) >= _SHORTEST_SECRET), key=len, reverse=True))
