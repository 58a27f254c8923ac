"""Which URLs an OAuth client may use.

A server names the URLs of its authorization server, and that server names more. A hostile server
could name an address inside the user's network (server-side request forgery) or plain HTTP, so each
URL is checked before it is used: https unless it is on this machine, and no address that is less
public than that of the MCP server itself.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from enum import IntEnum
from urllib.parse import urlsplit

from dovetail.client.auth.failures import AuthorizationError
from dovetail.client.http_endpoint import Endpoint, parse_url
from dovetail.errors import UsageError

__all__ = ["AddressScope", "UrlPolicy", "is_loopback_host", "same_url", "within"]

_LOCALHOST = ("localhost", "localhost.")
_PORTS = {"http": 80, "https": 443}


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


def is_loopback_host(host: str) -> bool:
    """Whether a host name or literal address always means this machine."""
    try:
        return host.lower() in _LOCALHOST or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class UrlPolicy:
    """Checks the URLs that lead from one MCP server to its authorization."""

    def __init__(self, server: Endpoint) -> None:
        if not server.is_secure and not is_loopback_host(server.host):
            # A token that travels unencrypted is a token for everybody on the way.
            raise UsageError(
                f"OAuth needs an https URL (http only for localhost), got {server.origin}"
            )
        self._server = server
        self._server_scope: AddressScope | None = None
        # Origins that need no check of their address: the server itself, and what the user named.
        self._trusted = {server.origin}

    def trust(self, url: str, what: str) -> None:
        """Allow any address for a URL that the user named; raises AuthorizationError."""
        self._trusted.add(self.check(url, what).origin)

    def check(self, url: object, what: str) -> Endpoint:
        """The endpoint of a URL that somebody else named; raises AuthorizationError."""
        if not isinstance(url, str):
            raise AuthorizationError(f"{what} is not a URL; report this to the server's operator")
        try:
            endpoint = parse_url(url)
        except UsageError as error:
            raise AuthorizationError(f"{what} cannot be used: {error}") from None
        if "#" in url:
            raise AuthorizationError(f"{what} has a fragment: {endpoint}")
        # auth.https (2025-11-25 basic/authorization): every authorization endpoint uses https.
        if not endpoint.is_secure and not is_loopback_host(endpoint.host):
            raise AuthorizationError(
                f"{what} is {endpoint}, which is not encrypted; it must be an https URL "
                "(http only for localhost)"
            )
        return endpoint

    async def find_address(self, endpoint: Endpoint) -> str:
        """An address of the endpoint to connect to; raises AuthorizationError.

        The check and the connection use the same address, so that a name that changes its
        address in between (DNS rebinding) gains nothing.
        """
        addresses = await _resolve(endpoint)
        if endpoint.origin in self._trusted:
            return addresses[0]
        if self._server_scope is None:
            own = await _resolve(self._server)
            self._server_scope = max(map(AddressScope.of, own))
        for address in addresses:
            if AddressScope.of(address) <= min(self._server_scope, AddressScope.LOOPBACK):
                return address
        raise AuthorizationError(
            f"{endpoint.origin} is on a private network ({addresses[0]}), and {self._server} "
            "is not; it was refused, because a server could reach into your network this way"
        )


async def _resolve(endpoint: Endpoint) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM
        )
    except OSError as error:
        text = f"The host of {endpoint.origin} cannot be found: {error.strerror}"
        raise AuthorizationError(text) from None
    return [str(address[0]) for *_, address in found]


def _normalize(url: str) -> tuple[str, str | None, int | None, str]:
    parts = urlsplit(url)
    path = parts.path if parts.path != "/" else ""
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port, path + (f"?{parts.query}" if parts.query else "")


def same_url(one: str, other: str) -> bool:
    """Whether two URLs are equal apart from case of the host, default port and an empty path."""
    try:
        return _normalize(one) == _normalize(other)
    except ValueError:
        return False


def within(url: str, parents: Iterable[str]) -> bool:
    """Whether a URL is one of these URLs or below one of them."""
    scheme, host, port, path = _normalize(url)
    for parent in parents:
        try:
            other_scheme, other_host, other_port, other_path = _normalize(parent)
        except ValueError:
            continue
        if (scheme, host, port) != (other_scheme, other_host, other_port):
            continue
        if path == other_path or path.startswith(other_path.rstrip("/") + "/"):
            return True
    return False
