"""Fetches JSON from an authorization server, with limits on size, time and URL."""

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

_MAX_BYTES = 1 << 20
_TIMEOUT = 5.0


def check_url(url: str, what: str) -> str:
    """The URL without a trailing slash; raises UsageError if it is not safe to use."""
    parts = urlsplit(url)
    # auth.https (2025-11-25 basic/authorization): plain HTTP does not leave this machine
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))
    if not is_safe or not parts.hostname or parts.fragment or parts.username is not None:
        raise UsageError(
            f"{what} must be an https URL without user and fragment (http only for localhost), "
            f"got {url!r}"
        )
    return url.rstrip("/")


def is_loopback(host: str | None) -> bool:
    """Whether a host is localhost or a loopback address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


async def fetch_json(
    url: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The JSON response to GET, or to POST with a form; raises TransportError."""
    return await asyncio.to_thread(_fetch, url, form, headers or {})


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    # The operator configured this URL, not the redirect target.
    def redirect_request(self, *_: Any) -> None:
        return None


_REMOTE_OPENER = urllib.request.build_opener(_NoRedirects)
_LOCAL_OPENER = urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))


def _fetch(url: str, form: Mapping[str, str] | None, headers: Mapping[str, str]) -> dict[str, Any]:
    data = None if form is None else urlencode(form).encode()
    sent = {"Accept": "application/json", "User-Agent": "dovetail", **headers}
    request = urllib.request.Request(url, data, sent)
    opener = _LOCAL_OPENER if is_loopback(urlsplit(url).hostname) else _REMOTE_OPENER
    try:
        with opener.open(request, timeout=_TIMEOUT) as response:
            body = response.read(_MAX_BYTES + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        # The form may contain a secret and is not shown; the URL comes from the operator.
        raise TransportError(f"{url} cannot be fetched: {_why(error)}") from None
    if len(body) > _MAX_BYTES:
        raise TransportError(f"{url} is longer than {_MAX_BYTES:,} bytes")
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise TransportError(f"{url} is not a JSON object: {error}") from None


def _why(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"status {error.code}"
    return str(getattr(error, "reason", error))
