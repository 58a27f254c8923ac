"""Discovery: from an MCP server to its authorization server.

The server's challenge or a well-known URL leads to the protected resource metadata (RFC 9728). It
names the authorization servers; each of those describes itself (RFC 8414 or OpenID Discovery).
Servers of 2025-03-26 have no resource metadata: there, the authorization server is at the origin of
the MCP server, with or without metadata (2025-03-26 basic/authorization).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from dovetail.client.auth.challenge import Challenge
from dovetail.client.auth.failures import AuthorizationError
from dovetail.client.auth.fetch import AuthFetch
from dovetail.client.auth.urls import same_url, within
from dovetail.client.http_endpoint import Endpoint

__all__ = ["Authority", "ResourceMetadata", "ServerMetadata", "discover"]

T = TypeVar("T")

_RESOURCE = "/.well-known/oauth-protected-resource"
_OAUTH = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


class ResourceMetadata(Struct, omit_defaults=True):
    """Protected resource metadata (RFC 9728)."""

    resource: str
    authorization_servers: list[str] = []
    scopes_supported: list[str] = []
    dpop_bound_access_tokens_required: bool = False


class ServerMetadata(Struct, omit_defaults=True):
    """Authorization server metadata (RFC 8414); the members that a client uses."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    grant_types_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    token_endpoint_auth_signing_alg_values_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool = False
    client_id_metadata_document_supported: bool = False
    dpop_signing_alg_values_supported: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Authority:
    """The authorization server of one resource, with checked metadata."""

    # The value of the `resource` parameter (RFC 8707).
    resource: str
    server: ServerMetadata
    # The scopes that the resource names, for a server whose challenge names none.
    scopes_supported: Sequence[str] = ()
    # Without metadata, nothing is known about PKCE.
    is_assumed: bool = False


async def discover(
    fetch: AuthFetch,
    server: Endpoint,
    challenge: Challenge,
    preferred: str | None = None,
    *,
    is_denied: bool = True,
) -> Authority:
    """Find the authorization server of an MCP server; raises AuthorizationError.

    If the server names several, it is the preferred one, or else the first. A server that has
    not denied anything and has no metadata does not use OAuth.
    """
    url = server.origin + server.resource.partition("?")[0]
    resource = await _find_resource(fetch, server, challenge)
    if resource is None and not is_denied:
        raise AuthorizationError(f"{server} does not ask for a login; use it without one")
    if resource is None:
        return await _discover_at_origin(fetch, server, url)
    # RFC 9728, section 3.3: metadata for another resource must not be used.
    if not within(url, [resource.resource]):
        raise AuthorizationError(
            f"The metadata of {server} is for another resource, {resource.resource!r}; "
            "a token for it would not be for this server. Report this to the server's operator"
        )
    if not resource.authorization_servers:
        raise AuthorizationError(f"The metadata of {server} names no authorization server")
    named = resource.authorization_servers
    issuer = preferred if preferred in named else named[0]
    metadata = await _find_server(fetch, issuer, str(server))
    if metadata is None:
        raise AuthorizationError(
            f"{server} names {issuer!r} as its authorization server, "
            "which has no metadata; report this to the server's operator"
        )
    return Authority(resource.resource, metadata, tuple(resource.scopes_supported))


async def _find_resource(
    fetch: AuthFetch, server: Endpoint, challenge: Challenge
) -> ResourceMetadata | None:
    if challenge.resource_metadata is not None:
        what = f"The resource_metadata of the challenge from {server}"
        endpoint = fetch.policy.check(challenge.resource_metadata, what)
        document = await _read(fetch, endpoint, ResourceMetadata)
        if document is None:
            raise AuthorizationError(
                f"{server} refers to its metadata at {endpoint}, which is not there; "
                "report this to the server's operator"
            )
        return document
    path = server.resource.partition("?")[0].rstrip("/")
    for place in dict.fromkeys((_RESOURCE + path, _RESOURCE)):
        endpoint = fetch.policy.check(server.origin + place, "The metadata URL")
        document = await _read(fetch, endpoint, ResourceMetadata)
        if document is not None:
            return document
    return None


async def _discover_at_origin(fetch: AuthFetch, server: Endpoint, url: str) -> Authority:
    origin = server.origin
    metadata = await _find_server(fetch, origin, str(server))
    if metadata is not None:
        return Authority(url, metadata)
    assumed = ServerMetadata(
        issuer=origin,
        authorization_endpoint=f"{origin}/authorize",
        token_endpoint=f"{origin}/token",
        registration_endpoint=f"{origin}/register",
    )
    return Authority(url, assumed, is_assumed=True)


def _places(issuer: Endpoint) -> Iterator[str]:
    """The well-known paths of an issuer, in the order of the specification."""
    path = issuer.resource.partition("?")[0].rstrip("/")
    yield _OAUTH + path
    yield _OPENID + path
    if path:
        yield path + _OPENID


async def _find_server(fetch: AuthFetch, issuer: str, server: str) -> ServerMetadata | None:
    endpoint = fetch.policy.check(issuer, f"The authorization server that {server} names")
    for place in _places(endpoint):
        where = fetch.policy.check(endpoint.origin + place, "The metadata URL")
        metadata = await _read(fetch, where, ServerMetadata)
        if metadata is None:
            continue
        # RFC 8414, section 3.3: otherwise another server could pass itself off as the issuer.
        if not same_url(metadata.issuer, issuer):
            raise AuthorizationError(
                f"The authorization server {issuer!r} calls itself {metadata.issuer!r} in {where}; "
                "this may be an attack. Report it to the server's operator"
            )
        _check_endpoints(fetch, metadata)
        return metadata
    return None


def _check_endpoints(fetch: AuthFetch, metadata: ServerMetadata) -> None:
    for name in (
        "token_endpoint",
        "authorization_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
        "device_authorization_endpoint",
    ):
        url = getattr(metadata, name)
        if url is not None:
            fetch.policy.check(url, f"The {name} of the authorization server {metadata.issuer}")


async def _read(fetch: AuthFetch, endpoint: Endpoint, type_: type[T]) -> T | None:
    """A metadata document; None if there is none here."""
    fetched = await fetch.get(endpoint)
    if fetched.status >= 500:
        raise AuthorizationError(f"{endpoint} answered {fetched.reason}; try again later")
    document: dict[str, Any] | None = fetched.json() if fetched.status == 200 else None
    if document is None:
        return None
    try:
        return msgspec.convert(document, type_)
    except msgspec.ValidationError as problem:
        raise AuthorizationError(
            f"The metadata at {endpoint} is invalid: {problem}; report this to its operator"
        ) from None
