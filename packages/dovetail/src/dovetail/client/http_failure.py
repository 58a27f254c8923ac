"""A response that does not do what was asked: what it means, and how to put it in words.

Bodies and headers of a server are quoted, because they explain most. What the user's own
headers hold is cut out of the quotes: some servers repeat a token that they refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from dovetail.client.channel import UnreachableError
from dovetail.client.http_connection import Headers, HttpResponse
from dovetail.errors import (
    HeaderMismatchError,
    MethodNotFoundError,
    MissingCapabilityError,
    PeerError,
    TransportError,
    UnsupportedVersionError,
)
from dovetail.wire import codec
from dovetail.wire.messages import Response

__all__ = ["HttpFailure", "find_secrets"]

# An explanation of a failure; longer ones explain nothing.
_MAX_BODY = 64 * 1024
# More cannot be read from a message on a terminal.
_SHOWN = 300
# Shorter words are no secrets, and cutting out `Bearer` or `1` would make quotes unreadable.
_SHORTEST_SECRET = 8

_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)

# How servers of the old transport refuse a POST to the URL of their stream.
_OLD_STATUSES = (400, 404, 405)
# What modern servers say with the same statuses.
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
    """A status that is no success, with what came along."""

    where: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    secrets: tuple[str, ...] = ()

    @classmethod
    async def read(cls, response: HttpResponse, secrets: tuple[str, ...]) -> HttpFailure:
        """Read the rest of it."""
        where, reason = str(response.endpoint), response.reason
        body = await response.read(_MAX_BODY)
        # Packed although the request said not to: the status has to do.
        body = b"" if response.coding else body
        return cls(where, response.status, reason, response.headers, body, secrets)

    @property
    def is_denial(self) -> bool:
        """Whether it is about who asks, and not about what."""
        return self.status in (401, 403)

    @property
    def may_be_old_sse(self) -> bool:
        """Whether a server that knows HTTP+SSE only may have said this."""
        # http.compat.old-sse (2026-07-28 basic/transports/streamable-http): three statuses,
        # unless the body holds an error that only newer servers send.
        return self.status in _OLD_STATUSES and self._read_code() not in _MODERN_CODES

    def _read_code(self) -> int | None:
        incoming = codec.decode(self.body)
        if not isinstance(incoming, Response) or incoming.error is None:
            return None
        try:
            return codec.decode_as(_Code, incoming.error).code
        except msgspec.ValidationError:
            return None

    def to_error(self, what: str, hint: str = "") -> TransportError | PeerError:
        """The exception that tells the user, who asked for `what`."""
        if self.is_denial:
            challenge = self.headers.get("www-authenticate")
            quoted = f"; WWW-Authenticate: {self._hide(challenge)}" if challenge else ""
            return UnreachableError(
                f"{self.where} refuses access: {self.reason}{quoted}{self._excerpt()}"
            )
        text = f"{self.where} answered {what} with {self.reason}"
        location = self.headers.get("location")
        if location is not None and 300 <= self.status < 400:
            # Without the query, which is likely the user's own, and may hold a key.
            place = self._hide(location.partition("?")[0])
            return PeerError(f"{text}; it has moved to {place}: use that URL")
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
    """The words in a user's headers that nobody else may read, the longest first."""
    words: Iterable[str] = {word for _, value in own_headers for word in value.split()}
    return tuple(sorted((w for w in words if len(w) >= _SHORTEST_SECRET), key=len, reverse=True))
