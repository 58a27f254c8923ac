"""URL parsing, and resolution of references from a server."""

from __future__ import annotations

import pytest

from dovetail.net.addresses import parse_url

BASE = parse_url("http://host:8000/a/mcp?key=x")


@pytest.mark.parametrize(
    ("url", "host", "port", "resource", "authority"),
    [
        ("http://host/mcp", "host", 80, "/mcp", "host"),
        ("https://host", "host", 443, "/", "host"),
        ("http://HOST:8000/a?b=c#d", "host", 8000, "/a?b=c", "host:8000"),
        ("http://[::1]:8000/mcp", "::1", 8000, "/mcp", "[::1]:8000"),
    ],
)
def test_a_url_is_parsed(url: str, host: str, port: int, resource: str, authority: str) -> None:
    endpoint = parse_url(url)
    assert (endpoint.host, endpoint.port) == (host, port)
    assert (endpoint.resource, endpoint.authority) == (resource, authority)
    assert "?" not in str(endpoint)


@pytest.mark.parametrize(
    ("reference", "resource"),
    [
        ("/messages?s=1", "/messages?s=1"),
        ("messages", "/a/messages"),
        ("?s=1", "/a/mcp?s=1"),
        ("../b", "/b"),
        ("http://host:8000/x", "/x"),
        ("//HOST:8000/x", "/x"),
    ],
)
def test_a_reference_within_the_origin_is_resolved(reference: str, resource: str) -> None:
    found = BASE.resolve(reference)
    assert found is not None
    assert found.resource == resource
    assert found.origin == BASE.origin == "http://host:8000"


def test_the_default_port_is_the_same_origin() -> None:
    found = parse_url("https://host/mcp").resolve("https://host:443/x")
    assert found is not None
    assert (found.resource, found.authority) == ("/x", "host")


@pytest.mark.parametrize(
    "reference",
    [
        "https://host:8000/x",
        "http://host/x",
        "http://other:8000/x",
        "//other:8000/x",
        "http://me:pw@host:8000/x",
        "http://host:8000@other/x",
        "file:///x",
        "http://[::1/x",
        "http://host:port/x",
        "/a b",
        "/\u00e9",
        "/x\r\nHost: other",
    ],
)
def test_other_references_are_rejected(reference: str) -> None:
    assert BASE.resolve(reference) is None
