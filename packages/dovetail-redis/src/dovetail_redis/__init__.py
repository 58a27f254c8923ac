"""State on Redis, which processes on many machines share."""

from dovetail_redis.backend import RedisBackend

__all__ = ["RedisBackend"]
