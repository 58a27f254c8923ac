"""The stores of a cluster, by their URL."""

from __future__ import annotations

import sys

import pytest

from dovetail import Options, Server, UsageError
from dovetail.runtime.open_stores import open_shared_stores
from dovetail.stores.redis.redis_stores import RedisStores


@pytest.mark.parametrize("url", ["redis://a/1", "rediss://a", "unix:///run/redis.sock"])
def test_the_scheme_selects_the_stores(url: str) -> None:
    assert isinstance(open_shared_stores(url, "test"), RedisStores)


@pytest.mark.parametrize("url", ["", "a", "a:6379", "postgresql://a", "://[", "http://["])
def test_another_scheme_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(UsageError, match="like redis://"):
        open_shared_stores(url, "test")


def test_an_invalid_url_is_refused_when_the_server_is_made() -> None:
    with pytest.raises(UsageError, match="the database is a number, got 'x'"):
        Server("test", options=Options(cluster="redis://a/x"))


def test_without_the_library_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("dovetail.stores.redis")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "hiredis", None)
    with pytest.raises(UsageError, match=r"pip install 'dovetail-mcp\[cluster\]'"):
        open_shared_stores("redis://a", "test")
