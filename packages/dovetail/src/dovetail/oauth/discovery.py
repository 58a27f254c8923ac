"""The metadata of resources and authorization servers: what a server shows, and how it is found.

The server's challenge or a well-known URL leads to the protected resource metadata (RFC 9728). It
names the authorization servers; each of those describes itself (RFC 8414 or OpenID Discovery).
Servers of 2025-03-26 have no resource metadata: there, the authorization server is at the origin of
the MCP server, with or without metadata (2025-03-26 basic/authorization).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dovetail.errors import AuthorizationError
from dovetail.net.addresses import Endpoint
from dovetail.oauth.challenges import Challenge
from dovetail.oauth.fetch import AuthFetch, same_url, within

__all__ = [
    "Authority",
    "IssuerMetadata",
    "ResourceMetadata",
    "ServerMetadata",
    "discover",
    "find_endpoint",
    "is_metadata_path",
    "metadata_url_of",
]

T = TypeVar("T")
M = TypeVar("M", bound="IssuerMetadata")

_RESOURCE = "/.well-known/oauth-protected-resource"
_OAUTH = "/.well-known/oauth-authorization-server"
_OPENID = "/.well-known/openid-configuration"


class ResourceMetadata(Struct, omit_defaults=True):
    """Protected resource metadata (RFC 9728)."""

    # auth.uri.trailing-slash, auth.prm.resource-matches
    resource: str
    # auth.prm.authorization-servers (2025-06-18 basic/authorization): at least one
    authorization_servers: Sequence[str] = ()
    bearer_methods_supported: Sequence[str] = ()
    scopes_supported: Sequence[str] = ()
    resource_name: str | None = None
    dpop_signing_alg_values_supported: Sequence[str] = ()
    dpop_bound_access_tokens_required: bool | None = None


class IssuerMetadata(Struct, omit_defaults=True):
    """Authorization server metadata (RFC 8414); the members that a resource server uses."""

    issuer: str
    jwks_uri: str | None = None
    introspection_endpoint: str | None = None


class ServerMetadata(IssuerMetadata, kw_only=True):
    """Authorization server metadata; the members that a client uses."""

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
    issuer = named[0] if preferred is None or preferred not in named else preferred
    metadata = await _find_server(fetch, issuer, _named_by(server), ServerMetadata)
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
    metadata = await _find_server(fetch, origin, _named_by(server), ServerMetadata)
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


def _named_by(server: Endpoint) -> str:
    return f"The authorization server that {server} names"


async def _find_server(
    fetch: AuthFetch, issuer: str, what: str, type_: type[M], member: str = "issuer"
) -> M | None:
    """The first metadata of an issuer that has a member; None if there is none."""
    endpoint = fetch.policy.check(issuer, what)
    for place in _places(endpoint):
        where = fetch.policy.check(endpoint.origin + place, "The metadata URL")
        metadata = await _read(fetch, where, type_)
        if metadata is None:
            continue
        # auth.as.issuer-matches (2026-07-28 basic/authorization): otherwise another server could
        # pass itself off as the issuer (RFC 8414, section 3.3).
        if not same_url(metadata.issuer.rstrip("/"), issuer.rstrip("/")):
            raise AuthorizationError(
                f"The authorization server {issuer!r} calls itself {metadata.issuer!r} in {where}; "
                "this may be an attack. Report it to the server's operator"
            )
        for name in metadata.__struct_fields__:
            url = getattr(metadata, name)
            if name.endswith(("_endpoint", "_uri")) and url is not None:
                fetch.policy.check(url, f"The {name} of the authorization server {issuer}")
        if getattr(metadata, member) is not None:
            return metadata
    return None


async def find_endpoint(issuer: str, member: str) -> str:
    """The URL in a member of the metadata of the operator's issuer; raises AuthorizationError."""
    async with AuthFetch.of_issuer() as fetch:
        found = await _find_server(fetch, issuer, "The issuer", IssuerMetadata, member)
    if found is None:
        raise AuthorizationError(
            f"The issuer {issuer} has no metadata with {member} at {_OAUTH} or {_OPENID}"
        )
    url: str = getattr(found, member)
    return url


def metadata_url_of(resource: str) -> str:
    """The URL of the metadata: the well-known path is inserted before the path (section 3.1)."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{_RESOURCE}{parts.path.rstrip('/')}"


def is_metadata_path(path: str, mcp_path: str, resource: str) -> bool:
    """Whether the metadata is served at this path, with or without the path of the resource.

    An application mounted below a prefix does not see the prefix, so its own path also counts.
    """
    paths = (urlsplit(resource).path.rstrip("/"), mcp_path, "")
    return path in [f"{_RESOURCE}{each}" for each in paths]


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
