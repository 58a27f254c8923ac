"""The settings of a gateway: its own, its guard, and its upstreams."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypedDict

from dovetail.auth import GuardSettings
from dovetail.client.targets import is_url, open_target
from dovetail.errors import UsageError
from dovetail.mount import ToolTransform
from dovetail.mount.names import Prefix
from dovetail.mount.view import View

if TYPE_CHECKING:
    from dovetail.client.auth import Auth

__all__ = [
    "GatewayConfig",
    "GatewayConfigError",
    "SearchSettings",
    "ServerSettings",
    "UpstreamEntry",
]

# Keys that make sense only with one of two others.
_NEEDS = {"url": ("headers", "token_env", "auth"), "command": ("args", "env", "cwd")}
# Names in the file of a client may have any characters.
_NOT_IN_PREFIX = re.compile(r"[^A-Za-z0-9_-]+")


class GatewayConfigError(UsageError):
    """A gateway file has problems; the message lists all of them."""

    def __init__(self, source: str, problems: list[str]) -> None:
        self.problems = problems
        lines = "".join(f"\n  {problem}" for problem in problems)
        count = "one problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{source} has {count}:{lines}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How the gateway presents itself."""

    name: str = "gateway"
    version: str = "0.0.0"
    title: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """Clients list a few tools and search for the others."""

    # Tools that are listed all the same, with the prefixes of their upstreams.
    pinned: tuple[str, ...] = ()
    # The topics that the tools cover.
    about: str = ""


class ConnectOptions(TypedDict):
    """The arguments of `Client` and `Proxy` that say how to connect."""

    target: dict[str, Any]
    env: dict[str, str]
    cwd: str | None
    headers: dict[str, str]
    auth: Auth | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamEntry:
    """One upstream: how to reach it, and what of it is offered under which names."""

    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    # Not in the repr, because many values are secrets.
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    # The environment variable with a bearer token.
    token_env: str | None = None
    # "login": the stored login of `dovetail login URL`, for all callers.
    auth: str | None = None
    # None: the name of the upstream.
    prefix: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    # Seconds to connect in; the first start of a command may have to install it.
    connect_timeout: float = 30.0
    # Seconds that a call may take; the time in which a caller is asked something does not count.
    timeout: float = 300.0
    tools: Mapping[str, ToolTransform] = field(default_factory=dict)

    def connect_options(self) -> ConnectOptions:
        """Return how to connect; raises UsageError."""
        headers = dict(self.headers)
        if self.token_env is not None:
            token = os.environ.get(self.token_env)
            if not token:
                raise UsageError(
                    f"token_env: the environment variable {self.token_env!r} is not set"
                )
            headers["Authorization"] = f"Bearer {token}"
        auth: Auth | None = None
        if self.auth is not None:
            from dovetail.client.auth import OAuth  # noqa: PLC0415 - most do not need it

            # Use the login stored by `dovetail login`; a gateway is not interactive.
            auth = OAuth(interactive=False)
        target: dict[str, Any] = {"url": self.url}
        if self.command is not None:
            target = {"command": self.command, "args": self.args}
        return ConnectOptions(
            target=target, env=dict(self.env), cwd=self.cwd, headers=headers, auth=auth
        )

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield what does not fit together, and environment variables that are not set."""
        for key in ("connect_timeout", "timeout"):
            seconds = getattr(self, key)
            if seconds <= 0:
                yield f"{path}.{key}: must be more than 0, got {seconds:g}"
        if self.auth not in (None, "login"):
            yield (
                f"{path}.auth: must be 'login', got {self.auth!r}; tokens of callers are never "
                "passed on"
            )
        if (self.url is None) == (self.command is None):
            yield f"{path}: needs either 'url' or 'command'"
            return
        other, needed = ("url", "command") if self.command is None else ("command", "url")
        wrong = [name for name in _NEEDS[needed] if getattr(self, name)]
        for name in wrong:
            yield f"{path}.{name}: needs {needed!r}, not {other!r}"
        if self.url is not None and not is_url(self.url):
            # The value may contain a secret. A variable that is not set has been reported.
            if "${" not in self.url:
                yield f"{path}.url: must begin with http:// or https://"
        elif self.token_env and any(name.lower() == "authorization" for name in self.headers):
            yield f"{path}: token_env and headers.Authorization exclude each other; give one"
        elif not wrong:
            try:
                open_target(**self.connect_options())
            except UsageError as error:
                yield f"{path}: {error}"
        try:
            View(Prefix("x"), self.include, self.exclude, self.tools)
        except UsageError as error:
            yield f"{path}.tools: {error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """A whole gateway file."""

    server: ServerSettings = field(default_factory=ServerSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
    search: SearchSettings | None = None
    upstreams: Mapping[str, UpstreamEntry] = field(default_factory=dict)

    def prefix_of(self, name: str) -> str:
        """The prefix of the names of an upstream; by default its name, as far as possible."""
        prefix = self.upstreams[name].prefix
        return _NOT_IN_PREFIX.sub("_", name).strip("_-") if prefix is None else prefix

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield prefixes that are wrong or that overlap."""
        if not self.upstreams:
            yield "upstreams: there is none; add a table [upstreams.NAME] with 'url' or 'command'"
        prefixes: dict[str, Prefix] = {}
        for name in self.upstreams:
            given = self.prefix_of(name)
            try:
                prefixes[name] = Prefix(given)
            except UsageError as error:
                yield f"upstreams.{name}.prefix: {error}"
            if not given:
                yield (
                    f"upstreams.{name}.prefix: must not be empty; the names of an upstream can "
                    "change, and could hide those of another"
                )
        for (one, mine), (other, its) in combinations(prefixes.items(), 2):
            if mine.overlaps(its):
                yield (
                    f"upstreams.{one} and upstreams.{other}: the prefixes {mine.text!r} and "
                    f"{its.text!r} overlap, so one name could belong to both; change a prefix"
                )
