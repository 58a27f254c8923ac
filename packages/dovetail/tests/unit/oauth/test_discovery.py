"""Metadata of an authorization server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.errors import TransportError
from dovetail.oauth.discovery import find_endpoint, is_metadata_path, metadata_url_of
from tests.unit.auth.small_server import Asked, serving
from tests.unit.talk import run

OIDC = "/.well-known/openid-configuration"
OAUTH = "/.well-known/oauth-authorization-server"


def test_all_possible_metadata_urls_are_tried() -> None:
    with serving(lambda asked: (404, b"")) as (url, asked):
        for issuer in (url, f"{url}/realms/x"):
            with pytest.raises(TransportError, match="has no metadata with jwks_uri"):
                run(find_endpoint(issuer, "jwks_uri"))
    assert [each.path for each in asked] == [
        OAUTH,
        OIDC,
        f"{OAUTH}/realms/x",
        f"{OIDC}/realms/x",
        f"/realms/x{OIDC}",
    ]


def find(documents: dict[str, dict[str, Any]], member: str = "jwks_uri") -> str:
    def answer(asked: Asked) -> tuple[int, bytes]:
        found = documents.get(asked.path)
        if found is None:
            return 404, b""
        issuer = f"http://{asked.headers['host']}"
        return 200, json.dumps({"issuer": issuer, **found}).encode()

    with serving(answer) as (url, _):
        return run(find_endpoint(url, member))


def test_the_first_document_with_the_member_is_used() -> None:
    jwks = "https://h/keys"
    assert find({OIDC: {"jwks_uri": jwks}}) == jwks
    assert find({OAUTH: {"jwks_uri": jwks}}) == jwks
    assert find({OIDC: {}, OAUTH: {"jwks_uri": jwks}}) == jwks


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ({"issuer": "https://evil.example", "jwks_uri": "https://h/k"}, "calls itself"),
        ({}, "no metadata with jwks_uri"),
        ({"jwks_uri": 7}, "is invalid"),
        ({"jwks_uri": "http://evil.example/k"}, "must be an https URL"),
    ],
)
def test_untrusted_documents_are_rejected(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TransportError, match=complaint):
        find({OIDC: document})


# -- of a resource -----------------------------------------------------------------------------

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
