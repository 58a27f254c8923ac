"""Parses the host of a URL as browsers do. No I/O."""

from __future__ import annotations

import re
import unicodedata
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote

from dovetail_browser.address_kinds import Address

__all__ = ["canonical_host"]

_NUMBER = re.compile(r"0[xX][0-9a-fA-F]*|[0-9]+")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
# Code points that IDNA treats as a full stop.
_DOTS = re.compile("[\u3002\uff0e\uff61]")
_LONGEST_NAME = 253


def canonical_host(text: str) -> str | Address:
    """Return the name or IP address that a browser parses from this host; "" if it is invalid.

    Follows the URL standard: percent-decoding, Unicode normalization, and a host whose last label
    is a number is an IPv4 address, also in octal, hexadecimal or shortened notation.
    """
    host = text.strip("[]") if text.startswith("[") else text
    if ":" in host:
        return _read_ipv6(host)
    host = _DOTS.sub(".", unicodedata.normalize("NFKC", unquote(host)))
    host = host.removesuffix(".")
    if not host or host.endswith(".") or not host.strip("."):
        return ""
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _read_ipv4(host)
    try:
        name = ".".join(_encode_label(label) for label in host.split("."))
    except UnicodeError:
        return ""
    # Normalization may have produced a number.
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _read_ipv4(name)
    if len(name) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        return ""
    return name


def _encode_label(label: str) -> str:
    if not label:
        raise UnicodeError("empty label")
    return label.encode("idna").decode("ascii").lower()


def _read_ipv6(text: str) -> str | Address:
    # A zone id names a network interface; browsers reject it as well.
    if "%" in text:
        return ""
    try:
        return IPv6Address(text)
    except ValueError:
        return ""


def _read_ipv4(text: str) -> str | Address:
    """Parse one to four decimal, octal or hexadecimal parts; the last fills the rest."""
    parts = text.split(".")
    if len(parts) > 4 or not all(_NUMBER.fullmatch(part) for part in parts):
        return ""
    try:
        *leading, last = (_read_number(part) for part in parts)
    except ValueError:
        return ""
    if any(part > 255 for part in leading) or last >= 256 ** (4 - len(leading)):
        return ""
    value = last
    for index, part in enumerate(leading):
        value += part << (8 * (3 - index))
    return IPv4Address(value)


def _read_number(text: str) -> int:
    if text[:2] in ("0x", "0X"):
        return int(text[2:] or "0", 16)
    if len(text) > 1 and text.startswith("0"):
        return int(text, 8)
    return int(text)
