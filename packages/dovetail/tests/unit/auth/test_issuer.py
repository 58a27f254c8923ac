"""Metadata of an authorization server."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.auth.issuer import find_endpoint, metadata_urls
from dovetail.errors import TransportError
from tests.unit.auth.small_server import Asked, serving
from tests.unit.talk import run

OIDC = "/.well-known/openid-configuration"
OAUTH = "/.well-known/oauth-authorization-server"


def test_all_possible_metadata_urls_are_tried() -> None:
    assert metadata_urls("https://h") == [f"https://h{OIDC}", f"https://h{OAUTH}"]
    assert metadata_urls("https://h/realms/x") == [
        f"https://h/realms/x{OIDC}",
        f"https://h{OAUTH}/realms/x",
        f"https://h{OIDC}/realms/x",
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
        ({"issuer": "https://evil.example", "jwks_uri": "https://h/k"}, "another issuer"),
        ({}, "has no jwks_uri"),
        ({"jwks_uri": 7}, "has no jwks_uri"),
        ({"jwks_uri": "http://evil.example/k"}, "must be an https URL"),
    ],
)
def test_untrusted_documents_are_rejected(document: dict[str, Any], complaint: str) -> None:
    with pytest.raises(TransportError, match=complaint):
        find({OIDC: document})


def test_without_a_document_the_error_names_all_urls() -> None:
    with pytest.raises(TransportError) as caught:
        find({})
    assert OIDC in str(caught.value)
    assert OAUTH in str(caught.value)
