"""Host and Origin of HTTP requests: the defence against DNS rebinding.

A page on the web can make a browser talk to a server on the user's own machine. It cannot
forge the Host the browser sends, nor the Origin. So a server that is bound to the loopback
interface takes requests for loopback names only, and from pages of loopback origins only. A
server behind a name of its own is told that name; without being told it checks that an Origin,
where there is one, belongs to the Host that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

__all__ = ["LOOPBACK", "RequestGuard"]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# A name or an address, an IPv6 one in brackets, and perhaps a port.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:/@]+)(?::[0-9]*)?")


class RequestGuard:
    """Decides which requests may come in at all."""

    def __init__(
        self,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] = (),
    ) -> None:
        """None for `allowed_hosts` means: loopback names for a loopback address, else any."""
        self._hosts = None if allowed_hosts is None else {host.lower() for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}
        self._any_origin = "*" in self._origins

    def refusal(
        self, host: bytes, origin: bytes, server: tuple[str, int | None] | None
    ) -> str | None:
        """Why a request to the address `server` is refused, or None if it may come in."""
        address = server[0] if server else ""
        return self._judge(
            host.decode("latin-1").lower(), origin.decode("latin-1").lower(), address
        )

    def _judge(self, host: str, origin: str, address: str) -> str | None:
        name = _without_port(host)
        allowed = self._hosts
        if allowed is None:
            # An address is as good as a name of it: only names can be bound to another address.
            allowed = {*LOOPBACK, address} if _is_loopback(address) else {"*"}
        if not {"*", name, host} & allowed:
            return (
                f"Host {host!r} is not served here; allowed: {', '.join(sorted(allowed))} "
                "(see allowed_hosts)"
            )
        if not origin or self._any_origin or origin in self._origins:
            return None
        # http.origin.validate, http.origin.403 (2025-11-25 basic/transports)
        try:
            origin_host = urlsplit(origin).netloc
        except ValueError:
            return f"Origin {origin!r} cannot be read"
        # An origin without a host ("null") belongs to nobody, not to a request without one.
        if origin_host and origin_host == host:
            return None
        if {_without_port(origin_host), name} <= set(LOOPBACK):
            return None
        return f"Origin {origin!r} is not allowed here (see allowed_origins)"

    def allows_cors(self, origin: bytes) -> bool:
        """Whether a page of this origin was named as welcome."""
        return self._any_origin or origin.decode("latin-1").lower() in self._origins


def _without_port(host: str) -> str:
    """The name in a Host header; one that cannot be read stays what it is, and is nobody's."""
    match = _HOST.fullmatch(host)
    return match["name"] if match is not None else host


def _is_loopback(address: str) -> bool:
    """Whether only this machine reaches a server at this address, in any way to write it."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address == "localhost"
    # A socket for both families shows IPv4 clients' side as ::ffff:127.0.0.1.
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback
