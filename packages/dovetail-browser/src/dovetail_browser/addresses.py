"""Rules for what the browser may connect to: public http and https addresses, and --allow.

No network access here: the caller resolves a name, then `check_address` checks the result.
Checks return None if the address is allowed, or the reason as text.

--allow accepts
    HOST, HOST:PORT     that name, whatever it resolves to
    *.SUFFIX            every name below it, whatever it resolves to
    ADDRESS, NETWORK    that address written literally in a URL, with :PORT on one port only
An allowed network does not allow names that resolve into it. Otherwise a foreign name could be
rebound to an allowed address (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from dovetail import UsageError
from dovetail_browser.address_kinds import Address, Network, kind_of
from dovetail_browser.host_parser import canonical_host

__all__ = ["AddressRules", "Destination"]

_SCHEMES = {"http": 80, "https": 443}

# Names that by convention refer to this machine or the local network.
_LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "intranet", "lan")


@dataclass(frozen=True, slots=True)
class Destination:
    """Host and port of a URL."""

    host: str
    port: int
    # Set if the host is an IP address in any notation.
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class _AllowRule:
    """One --allow value: exactly one of name, suffix and network is set."""

    name: str = ""
    suffix: str = ""
    network: Network | None = None
    port: int | None = None

    def fits(self, host: str, port: int, address: Address | None) -> bool:
        if self.port not in (None, port):
            return False
        if self.network is not None:
            return address is not None and address in self.network
        if address is not None:
            return False
        return host == self.name if self.name else host.endswith(self.suffix)


class AddressRules:
    """Decides which addresses the browser may connect to."""

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._openings = tuple(map(_parse_allow, allow))

    def parse_url(self, url: str) -> Destination | str:
        """Return the destination of a URL, or the reason why it is refused before resolving."""
        cleaned = url.strip()
        scheme, sign, _ = cleaned.partition(":")
        if not sign or scheme.lower() not in _SCHEMES:
            return f"{_show(url)} is not an http or https URL"
        if any(ord(letter) <= 32 for letter in cleaned) or "\\" in cleaned:
            return f"{_show(url)} contains white space, control characters or backslashes"
        try:
            parts = urlsplit(cleaned)
            port = parts.port if parts.port is not None else _SCHEMES[scheme.lower()]
            host = parts.hostname
        except ValueError as error:
            return f"{_show(url)} cannot be parsed: {error}"
        if "@" in parts.netloc:
            return "the URL contains a user name or password, which is not allowed"
        if not host:
            return f"{_show(url)} has no host"
        return self.parse_destination(host, port)

    def parse_destination(self, host: str, port: int) -> Destination | str:
        """Return the destination for a host and port, or the reason why it is refused."""
        if not 0 < port < 65536:
            return f"{port} is not a valid port"
        named = canonical_host(host)
        if isinstance(named, str) and not named:
            return f"{_show(host)} is not a valid host name"
        address = named if not isinstance(named, str) else None
        destination = Destination(str(named), port, address)
        if self.is_open(destination):
            return destination
        if address is not None:
            kind = kind_of(address)
            return destination if kind is None else _refuse(destination, f"is {kind}")
        for local in _LOCAL_NAMES:
            if destination.host == local or destination.host.endswith(f".{local}"):
                return _refuse(destination, "is a name of this machine or its network")
        return destination

    def check_address(self, destination: Destination, resolved: str) -> str | None:
        """Return why the resolved address is refused, or None if it is allowed."""
        if self.is_open(destination):
            return None
        try:
            address = ip_address(resolved)
        except ValueError:
            return _refuse(
                destination, f"resolves to {_show(resolved)}, which is not an IP address"
            )
        kind = kind_of(address)
        if kind is None:
            return None
        return _refuse(
            destination,
            f"resolves to {address}, {kind}" if not destination.address else f"is {kind}",
        )

    def is_open(self, destination: Destination) -> bool:
        """Whether the operator allows this destination."""
        return any(
            one.fits(destination.host, destination.port, destination.address)
            for one in self._openings
        )


def _parse_allow(text: str) -> _AllowRule:
    wrong = UsageError(
        f"--allow {text!r} is not a HOST, HOST:PORT, *.SUFFIX, IP address or network "
        "such as 10.0.0.0/8"
    )
    given = text.strip().lower()
    if "/" in given:
        try:
            return _AllowRule(network=ip_network(given))
        except ValueError as error:
            raise UsageError(f"--allow {text!r} is not a valid network: {error}") from None
    host, port = _split_port(given, wrong)
    if host.startswith("*."):
        suffix = canonical_host(host[2:])
        if not isinstance(suffix, str) or not suffix:
            raise wrong
        return _AllowRule(suffix=f".{suffix}", port=port)
    named = canonical_host(host)
    if not isinstance(named, str):
        return _AllowRule(network=ip_network(str(named)), port=port)
    if not named:
        raise wrong
    return _AllowRule(name=named, port=port)


def _split_port(text: str, wrong: UsageError) -> tuple[str, int | None]:
    if text.count(":") > 1 and not text.startswith("["):
        return text, None
    host, sign, port = text.rpartition(":")
    if not sign or text.endswith("]"):
        return text, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise wrong
    return host, int(port)


def _refuse(destination: Destination, why: str) -> str:
    return (
        f"{destination.host} {why}; the operator can allow it by starting the server with "
        f"--allow {destination.host}"
    )


def _show(text: str) -> str:
    """Return a shortened text for error messages, without a password."""
    named = re.sub(r"(?<=//)[^/]*@", "…@", text)
    return repr(named if len(named) <= 100 else f"{named[:99]}…")
