"""The URL parser of dovetail_redis, for `stores/redis`, and to be removed together with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dovetail_redis.url import RedisUrl, parse_url

__all__ = ["RedisUrl", "parse_url"]


def __getattr__(name: str) -> Any:
    """Import the parser when a cluster is used, which dovetail_redis is installed for."""
    from dovetail_redis import url  # noqa: PLC0415 - see test_layers

    return getattr(url, name)
