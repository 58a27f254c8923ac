"""The URL of a cluster."""

from __future__ import annotations

import ssl

import pytest

from dovetail.errors import UsageError
from dovetail_redis.url import RedisUrl, parse_url

VALID = {
    "redis://127.0.0.1": RedisUrl(),
    "redis://store:7000/3": RedisUrl("store", 7000, database=3),
    "redis://store?db=3&name=shop": RedisUrl("store", database=3, name="shop"),
    "redis://:p%2Fw%40@store/1": RedisUrl("store", password="p/w@", database=1),
    "rediss://ann:pw@store": RedisUrl("store", tls=True, username="ann", password="pw"),
    "unix:///run/redis.sock?db=2": RedisUrl(socket_path="/run/redis.sock", database=2),
    "redis://[::1]:7000/0": RedisUrl("::1", 7000),
}

INVALID = {
    "http://store": "unknown scheme 'http'",
    "store:6379": "unknown scheme 'store'",
    "store": "not a URL",
    "redis://store/first": "the database is a number, got 'first'",
    "redis://store?nmae=shop": "unknown parameter 'nmae'; known: db, name",
    "redis://store?name=a%20b": "name is up to 64 letters",
    "unix://": "the path of the socket is missing",
    "redis://store:port": "invalid URL; expected redis://HOST:PORT/DATABASE",
    "redis://[::1": "invalid URL",
    # Passwords with characters that end the host; no part of them is shown.
    "redis://:secret/word@store/0": "write / ? # @ : as %2F",
    "redis://ann:1/secret@store/0": "write / ? # @ : as %2F",
    "redis://ann:1?secret@store/0": "write / ? # @ : as %2F",
    "redis://ann:1#secret@store/0": "write / ? # @ : as %2F",
}


@pytest.mark.parametrize("text", VALID)
def test_a_url_is_parsed(text: str) -> None:
    assert parse_url(text) == VALID[text]


@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_url_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_url(text)
    assert INVALID[text] in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_text_of_a_url_shows_the_credentials() -> None:
    url = parse_url("rediss://ann:hidden@store:7000/1")
    assert str(url) == "rediss://store:7000/1"
    assert "hidden" not in repr(url)
    assert str(parse_url("unix:///run/redis.sock")) == "unix:///run/redis.sock"
    assert str(parse_url("redis://[::1]/0")) == "redis://[::1]:6379/0"


def test_tls_checks_the_certificate() -> None:
    context = parse_url("rediss://store").tls_context()
    assert context is not None and context.verify_mode is ssl.CERT_REQUIRED
    assert parse_url("redis://store").tls_context() is None
