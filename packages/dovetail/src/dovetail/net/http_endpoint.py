"""The parsed URL of a server, and safe resolution of URLs that the server sends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urljoin, urlsplit

from dovetail.errors import UsageError

__all__ = ["Endpoint", "parse_url"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The URL that requests are sent to."""

    host: str
    port: int
    # The path with its query, as in the request line.
    resource: str
    # The value of the Host header.
    authority: str
    is_secure: bool

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"{'https' if self.is_secure else 'http'}://{self.authority}"

    def __str__(self) -> str:
        # Without the query: it may contain a key, and this text appears in error messages.
        return self.origin + self.resource.partition("?")[0]

    def resolve(self, reference: str) -> Endpoint | None:
        """Resolve a URL reference from the server; None for another origin or an invalid URL.

        Requests to the result carry the user's headers, which are meant for this origin only.
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
        raise UsageError(f"{url!r} is not a valid URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not an http:// or https:// URL with a host")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "A URL with a user name is not supported; pass headers={'Authorization': ...}"
        )
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{url!r} contains characters that must be percent-encoded")
    is_secure = parts.scheme == "https"
    default = 443 if is_secure else 80
    return Endpoint(parts.hostname, port or default, resource, _authority(parts), is_secure)


def _authority(parts: SplitResult) -> str:
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if parts.port is None else f"{host}:{parts.port}"
