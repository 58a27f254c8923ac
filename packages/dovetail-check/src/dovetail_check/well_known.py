"""Where the documents about authorization are, and which of those places may be asked."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from dovetail_check.safety import is_loopback

__all__ = [
    "is_same_origin",
    "may_fetch",
    "origin_of",
    "resource_metadata_urls",
    "server_metadata_urls",
]

_PORTS = {"http": 80, "https": 443}
_RESOURCE = "/.well-known/oauth-protected-resource"
_SERVER = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


def origin_of(url: str) -> str:
    """Scheme, host and port as they stand in a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def resource_metadata_urls(url: str) -> list[str]:
    """Where the metadata of a protected resource may be: at its path, then at the root."""
    origin, path = origin_of(url), urlsplit(url).path.rstrip("/")
    return list(dict.fromkeys((f"{origin}{_RESOURCE}{path}", f"{origin}{_RESOURCE}")))


def server_metadata_urls(issuer: str) -> list[str]:
    """Where the metadata of an authorization server may be, in the order in which clients try."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    tries = (f"{_SERVER}{path}", f"{_OPENID}{path}", f"{path}{_OPENID}")
    return list(dict.fromkeys(f"{origin}{place}" for place in tries))


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs have scheme, host and port in common."""
    return _key(one) is not None and _key(one) == _key(other)


def may_fetch(url: str, audited: str) -> bool:
    """Whether a URL that the audited server named may be asked.

    A server elsewhere must not make the checker talk to this machine or to the network around it,
    and nothing but the audited server itself is asked without TLS, except on this machine.
    """
    if not all("!" <= letter <= "~" for letter in url) or _key(url) is None:
        return False
    if is_same_origin(url, audited):
        return True
    if urlsplit(url).scheme == "http":
        return is_loopback(url) and is_loopback(audited)
    return is_loopback(audited) or not _is_near(urlsplit(url).hostname or "")


def _key(url: str) -> tuple[str, str, int] | None:
    """What tells origins apart; None where it is no URL of HTTP."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def _is_near(host: str) -> bool:
    """Whether a host is this machine, or an address that only its network knows."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False
