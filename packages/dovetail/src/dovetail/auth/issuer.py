"""Metadata of an authorization server: OIDC discovery, or RFC 8414."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from dovetail.auth.http_fetch import check_url, fetch_json
from dovetail.errors import TransportError, UsageError

__all__ = ["find_endpoint", "metadata_urls"]


def metadata_urls(issuer: str) -> list[str]:
    """The possible URLs of the metadata, most likely first."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    urls = [
        f"{origin}{path}/.well-known/openid-configuration",
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    ]
    return list(dict.fromkeys(urls))


async def find_endpoint(issuer: str, member: str) -> str:
    """The URL in a member of the issuer's metadata; raises TransportError.

    The OIDC and RFC 8414 documents may have different members, so all of them are tried.
    """
    problems = []
    for url in metadata_urls(issuer):
        try:
            found = await fetch_json(url)
        except TransportError as error:
            problems.append(str(error))
            continue
        problem = _find_problem(found, issuer, member)
        if problem is None:
            return str(found[member])
        problems.append(f"{url} {problem}")
    raise TransportError("; ".join(problems))


def _find_problem(found: dict[str, Any], issuer: str, member: str) -> str | None:
    # auth.as.issuer-matches (2026-07-28 basic/authorization): prevents impersonation
    if str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        return f"names another issuer: {found.get('issuer')!r}"
    url = found.get(member)
    if not isinstance(url, str):
        return f"has no {member}"
    try:
        check_url(url, member)
    except UsageError as error:
        return str(error)
    return None
