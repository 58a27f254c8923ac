"""Protected resource metadata."""

from __future__ import annotations

import json

import pytest

from dovetail.auth.resource_metadata import document_of, is_metadata_path, metadata_url_of

WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("resource", "url"),
    [
        ("https://h", f"https://h{WELL_KNOWN}"),
        ("https://h/mcp", f"https://h{WELL_KNOWN}/mcp"),
        ("https://h:8443/a/mcp", f"https://h:8443{WELL_KNOWN}/a/mcp"),
    ],
)
def test_the_well_known_path_is_inserted_after_the_host(resource: str, url: str) -> None:
    assert metadata_url_of(resource) == url


@pytest.mark.parametrize(
    ("path", "is_there"),
    [
        (WELL_KNOWN, True),
        (f"{WELL_KNOWN}/tools/mcp", True),
        (f"{WELL_KNOWN}/mcp", True),
        (f"{WELL_KNOWN}/other", False),
        ("/mcp", False),
    ],
)
def test_metadata_is_served_with_or_without_the_path(path: str, is_there: bool) -> None:
    assert is_metadata_path(path, "/mcp", "https://h/tools/mcp") is is_there


def test_metadata_has_issuers_and_scopes() -> None:
    assert json.loads(document_of("https://h/mcp", ["https://i"], {"b", "a"}, "Notes")) == {
        "resource": "https://h/mcp",
        "authorization_servers": ["https://i"],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["a", "b"],
        "resource_name": "Notes",
    }
    assert "scopes_supported" not in json.loads(document_of("https://h", ["https://i"], (), None))
