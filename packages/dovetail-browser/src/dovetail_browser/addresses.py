"""What the browser may reach: http and https, public addresses, and what the operator opens.

Pure rules without network: a name is resolved by whoever asks, and `check_address` judges what
came out. An answer is None where nothing speaks against it, and otherwise the reason in words.

The operator's word opens
    HOST, HOST:PORT     that name, whatever it resolves to
    *.SUFFIX            every name below it, likewise
    ADDRESS, NETWORK    that address written out in a URL, with :PORT on one port only
A network does not open names that resolve into it: then a stranger's name that resolves to an
opened address would be of one origin with it, which is what rebinding is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from dovetail import UsageError
from dovetail_browser.address_kinds import Address, Network, kind_of
from dovetail_browser.host_spelling import canonical_host

__all__ = ["AddressRules", "Place"]

_SCHEMES = {"http": 80, "https": 443}

# Names that stand for this machine or its neighbourhood by convention.
_LOCAL_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa", "intranet", "lan")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a URL leads: a name or an address, and a port."""

    host: str
    port: int
    # Set where the host is an address, however it was spelled.
    address: Address | None = None


@dataclass(frozen=True, slots=True)
class _Opening:
    """One --allow: exactly one of name, suffix and network is set."""

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
    """Which addresses the browser may reach."""

    def __init__(self, allow: Sequence[str] = ()) -> None:
        self._openings = tuple(map(_read_opening, allow))

    def read_url(self, url: str) -> Place | str:
        """Where a URL leads; the reason in words if it cannot be opened whatever it resolves to."""
        cleaned = url.strip()
        scheme, sign, _ = cleaned.partition(":")
        if not sign or scheme.lower() not in _SCHEMES:
            return f"{_show(url)} is no http or https address"
        if any(ord(letter) <= 32 for letter in cleaned) or "\\" in cleaned:
            return f"{_show(url)} has white space, control characters or backslashes in it"
        try:
            parts = urlsplit(cleaned)
            port = parts.port if parts.port is not None else _SCHEMES[scheme.lower()]
            host = parts.hostname
        except ValueError as error:
            return f"{_show(url)} cannot be read: {error}"
        if "@" in parts.netloc:
            return "the address carries a user name or password, which is refused"
        if not host:
            return f"{_show(url)} names no host"
        return self.read_place(host, port)

    def read_place(self, host: str, port: int) -> Place | str:
        """A host and port as one place; the reason in words if it may not be reached at all."""
        if not 0 < port < 65536:
            return f"{port} is no port"
        named = canonical_host(host)
        if isinstance(named, str) and not named:
            return f"{_show(host)} is no host name"
        address = named if not isinstance(named, str) else None
        place = Place(str(named), port, address)
        if self.is_open(place):
            return place
        if address is not None:
            kind = kind_of(address)
            return place if kind is None else _refuse(place, f"is {kind}")
        for local in _LOCAL_NAMES:
            if place.host == local or place.host.endswith(f".{local}"):
                return _refuse(place, "is a name of this machine or its network")
        return place

    def check_address(self, place: Place, resolved: str) -> str | None:
        """Why the address that a name resolved to may not be connected to."""
        if self.is_open(place):
            return None
        try:
            address = ip_address(resolved)
        except ValueError:
            return _refuse(place, f"resolves to {_show(resolved)}, which is no address")
        kind = kind_of(address)
        if kind is None:
            return None
        return _refuse(
            place, f"resolves to {address}, {kind}" if not place.address else f"is {kind}"
        )

    def is_open(self, place: Place) -> bool:
        """Whether the operator has opened it."""
        return any(one.fits(place.host, place.port, place.address) for one in self._openings)


def _read_opening(text: str) -> _Opening:
    wrong = UsageError(
        f"--allow {text!r} is none of HOST, HOST:PORT, *.SUFFIX, an address or a network "
        "such as 10.0.0.0/8"
    )
    given = text.strip().lower()
    if "/" in given:
        try:
            return _Opening(network=ip_network(given))
        except ValueError as error:
            raise UsageError(f"--allow {text!r} is no network: {error}") from None
    host, port = _split_port(given, wrong)
    if host.startswith("*."):
        suffix = canonical_host(host[2:])
        if not isinstance(suffix, str) or not suffix:
            raise wrong
        return _Opening(suffix=f".{suffix}", port=port)
    named = canonical_host(host)
    if not isinstance(named, str):
        return _Opening(network=ip_network(str(named)), port=port)
    if not named:
        raise wrong
    return _Opening(name=named, port=port)


def _split_port(text: str, wrong: UsageError) -> tuple[str, int | None]:
    if text.count(":") > 1 and not text.startswith("["):
        return text, None
    host, sign, port = text.rpartition(":")
    if not sign or text.endswith("]"):
        return text, None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise wrong
    return host, int(port)


def _refuse(place: Place, why: str) -> str:
    return (
        f"{place.host} {why}; the operator can open it by starting the server with "
        f"--allow {place.host}"
    )


def _show(text: str) -> str:
    """Enough of what was given to know it again, without a password that may be in it."""
    named = re.sub(r"(?<=//)[^/]*@", "…@", text)
    return repr(named if len(named) <= 100 else f"{named[:99]}…")
