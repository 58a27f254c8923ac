"""From where addresses can be reached."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from enum import IntEnum

from dovetail.errors import UnreachableError
from dovetail.net.http_endpoint import Endpoint

__all__ = ["AddressScope", "is_loopback", "resolve_addresses"]


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
