"""The address of a Redis server: `redis://[user:password@]host[:port][/database][?name=NAME]`."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from dovetail.errors import UsageError

__all__ = ["RedisUrl", "parse_url"]

_EXPECTED = "redis://HOST:PORT/DATABASE, rediss://... for TLS, or unix:///PATH/TO/SOCKET"
_ESCAPES = "In a user name or password, write / ? # @ : as %2F %3F %23 %40 %3A"
_PARAMETERS = {"name", "db"}
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True)
class RedisUrl:
    """Where Redis is, and the name that separates the keys of clusters."""

    host: str = "127.0.0.1"
    port: int = 6379
    socket_path: str | None = None
    tls: bool = False
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    database: int = 0
    name: str | None = None

    def __str__(self) -> str:
        """The address without the credentials."""
        if self.socket_path is not None:
            return f"unix://{self.socket_path}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'rediss' if self.tls else 'redis'}://{host}:{self.port}/{self.database}"

    def tls_context(self) -> ssl.SSLContext | None:
        """The TLS settings, None without TLS."""
        return ssl.create_default_context() if self.tls else None


def parse_url(text: str) -> RedisUrl:
    """Parse an address; raises UsageError, which does not show the password."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        # The text of the error may contain a part of the password.
        raise UsageError(f"Redis URL: invalid URL; expected {_EXPECTED}. {_ESCAPES}") from None
    if parts.scheme not in ("redis", "rediss", "unix"):
        raise UsageError(
            f"Redis URL: unknown scheme {parts.scheme!r}; expected {_EXPECTED}"
            if parts.scheme
            else f"Redis URL: not a URL; expected {_EXPECTED}"
        )
    if "@" in parts.path + parts.query + parts.fragment:
        raise UsageError(f"Redis URL: the host is not where it is expected. {_ESCAPES}")
    query = parse_qs(parts.query)
    unknown = sorted(query.keys() - _PARAMETERS)
    if unknown:
        raise UsageError(
            f"Redis URL: unknown parameter {unknown[0]!r}; known: {', '.join(sorted(_PARAMETERS))}"
        )
    name = query["name"][0] if "name" in query else None
    if name is not None and not _NAME.fullmatch(name):
        raise UsageError(
            f"Redis URL: name is up to 64 letters, digits, '_', '.' and '-', got {name!r}"
        )
    is_unix = parts.scheme == "unix"
    database = query["db"][0] if "db" in query else "" if is_unix else parts.path.strip("/")
    if database and not database.isdecimal():
        raise UsageError(f"Redis URL: the database is a number, got {database!r}")
    if is_unix and not parts.path:
        raise UsageError(f"Redis URL: the path of the socket is missing; expected {_EXPECTED}")
    return RedisUrl(
        host=parts.hostname or "127.0.0.1",
        port=port or 6379,
        socket_path=unquote(parts.path) if is_unix else None,
        tls=parts.scheme == "rediss",
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        database=int(database or 0),
        name=name,
    )
