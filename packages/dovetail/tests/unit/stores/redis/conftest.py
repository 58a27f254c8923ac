"""A real redis-server; see tests/cluster."""

from __future__ import annotations

from tests.cluster.conftest import cluster_url, redis_server

__all__ = ["cluster_url", "redis_server"]
