"""One redis-server for the tests of a worker, as in the framework's own suite."""

from __future__ import annotations

from tests.cluster.redis_server import cluster_url, redis_server

__all__ = ["cluster_url", "redis_server"]
