"""URLs of servers and of what they refer to, and from where their addresses can be reached."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, replace
from enum import IntEnum
from urllib.parse import SplitResult, urljoin, urlsplit

from dovetail.errors import UnreachableError, UsageError

__all__ = ["AddressScope", "Endpoint", "is_loopback", "parse_url", "resolve_addresses"]


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


class AddressScope(IntEnum):
    """From where an address can be reached; a greater value is less public."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2
    # Link-local addresses (cloud metadata services), multicast and the like.
    SPECIAL = 3

    @classmethod
    def of(cls, address: str) -> AddressScope:
        """The scope of an IP address."""
        ip = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(ip, ipaddress.IPv6Address):
            inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
            # An IPv6 address that embeds an IPv4 address leads where that leads.
            if inner is not None:
                return cls.of(str(inner))
        if ip.is_loopback:
            return cls.LOOPBACK
        if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved:
            return cls.SPECIAL
        return cls.PUBLIC if ip.is_global else cls.PRIVATE


def is_loopback(host: str) -> bool:
    """Whether a name or an address, in any notation, is always that of this machine."""
    try:
        found = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host.lower() in ("localhost", "localhost.")
    # A dual-stack socket reports IPv4 addresses as ::ffff:127.0.0.1.
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


async def resolve_addresses(endpoint: Endpoint) -> list[str]:
    """The addresses of the host of an endpoint; raises UnreachableError."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        text = f"The host of {endpoint.origin} cannot be found: {error.strerror}"
        raise UnreachableError(text) from None
    return [str(address[0]) for *_, address in found]
