"""A server that is given the URL of Redis."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from dovetail import Options, Server, UsageError
from dovetail_redis import RedisBackend


@pytest.mark.parametrize("url", ["redis://a/1", "rediss://a", "unix:///run/redis.sock"])
def test_the_scheme_selects_the_backend(url: str) -> None:
    scheme = url.partition(":")[0]
    make = entry_points(group="dovetail.backends")[scheme].load()
    assert isinstance(make(url), RedisBackend)
    Server("test", options=Options(state=url, state_keys=[b"k" * 32]))


def test_an_invalid_url_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="the database is a number, got 'x'"):
        Server("test", options=Options(state="redis://a/x"))
