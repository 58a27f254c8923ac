"""One redis-server for the tests of a worker, as in the framework's own suite."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.cluster.redis_server import RedisServer, running_redis


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def cluster_url(redis_server: RedisServer) -> str:
    """The URL of a cluster that no other test uses."""
    return f"{redis_server.url}?name={secrets.token_hex(6)}"
