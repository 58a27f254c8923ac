from __future__ import annotations

import pytest

from dovetail_check.well_known import (
    is_same_origin,
    may_fetch,
    resource_metadata_urls,
    server_metadata_urls,
)

HERE = "http://127.0.0.1:8000/mcp"
AWAY = "https://mcp.example/mcp"


def test_the_metadata_of_a_resource_is_at_its_path_or_at_the_root() -> None:
    assert resource_metadata_urls("https://example.com/public/mcp") == [
        "https://example.com/.well-known/oauth-protected-resource/public/mcp",
        "https://example.com/.well-known/oauth-protected-resource",
    ]
    assert resource_metadata_urls("https://example.com:8443/") == [
        "https://example.com:8443/.well-known/oauth-protected-resource"
    ]


def test_the_metadata_of_a_server_is_tried_in_the_order_of_the_specification() -> None:
    assert server_metadata_urls("https://auth.example.com/tenant1") == [
        "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example.com/.well-known/openid-configuration/tenant1",
        "https://auth.example.com/tenant1/.well-known/openid-configuration",
    ]
    assert server_metadata_urls("https://auth.example.com") == [
        "https://auth.example.com/.well-known/oauth-authorization-server",
        "https://auth.example.com/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("https://Example.com/a", "https://example.com:443/b", True),
        ("http://example.com/", "https://example.com/", False),
        ("https://example.com:1/", "https://example.com:2/", False),
        ("not a url", "not a url", False),
        ("http://[bad", "http://[bad", False),
        ("http://x:port/", "http://x:port/", False),
        ("ftp://x/", "ftp://x/", False),
    ],
)
def test_origins_are_compared(one: str, other: str, expected: bool) -> None:
    assert is_same_origin(one, other) is expected


@pytest.mark.parametrize(
    ("url", "audited", "expected"),
    [
        ("https://auth.example/issuer", AWAY, True),
        ("https://mcp.example/issuer", AWAY, True),
        ("http://127.0.0.1:9000/issuer", HERE, True),
        ("https://auth.example/issuer", HERE, True),
        # Another host without TLS.
        ("http://auth.example/issuer", AWAY, False),
        ("http://auth.example/issuer", HERE, False),
        # A private network.
        ("http://127.0.0.1:9000/issuer", AWAY, False),
        ("https://127.0.0.1/issuer", AWAY, False),
        ("https://localhost/issuer", AWAY, False),
        ("https://a.localhost/issuer", AWAY, False),
        ("https://10.0.0.7/issuer", AWAY, False),
        ("https://169.254.169.254/issuer", AWAY, False),
        ("https://[fd00::1]/issuer", AWAY, False),
        # Not a URL, or one that would inject into the request line.
        ("file:///etc/passwd", AWAY, False),
        ("https://auth.example/a b", AWAY, False),
        ("https://auth.example/a\r\nX: y", AWAY, False),
        ("https://[bad", AWAY, False),
        ("", AWAY, False),
    ],
)
def test_only_safe_urls_are_fetched(url: str, audited: str, expected: bool) -> None:
    assert may_fetch(url, audited) is expected
