"""Commands in the Redis protocol (RESP), and the handshake of a new connection."""

from __future__ import annotations

import hashlib
from typing import TypeAlias

from dovetail.state.redis_url import RedisUrl

__all__ = ["Argument", "Script", "encode_command", "handshake"]

Argument: TypeAlias = bytes | str | int | float


class Script:
    """A Lua script, which Redis runs atomically."""

    __slots__ = ("digest", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self.digest = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


def encode_command(command: tuple[Argument, ...]) -> bytes:
    """Encode a command as an array of bulk strings."""
    parts = [b"*%d\r\n" % len(command)]
    for argument in command:
        if isinstance(argument, bytes):
            data = argument
        elif isinstance(argument, str):
            data = argument.encode()
        else:
            data = repr(argument).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(data), data))
    return b"".join(parts)


def handshake(url: RedisUrl) -> list[tuple[Argument, ...]]:
    """The commands that a new connection sends first."""
    commands: list[tuple[Argument, ...]] = []
    if url.password is not None:
        user = () if url.username is None else (url.username,)
        commands.append(("AUTH", *user, url.password))
    if url.database:
        commands.append(("SELECT", url.database))
    # Always one: its answer shows that the server accepts commands.
    commands.append(("CLIENT", "SETNAME", "dovetail"))
    return commands
