"""The settings of a gateway: its own, its guard, and its upstreams."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from dovetail.client.targets import is_url
from dovetail.compose.mount.names import Prefix
from dovetail.compose.mount.transform import ToolTransform
from dovetail.errors import UsageError

__all__ = [
    "GatewayConfig",
    "GatewayConfigError",
    "GuardSettings",
    "ServerSettings",
    "UpstreamEntry",
]

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
class GuardSettings:
    """Authentication, limits and audit log, as in the options of `dovetail run`."""

    keys: str | None = None
    key_header: str | None = None
    issuer: str | None = None
    resource: str | None = None
    read_only: bool = False
    rate: str | None = None
    audit: str | None = None

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield options that need another one."""
        if self.key_header is not None and self.keys is None:
            yield f"{path}.key_header: requires {path}.keys"
        if (self.issuer is None) != (self.resource is None):
            yield f"{path}: issuer and resource must be used together"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamEntry:
    """One upstream: how to reach it, and what of it is offered under which names."""

    url: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    # The environment variable with a bearer token.
    token_env: str | None = None
    auth: Literal["login"] | None = None
    # None: the name of the upstream.
    prefix: str | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    # Seconds to connect in; the first start of a command may have to install it.
    connect_timeout: float = 30.0
    tools: Mapping[str, ToolTransform] = field(default_factory=dict)

    def find_problems(self, path: str) -> Iterator[str]:
        """Yield what does not fit together."""
        if (self.url is None) == (self.command is None):
            yield f"{path}: needs either 'url' or 'command'"
        elif self.url is None:
            for name in ("headers", "token_env", "auth"):
                if getattr(self, name):
                    yield f"{path}.{name}: needs 'url'; a command gets its secrets from 'env'"
        else:
            yield from self._find_url_problems(path)
        if self.connect_timeout <= 0:
            yield f"{path}.connect_timeout: must be more than 0, got {self.connect_timeout:g}"

    def _find_url_problems(self, path: str) -> Iterator[str]:
        for name in ("args", "env", "cwd"):
            if getattr(self, name):
                yield f"{path}.{name}: needs 'command'"
        if self.url and not is_url(self.url):
            yield f"{path}.url: must begin with http:// or https://"
        given = {
            "headers.Authorization": any(name.lower() == "authorization" for name in self.headers),
            "token_env": self.token_env is not None,
            "auth": self.auth is not None,
        }
        chosen = [name for name, is_given in given.items() if is_given]
        if len(chosen) > 1:
            yield f"{path}: {' and '.join(chosen)} exclude each other; give one"
        if self.token_env is not None and not os.environ.get(self.token_env):
            yield f"{path}.token_env: the environment variable {self.token_env!r} is not set"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """A whole gateway file."""

    server: ServerSettings = field(default_factory=ServerSettings)
    guard: GuardSettings = field(default_factory=GuardSettings)
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
