"""What an authorization server says of itself: OIDC discovery, or RFC 8414."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from dovetail.errors import TransportError, UsageError
from dovetail.guard.fetching import check_url, fetch_json

__all__ = ["find_endpoint", "metadata_urls"]


def metadata_urls(issuer: str) -> list[str]:
    """Where the document may be, likeliest first."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    urls = [
        f"{origin}{path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    ]
    return list(dict.fromkeys(urls))


async def find_endpoint(issuer: str, member: str) -> str:
    """The URL that a member of the issuer's metadata names; raises TransportError.

    The documents of OIDC and of RFC 8414 may name different things, so all are looked at.
    """
    problems = []
    for url in metadata_urls(issuer):
        try:
            found = await fetch_json(url)
        except TransportError as error:
            problems.append(str(error))
            continue
        problem = _problem_of(found, issuer, member)
        if problem is None:
            return str(found[member])
        problems.append(f"{url} {problem}")
    raise TransportError("; ".join(problems))


def _problem_of(found: dict[str, Any], issuer: str, member: str) -> str | None:
    # auth.as.issuer-matches (2026-07-28 basic/authorization): or anybody could stand in for it
    if str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        return f"is of another issuer: {found.get('issuer')!r}"
    url = found.get(member)
    if not isinstance(url, str):
        return f"names no {member}"
    try:
        check_url(url, member)
    except UsageError as error:
        return str(error)
    return None
