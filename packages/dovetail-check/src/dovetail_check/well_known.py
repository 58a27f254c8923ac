"""URLs of authorization metadata, and which of them the checker may fetch."""

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
    """The scheme, host and port of a URL, as written."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def resource_metadata_urls(url: str) -> list[str]:
    """The possible metadata URLs of a protected resource: with its path, then at the root."""
    origin, path = origin_of(url), urlsplit(url).path.rstrip("/")
    return list(dict.fromkeys((f"{origin}{_RESOURCE}{path}", f"{origin}{_RESOURCE}")))


def server_metadata_urls(issuer: str) -> list[str]:
    """The possible metadata URLs of an authorization server, in the order clients try them."""
    origin, path = origin_of(issuer), urlsplit(issuer).path.rstrip("/")
    tries = (f"{_SERVER}{path}", f"{_OPENID}{path}", f"{path}{_OPENID}")
    return list(dict.fromkeys(f"{origin}{path}" for path in tries))


def is_same_origin(one: str, other: str) -> bool:
    """Whether two URLs have the same scheme, host and port."""
    return _key(one) is not None and _key(one) == _key(other)


def may_fetch(url: str, audited: str) -> bool:
    """Whether a URL that the audited server named may be fetched.

    A server on another machine must not make the checker send requests to this machine or its
    network. Other hosts than the audited one require TLS, except on this machine.
    """
    if not all("!" <= letter <= "~" for letter in url) or _key(url) is None:
        return False
    if is_same_origin(url, audited):
        return True
    if urlsplit(url).scheme == "http":
        return is_loopback(url) and is_loopback(audited)
    return is_loopback(audited) or not _is_private(urlsplit(url).hostname or "")


def _key(url: str) -> tuple[str, str, int] | None:
    """Scheme, host and port with defaults; None if it is not an HTTP URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port or _PORTS[parts.scheme]


def _is_private(host: str) -> bool:
    """Whether a host is this machine or a private address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False
