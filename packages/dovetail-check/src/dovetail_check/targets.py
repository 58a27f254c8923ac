"""What is checked: a command, a URL, an entry of a client's configuration, a file."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct

from dovetail.errors import UsageError
from dovetail_check.exchanges import NO_JSON, parse
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.lines.line import Line, Place
from dovetail_check.lines.old_sse import OldSseLine
from dovetail_check.lines.process import ProcessLine
from dovetail_check.safety import is_loopback

__all__ = ["CheckTarget", "find_target", "from_config"]


# Shorter values are flags and names, and masking them would make evidence unreadable.
_SHORTEST_SECRET = 8


class CheckTarget(Struct, frozen=True, kw_only=True):
    """One server, over one transport."""

    transport: str
    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    cwd: str | None = None
    headers: dict[str, str] = {}
    # What the user called it, where that is not the command.
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.url or " ".join(self.command)

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return not self.url or is_loopback(self.url)

    @property
    def secrets(self) -> list[str]:
        """What must not stand in any evidence."""
        values = [*self.headers.values(), *self.env.values(), *_secrets_in(self.url)]
        # `Bearer x` is one as a whole, and so is what stands behind the scheme.
        words = [value.rpartition(" ")[2] for value in self.headers.values()]
        long = {secret for secret in (*values, *words) if len(secret) >= _SHORTEST_SECRET}
        # The longer ones first, so that none is masked in part only.
        return sorted(long, key=lambda secret: (-len(secret), secret))

    def connect(self, place: Place) -> Line:
        """A line that is not open yet."""
        if self.transport == "sse":
            return OldSseLine(place, self.url, self.headers, keeps=not self.is_local)
        if self.url:
            return HttpLine(place, self.url, self.headers, keeps=not self.is_local)
        return ProcessLine(place, self.command, env=self.env, cwd=self.cwd)


def _secrets_in(url: str) -> list[str]:
    """A password, and what is given behind the question mark: many servers take a key there."""
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
        place = path if cwd is None else str(Path(path).absolute())
        run = (sys.executable, "-m", "dovetail", "run", f"{place}:{name}" if name else place)
        return CheckTarget(transport="stdio", command=run, env=dict(env or {}), cwd=cwd, name=text)
    raise UsageError(f"{text!r} is no URL and no FILE.py; put a command behind --")


def from_config(path: Path, server: str | None) -> CheckTarget:
    """An entry of a configuration file as clients keep it (`mcpServers`, or `servers`)."""
    try:
        whole = parse(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    if whole is NO_JSON or not isinstance(whole, dict):
        raise UsageError(f"{path} is no JSON object")
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
