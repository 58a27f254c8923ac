"""Protected resource metadata (RFC 9728), which tells clients where to get a token."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from dovetail.wire import codec

__all__ = ["document_of", "is_metadata_path", "metadata_url_of"]

_WELL_KNOWN = "/.well-known/oauth-protected-resource"


def metadata_url_of(resource: str) -> str:
    """The URL of the metadata: the well-known path is inserted before the path (section 3.1)."""
    parts = urlsplit(resource)
    return f"{parts.scheme}://{parts.netloc}{_WELL_KNOWN}{parts.path.rstrip('/')}"


def is_metadata_path(path: str, mcp_path: str, resource: str) -> bool:
    """Whether the metadata is served at this path, with or without the path of the resource.

    An application mounted below a prefix does not see the prefix, so its own path also counts.
    """
    paths = (urlsplit(resource).path.rstrip("/"), mcp_path, "")
    return path in [f"{_WELL_KNOWN}{each}" for each in paths]


def document_of(
    resource: str,
    issuers: Collection[str],
    scopes: Collection[str],
    name: str | None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> bytes:
    """The metadata as JSON, with more members."""
    document: dict[str, Any] = {
        # auth.uri.trailing-slash, auth.prm.resource-matches
        "resource": resource,
        # auth.prm.authorization-servers (2025-06-18 basic/authorization): at least one
        "authorization_servers": list(issuers),
        "bearer_methods_supported": ["header"],
        **more,
    }
    if scopes:
        document["scopes_supported"] = sorted(scopes)
    if name is not None:
        document["resource_name"] = name
    return codec.encode(document)
