"""Selects the stores that the processes of a cluster share, by the scheme of their URL."""

from __future__ import annotations

from importlib import import_module

from dovetail.errors import MissingPackageError, UsageError
from dovetail.stores.shared_stores import SharedStores

__all__ = ["open_shared_stores"]

# Scheme -> module and class; imported on first use, because their libraries are optional.
_REDIS = ("dovetail.stores.redis.redis_stores", "RedisStores")
_STORES = {"redis": _REDIS, "rediss": _REDIS, "unix": _REDIS}


def open_shared_stores(url: str, name: str) -> SharedStores:
    """Return the stores at a URL; `name` separates servers there. Raises UsageError."""
    found = _STORES.get(url.partition("://")[0])
    if found is None:
        raise UsageError(
            "Options.cluster is the URL of a Redis server, like redis://127.0.0.1:6379/0"
        )
    module, attribute = found
    with MissingPackageError.when_importing("hiredis", "A cluster", "dovetail-mcp[cluster]"):
        stores: SharedStores = getattr(import_module(module), attribute)(url, name)
    return stores
