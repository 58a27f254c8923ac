"""Tables of IP addresses that are not public."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

__all__ = ["Address", "Network", "kind_of"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# Cloud metadata services, which return credentials to any process on the machine.
_METADATA = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # most clouds
            "169.254.170.2",  # Amazon ECS
            "169.254.170.23",
            "168.63.129.16",  # Azure: a public address that routes to the host
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "fd00:ec2::254",  # Amazon
            "fd00:ec2::23",
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
        ),
    )
)

# Networks that are not public, from the special-purpose address registries (RFC 6890 and its
# successors). The first match wins.
_SPECIAL: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), kind)
    for network, kind in (
        ("0.0.0.0/32", "the unspecified address"),
        ("0.0.0.0/8", "an address of this network"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier-grade NAT (CGNAT) address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.88.99.0/24", "a reserved address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "a benchmarking address"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "the broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "the unspecified address"),
        ("::1/128", "a loopback address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a site-local address"),
        ("fc00::/7", "a private address"),
        ("ff00::/8", "a multicast address"),
        ("2001:db8::/32", "a documentation address"),
        ("3fff::/20", "a documentation address"),
        # 2001::/23 is reserved for protocols; Teredo, inside it, is checked by embedded address.
        ("2001::/23", "a reserved address"),
    )
)

# The only IPv6 network with public addresses.
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_TEREDO = IPv6Network("2001::/32")

# IPv6 networks whose addresses represent IPv4 addresses: mapped, and NAT64.
_TRANSLATED = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))

# IPv6 networks that embed an IPv4 address, and the number of bits after it.
_CARRIERS: tuple[tuple[IPv6Network, int], ...] = (
    *((network, 0) for network in _TRANSLATED),
    (IPv6Network("::ffff:0:0:0/96"), 0),  # SIIT
    (IPv6Network("::/96"), 0),  # compatible
    (IPv6Network("2002::/16"), 80),  # 6to4
)


def kind_of(address: Address) -> str | None:
    """Return why an address is not public, or None if it is public."""
    if address in _METADATA:
        return "an address of a cloud's metadata service"
    if isinstance(address, IPv6Address):
        if address.scope_id:
            return "an address with a zone"
        for carried in _embedded_ipv4(address):
            if (kind := kind_of(carried)) is not None:
                return f"a form of {carried}, {kind}"
        if any(address in network for network in _TRANSLATED):
            return None
    for network, kind in _SPECIAL:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    return None


def _embedded_ipv4(address: IPv6Address) -> Iterator[IPv4Address]:
    """Yield the IPv4 addresses embedded in an IPv6 address."""
    value = int(address)
    # :: and ::1 are not IPv4-compatible forms of 0.0.0.0 and 0.0.0.1.
    if value <= 1:
        return
    for network, behind in _CARRIERS:
        if address in network:
            yield IPv4Address(value >> behind & 0xFFFFFFFF)
    if address in _TEREDO:
        yield IPv4Address(value >> 64 & 0xFFFFFFFF)
        yield IPv4Address(~value & 0xFFFFFFFF)
    # ISATAP: any prefix, a marked interface id.
    if value >> 32 & 0xFCFFFFFF == 0x00005EFE:
        yield IPv4Address(value & 0xFFFFFFFF)
