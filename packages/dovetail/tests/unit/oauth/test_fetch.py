"""Fetching JSON from an authorization server."""

from __future__ import annotations

import pytest

from dovetail.errors import TransportError, UsageError
from dovetail.oauth import fetch as module
from dovetail.oauth.fetch import check_url, fetch_json
from tests.unit.auth.small_server import serving
from tests.unit.talk import run


def test_get_and_post_return_json() -> None:
    with serving(lambda asked: (200, b'{"a":1}')) as (url, asked):
        assert run(fetch_json(f"{url}/x")) == {"a": 1}
        assert run(fetch_json(url, {"token": "t&"}, {"Authorization": "Basic x"})) == {"a": 1}
    get, post = asked
    assert (get.method, get.path, get.headers["accept"]) == ("GET", "/x", "application/json")
    assert (post.method, post.body) == ("POST", b"token=t%26")
    assert post.headers["authorization"] == "Basic x"


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [
        (500, b"{}", "500 Internal"),
        (302, b"{}", "302 Found"),
        (200, b"[]", "a JSON object"),
        (200, b"<html>", "a JSON object"),
        (200, b" " * 2000, "longer than"),
    ],
)
def test_invalid_responses_are_explained(
    status: int, body: bytes, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_BYTES", 1000)
    with serving(lambda asked: (status, body)) as (url, asked):
        with pytest.raises(TransportError, match=complaint) as caught:
            run(fetch_json(url, {"token": "very-secret"}))
        assert len(asked) == 1
    assert "very-secret" not in str(caught.value)


def test_a_connection_error_is_reported() -> None:
    with pytest.raises(TransportError, match="connection refused"):
        run(fetch_json("http://127.0.0.1:1/"))


@pytest.mark.parametrize(
    "url", ["https://a.example/x", "http://127.0.0.1:1/x", "http://localhost/x", "http://[::1]/x"]
)
def test_safe_urls_lose_their_trailing_slash(url: str) -> None:
    assert check_url(f"{url}/", "issuer") == url


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "ftp://a.example",
        "https://",
        "https://u:p@a.example",
        "https://a/#b",
        "x",
    ],
)
def test_unsafe_urls_are_rejected(url: str) -> None:
    with pytest.raises(UsageError, match="issuer must be an https URL"):
        check_url(url, "issuer")
