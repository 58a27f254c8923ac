"""Opens a channel to a target.

A target is a server object, a command, a Python file, a URL, or an entry of a client's
configuration file: `{"command": ..., "args": [...], "env": {...}}` or
`{"url": ..., "headers": {...}}`. As in the clients that read such files, `${NAME}`,
`${NAME:-default}` and `${env:NAME}` stand for environment variables. Messages never show values,
because many are secrets.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from dovetail.client.channel import Channel, Connectable, Connected, OnClosed, OnMessage
from dovetail.client.stdio import Command, StdioChannel
from dovetail.errors import MissingPackageError, TransportError, UsageError
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.client.http_auth import Auth
    from dovetail.core.principal import Principal
    from dovetail.runtime.auth_backend import AuthBackend
    from dovetail.runtime.connection import Connection
    from dovetail.server import Server

__all__ = [
    "LocalCaller",
    "MemoryChannel",
    "Target",
    "expand",
    "find_command",
    "is_url",
    "open_target",
    "read_config_bytes",
    "read_servers",
]

# The member of a configuration file with the servers; editors use the second name.
_MEMBERS = ("mcpServers", "servers")
_VARIABLE = re.compile(r"\$\{(?P<source>\w+:(?!-))?(?P<name>[^}:]*)(?::-(?P<default>[^}]*))?\}")


def read_servers(file: str) -> Mapping[str, Any]:
    """Return the entries of the servers in a file; raises UsageError."""
    try:
        config = codec.decode_json(read_config_bytes(file))
    except msgspec.ValidationError as error:
        raise UsageError(f"{file!r} is not valid JSON: {error}") from None
    for member in _MEMBERS if isinstance(config, dict) else ():
        if isinstance(config.get(member), dict):
            servers: Mapping[str, Any] = config[member]
            return servers
    raise UsageError(f"{file!r} has no object named {' or '.join(_MEMBERS)}")


def read_config_bytes(file: str) -> bytes:
    """Return the contents of a file; raises UsageError."""
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file!r}: {error.strerror}") from None


def expand(value: Any, path: str, problems: list[str]) -> Any:
    """Return the value with its variables replaced; adds a problem for each that is not set."""
    if isinstance(value, Mapping):
        return {key: expand(item, f"{path}.{key}", problems) for key, item in value.items()}
    if isinstance(value, list):
        return [expand(item, path, problems) for item in value]
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda found: _look_up(found, path, problems), value)


def _look_up(found: re.Match[str], path: str, problems: list[str]) -> str:
    if found["source"] not in (None, "env:"):
        problems.append(f"{path}: {found[0]} is only known to an editor; replace it by its value")
        return found[0]
    text = os.environ.get(found["name"], found["default"])
    if text is None:
        problems.append(f"{path}: the environment variable {found['name']!r} is not set")
        return found[0]
    return text


@dataclass(frozen=True, slots=True)
class LocalCaller:
    """A client target: the server sees calls of `principal`, and `guard` applies to them.

    Without a principal, the caller is anonymous.
    """

    server: Server
    principal: Principal | str | None = None
    guard: AuthBackend | None = None

    def connect(self, send: Callable[[bytes], None]) -> Connection:
        """Open a connection that passes its messages to `send`."""
        return self.server.connect(send, principal=self.principal, guard=self.guard)

    async def close(self) -> None:
        """Close the server."""
        await self.server.close()


class MemoryChannel(Channel):
    """Uses `server.connect(...)`."""

    def __init__(self, server: Connectable) -> None:
        self._server = server
        self._connection: Connected | None = None

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect. `on_closed` is not used: the server cannot disconnect."""
        self._connection = self._server.connect(on_message)

    async def send(self, data: bytes) -> None:
        """Pass one message to the server."""
        if self._connection is None:
            raise TransportError("The connection to the server is closed")
        self._connection.receive(data)

    async def close(self) -> None:
        """Close the server's connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()


Target: TypeAlias = Connectable | str | os.PathLike[str] | Sequence[str] | Mapping[str, Any]
"""What a client can use: a server object, a command, a file, a URL, or a configuration entry."""

# A file, optionally with a colon and the name of the server object in it.
_PYTHON_FILE = re.compile(r"[^\s].*\.py(:[A-Za-z_]\w*)?")


def open_target(
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
    echo_stderr: bool = False,
    headers: Mapping[str, str] | None = None,
    auth: Auth | None = None,
) -> Channel:
    """A channel that is not open yet; raises UsageError for an invalid target."""
    url = _find_url(target)
    if url is not None:
        own = _read_headers(target.get("headers")) if isinstance(target, Mapping) else {}
        return _open_url(url, {**own, **(headers or {})}, auth)
    for name, given in (("headers", headers), ("auth", auth)):
        if given:
            raise UsageError(f"{name}= needs a URL; {_show(target)} does not use HTTP")
    if not isinstance(target, (str, os.PathLike, Sequence, Mapping)):
        if not callable(getattr(target, "connect", None)):
            raise UsageError(f"{target!r} is not a server: {_ALLOWED}")
        return MemoryChannel(target)
    return StdioChannel(find_command(target, env, cwd), echo_stderr=echo_stderr)


def find_command(
    target: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Command:
    """The command that starts a target; raises UsageError."""
    argv, own_env = _read_command(target)
    if not argv or not argv[0]:
        raise UsageError(f"{_show(target)} has no command to start")
    return Command(argv, {**own_env, **(env or {})}, cwd)


_ALLOWED = (
    "pass a Server, a command (string or list), a path to a .py file, a URL, "
    'or {"command": ..., "args": [...], "env": {...}}'
)


def _find_url(target: Target) -> str | None:
    text = target.get("url") if isinstance(target, Mapping) else target
    if isinstance(target, Mapping) and text is not None and not isinstance(text, str):
        raise UsageError(f"'url' must be a string, got {text!r}")
    if isinstance(target, Mapping) and isinstance(text, str) and not is_url(text):
        raise UsageError(f"'url' must begin with http:// or https://, got {text!r}")
    return text if isinstance(text, str) and is_url(text) else None


def is_url(text: str) -> bool:
    """Whether a target is an http:// or https:// URL."""
    return text.lower().startswith(("http://", "https://"))


