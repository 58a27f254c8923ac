"""Check targets: a command, a URL, an entry of a client configuration, or a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from dovetail.errors import UsageError
from dovetail_check.connections.base import Connection, Recorder
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.connections.old_sse import OldSseConnection
from dovetail_check.connections.stdio import StdioConnection
from dovetail_check.exchanges import NO_JSON, parse
from dovetail_check.safety import is_loopback

__all__ = ["CheckTarget", "find_target", "from_config"]


# Shorter values are usually flags and names; masking them would make evidence unreadable.
_SHORTEST_SECRET = 8


class CheckTarget(Struct, frozen=True, kw_only=True):
    """One server, over one transport."""

    transport: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    cwd: str | None = None
    headers: dict[str, str] = {}
    # The name that the user gave, if it is not the command.
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.url or " ".join(self.command)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return not self.url or is_loopback(self.url)

    @property
    def secrets(self) -> list[str]:
        """The values that are masked in evidence."""
        values = [*self.headers.values(), *self.env.values(), *_secrets_in(self.url)]
        # Mask `Bearer x` as a whole, and `x` alone.
        words = [value.rpartition(" ")[2] for value in self.headers.values()]
        long = {secret for secret in (*values, *words) if len(secret) >= _SHORTEST_SECRET}
        # Longest first, so that no secret is masked only in part.
        return sorted(long, key=lambda secret: (-len(secret), secret))

    def connect(self, recorder: Recorder) -> Connection:
        """Return a connection that is not open yet."""
        if self.transport == "sse":
            return OldSseConnection(recorder, self.url, self.headers, reuse=not self.is_local)
        if self.url:
            return HttpConnection(recorder, self.url, self.headers, reuse=not self.is_local)
        return StdioConnection(recorder, self.command, env=self.env, cwd=self.cwd)


def _secrets_in(url: str) -> list[str]:
    """The password and the query values of a URL: many servers take an API key there."""
    parts = urlsplit(url)
    return [parts.password or "", *(value for _, value in parse_qsl(parts.query))]


def find_target(
    text: str | None,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> CheckTarget:
    """The target that a command line names; raises UsageError."""
    if command:
        return CheckTarget(transport="stdio", command=tuple(command), env=dict(env or {}), cwd=cwd)
    if text is None:
        raise UsageError("nothing to check: give a URL, FILE.py, or a command behind --")
    if text.startswith(("http://", "https://")):
        return CheckTarget(transport="http", url=text, headers=dict(headers or {}))
    path, _, name = text.partition(":")
    if path.endswith(".py") and Path(path).is_file():
        # The file stays where it was named, wherever the server is to run.
        file = path if cwd is None else str(Path(path).absolute())
        run = (sys.executable, "-m", "dovetail", "run", f"{file}:{name}" if name else file)
        return CheckTarget(transport="stdio", command=run, env=dict(env or {}), cwd=cwd, name=text)
    raise UsageError(f"{text!r} is no URL and no FILE.py; put a command behind --")


def from_config(path: Path, server: str | None) -> CheckTarget:
    """The target of an entry in a client configuration file (`mcpServers` or `servers`)."""
    try:
        whole = parse(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if whole is NO_JSON or not isinstance(whole, dict):
        raise UsageError(f"{path} is not a JSON object")
    entries = whole.get("mcpServers") or whole.get("servers") or {}
    known = ", ".join(entries) or "none"
    if server is None and len(entries) == 1:
        [server] = entries
    if server is None or server not in entries:
        raise UsageError(f"{path} has no server {server!r}; it has: {known}")
    entry: dict[str, Any] = entries[server]
    if "url" in entry:
        headers = {str(name): str(value) for name, value in (entry.get("headers") or {}).items()}
        return CheckTarget(transport="http", url=entry["url"], headers=headers)
    if "command" in entry:
        command = (entry["command"], *entry.get("args", ()))
        env = {str(name): str(value) for name, value in (entry.get("env") or {}).items()}
        return CheckTarget(transport="stdio", command=command, env=env, cwd=entry.get("cwd"))
    raise UsageError(f"{server!r} in {path} has neither a command nor a url")
