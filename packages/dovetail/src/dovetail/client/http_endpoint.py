"""Where requests go: a URL taken apart, and what a server may refer to from there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urljoin, urlsplit

from dovetail.errors import UsageError

__all__ = ["Endpoint", "parse_url"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go."""

    host: str
    port: int
    # The path with its query, as it stands in the request line.
    resource: str
    # The value of the Host header.
    authority: str
    is_secure: bool

    @property
    def origin(self) -> str:
        """Scheme, host and port, as people read them."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}"

    def __str__(self) -> str:
        # Without the query: some people keep a key in it, and this ends up in messages.
        return self.origin + self.resource.partition("?")[0]

    def resolve(self, reference: str) -> Endpoint | None:
        """Where a reference of the server's leads; None if that is another origin, or no URL.

        Whoever follows it sends the user's headers there: they are meant for this origin alone.
        """
        try:
            found = parse_url(urljoin(self.origin + self.resource, reference))
        except (UsageError, ValueError):
            return None
        here = (self.is_secure, self.host, self.port)
        if (found.is_secure, found.host, found.port) != here:
            return None
        return replace(self, resource=found.resource)


def parse_url(url: str) -> Endpoint:
    """The endpoint of an http(s) URL; raises UsageError."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is no http:// or https:// URL with a host")
    if parts.username is not None or parts.password is not None:
        raise UsageError("A URL with a user name is not taken; give headers={'Authorization': ...}")
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url!r} holds characters that must be percent-encoded in a URL")
    is_secure = parts.scheme == "https"
    default = 443 if is_secure else 80
    return Endpoint(parts.hostname, port or default, resource, _authority(parts), is_secure)


def _authority(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"
