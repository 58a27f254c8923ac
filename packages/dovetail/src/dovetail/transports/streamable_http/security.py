"""Validation of the Host and Origin headers, which protects against DNS rebinding.

A web page can make a browser send requests to a server on the user's own machine, but it cannot
forge the Host and Origin headers. A server that listens on a loopback address therefore accepts
loopback hosts and loopback origins only. Other servers should set `allowed_hosts`; without it,
an Origin, if present, must match the Host of the request.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from dovetail.net.addresses import is_loopback

__all__ = ["LOOPBACK", "RequestGuard"]

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
# A name or an address (IPv6 in brackets) with an optional port.
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^\[\]:/@]+)(?::[0-9]*)?")


class RequestGuard:
    """Validates the Host and Origin headers."""

    def __init__(
        self,
        allowed_hosts: Collection[str] | None = None,
        allowed_origins: Collection[str] = (),
    ) -> None:
        """`allowed_hosts=None` allows loopback names on a loopback address, else any host."""
        self._hosts = None if allowed_hosts is None else {host.lower() for host in allowed_hosts}
        self._origins = {origin.lower().rstrip("/") for origin in allowed_origins}
        self._any_origin = "*" in self._origins

    def refusal(
        self, host: bytes, origin: bytes, server: tuple[str, int | None] | None
    ) -> str | None:
        """Why a request to the address `server` is rejected, or None if it is allowed."""
        address = server[0] if server else ""
        return self._check(
            host.decode("latin-1").lower(), origin.decode("latin-1").lower(), address
        )

    def _check(self, host: str, origin: str, address: str) -> str | None:
        name = _without_port(host)
        allowed = self._hosts
        if allowed is None:
            # The address itself is safe: DNS rebinding needs a name.
            allowed = {*LOOPBACK, address} if is_loopback(address) else {"*"}
        if not {"*", name, host} & allowed:
            return (
                f"Host {host!r} is not allowed; allowed: {', '.join(sorted(allowed))} "
                "(see allowed_hosts)"
            )
        if not origin or self._any_origin or origin in self._origins:
            return None
        # http.origin.validate, http.origin.403 (2025-11-25 basic/transports)
        try:
            origin_host = urlsplit(origin).netloc
        except ValueError:
            return f"Origin {origin!r} is not a valid URL"
        # An origin without a host ("null") does not match a request without a Host header.
        if origin_host and origin_host == host:
            return None
        if {_without_port(origin_host), name} <= set(LOOPBACK):
            return None
        return f"Origin {origin!r} is not allowed (see allowed_origins)"

    def allows_cors(self, origin: bytes) -> bool:
        """Whether `allowed_origins` contains this origin."""
        return self._any_origin or origin.decode("latin-1").lower() in self._origins


def _without_port(host: str) -> str:
    """The name in a Host header; an invalid header is returned unchanged and matches nothing."""
    match = _HOST.fullmatch(host)
    return match["name"] if match is not None else host
