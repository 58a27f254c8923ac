"""JSON from an authorization server: small, soon, over TLS, and from nowhere else."""

from __future__ import annotations

import asyncio
import http.client
import ipaddress
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from dovetail.errors import TransportError, UsageError

__all__ = ["check_url", "fetch_json", "is_loopback"]

_MOST_BYTES = 1 << 20
_TIMEOUT = 5.0


def check_url(url: str, what: str) -> str:
    """The URL without a slash at its end; raises UsageError for one that is not safe to use."""
    parts = urlsplit(url)
    # auth.https (2025-11-25 basic/authorization): plain HTTP does not leave this machine
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
    if not is_safe or not parts.hostname or parts.fragment or parts.username is not None:
        raise UsageError(
            f"{what} must be an https URL without user and fragment (http on this machine only), "
            f"got {url!r}"
        )
    return url.rstrip("/")


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


async def fetch_json(
    url: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """What GET, or POST of a form, gives; raises TransportError."""
    return await asyncio.to_thread(_fetch, url, form, headers or {})


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # Where it would lead nobody has configured.
    def redirect_request(self, *_: Any) -> None:
        return None


_ELSEWHERE = urllib.request.build_opener(_NoRedirects)
_HERE = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def _fetch(url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]) -> dict[str, Any]:
    data = None if form is None else urlencode(form).encode()
    sent = {"Accept": "application/json", "User-Agent": "dovetail", **headers}
    request = urllib.request.Request(url, data, sent)
    opener = _HERE if is_loopback(urlsplit(url).hostname) else _ELSEWHERE
    try:
        with opener.open(request, timeout=_TIMEOUT) as response:
            body = response.read(_MOST_BYTES + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        # The form may hold a secret and is not named; the URL is the operator's.
        raise TransportError(f"{url} cannot be read: {_why(error)}") from None
    if len(body) > _MOST_BYTES:
        raise TransportError(f"{url} is longer than {_MOST_BYTES:,} bytes")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise TransportError(f"{url} is no JSON object: {error}") from None


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"status {error.code}"
    return str(getattr(error, "reason", error))