def _read_headers(headers: Any) -> Mapping[str, str]:
    if not isinstance(headers or {}, Mapping):
        raise UsageError("'headers' must map names to strings")
    return headers or {}


def _open_url(url: str, headers: Mapping[str, str], auth: Auth | None) -> Channel:
    if auth is not None and any(name.lower() == "authorization" for name in headers):
        raise UsageError("Pass either auth= or an Authorization header, not both")
    # httptools is not on every platform, and only HTTP needs it.
    with MissingPackageError.when_importing("httptools", "A URL target", "httptools"):
        from dovetail.client.http_channel import HttpChannel  # noqa: PLC0415
    return HttpChannel(url, headers, auth=auth)


def _read_command(
    target: str | os.PathLike[str] | Sequence[str] | Mapping[str, Any],
) -> tuple[list[str], Mapping[str, str]]:
    if isinstance(target, Mapping):
        return _read_entry(target)
    if isinstance(target, os.PathLike):
        return _run_file(os.fspath(target)), {}
    if not isinstance(target, str):
        return _check_strings(target, "a command"), {}
    if _PYTHON_FILE.fullmatch(target) and _exists(target):
        return _run_file(target), {}
    try:
        return shlex.split(target), {}
    except ValueError as error:
        raise UsageError(f"The command {target!r} cannot be parsed: {error}") from None


def _read_entry(entry: Mapping[str, Any]) -> tuple[list[str], Mapping[str, str]]:
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise UsageError(f"The entry needs a string under 'command' or 'url'; got {_show(entry)}")
    arguments = _check_strings(entry.get("args") or (), "'args'")
    env = entry.get("env") or {}
    if not isinstance(env, Mapping):
        raise UsageError(f"'env' must map names to strings, got a {type(env).__name__}")
    return [command, *arguments], {str(name): str(value) for name, value in env.items()}


def _check_strings(parts: Any, what: str) -> list[str]:
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise UsageError(f"{what} must be a list of strings, got {parts!r}")
    for part in parts:
        if not isinstance(part, str):
            raise UsageError(f"{what} must be a list of strings, got {part!r} in it")
    return list(parts)


def _show(target: object) -> str:
    """The target for an error message; the values of an entry may be secret and are not shown."""
    if not isinstance(target, Mapping):
        return repr(target)
    return f"an entry with {', '.join(map(repr, target)) or 'nothing in it'}"


def _exists(file: str) -> bool:
    return os.path.exists(file.rpartition(":")[0] if not file.endswith(".py") else file)


def _run_file(file: str) -> list[str]:
    return [sys.executable, "-m", "dovetail", "run", file]
