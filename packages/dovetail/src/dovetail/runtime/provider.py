"""`Provider`: what a server offers to its handlers and to servers that it is mounted in.

A server finds its own tools, prompts and resources in registries, and those of mounted servers
through their providers. A proxy has a provider that asks the server behind it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.registry import Registry
from dovetail.features.custom_routes import CustomRoutes
from dovetail.features.prompts import Prompts
from dovetail.features.resources import Resources
from dovetail.features.tools import Tools
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.engine import Engine
from dovetail.runtime.processes import Processes
from dovetail.spec.header_params import HeaderParams
from dovetail.spec.models import ReadResourceResult, ResourceContents, Tool

__all__ = ["KINDS", "Found", "Membership", "Mounted", "Provider", "Source"]

# What has a name. The name of a resource is its URI, that of a template its URI template.
KINDS = ("tool", "prompt", "resource", "resource template")


class Source(Protocol):
    """The server of a provider."""

    name: str
    engine: Engine
    guard: AuthBackend | None
    tools: Tools
    prompts: Prompts
    resources: Resources
    routes: CustomRoutes

    dependency_overrides: dict[Callable[..., Any], Callable[..., Any]]

    @property
    def handlers(self) -> Mapping[str, MethodHandler]:
        """The handlers of its methods, with middleware and mounts."""

    def capabilities(self) -> dict[str, Any]:
        """Its capabilities."""

    def resource_updated(self, uri: str) -> None:
        """Notify the subscribers of a resource."""

    async def start(self) -> None:
        """Enter its lifespan."""


class Membership(NamedTuple):
    """The cluster that a server is part of, also as a mounted server."""

    processes: Processes
    # Returns the keys that all processes have.
    keys: Callable[[], Sequence[bytes]]
    # The prefixes that lead to the server, the same in all processes.
    path: tuple[str, ...] = ()


class Found(Protocol):
    """A mounted server that has a name."""

    @property
    def provider(self) -> Provider:
        """What it offers."""


class Mounted(Protocol):
    """The mounted servers of a server."""

    def find(self, kind: str, name: str) -> tuple[Found, str] | None:
        """Return the mounted server that has a name, and its name there."""

    def names(self, kind: str) -> list[str]:
        """Return the names of all mounted servers, with their prefixes."""

    def templates_of(self, uri: str) -> list[str]:
        """Return the URI templates of the mounted server that serves a URI."""

    @property
    def providers(self) -> Iterable[Provider]:
        """What the mounted servers offer."""

    def join(self, membership: Membership) -> None:
        """Make the mounted servers parts of a cluster."""


class Provider:
    """The tools, prompts and resources of a server, with those of the servers mounted in it."""

    # Whether its tasks are kept elsewhere, as those of a proxy are.
    keeps_tasks = False

    def __init__(self, source: Source) -> None:
        self.source = source
        self.mounts: Mounted | None = None
        self.membership: Membership | None = None
        # The tools that find and call the other tools, in search mode.
        self.search_tools: frozenset[str] = frozenset()

    def join(self, membership: Membership) -> None:
        """Make the server a part of a cluster, with those that are mounted in it."""
        self.membership = membership
        if self.mounts is not None:
            self.mounts.join(membership)

    @property
    def providers(self) -> Iterable[Provider]:
        """The providers of mounted servers."""
        return () if self.mounts is None else self.mounts.providers

    # -- for handlers ---------------------------------------------------------------------------

    @property
    def dependency_overrides(self) -> Mapping[Callable[..., Any], Callable[..., Any]]:
        """Providers of dependencies that replace others, for tests."""
        return self.source.dependency_overrides

    def resource_updated(self, uri: str) -> None:
        """Notify the subscribers of a resource."""
        self.source.resource_updated(uri)

    async def read_resource(self, call: Call, uri: str) -> list[ResourceContents]:
        """Return the contents that resources/read would return; `ctx.read_resource` calls it."""
        shaped = self.source.resources.read(call, uri)
        if isinstance(shaped, Coroutine):
            shaped = await shaped
        assert isinstance(shaped.result, ReadResourceResult)
        return shaped.result.contents

    # -- names --------------------------------------------------------------------------------

    @property
    def has_fixed_names(self) -> bool:
        """Whether all names are registered in this process."""
        return all(provider.has_fixed_names for provider in self.providers)

    def serves_itself(self, kind: str, name: str) -> bool:
        """Whether the server has a tool, prompt, resource or template, without its mounts."""
        if kind == "resource":
            return self.source.resources.matches(name)
        return name in self.registry(kind)

    def serves(self, kind: str, name: str) -> bool:
        """Whether the server or one that is mounted in it has this name."""
        if self.serves_itself(kind, name):
            return True
        found = None if self.mounts is None else self.mounts.find(kind, name)
        return found is not None and found[0].provider.serves(kind, found[1])

    def names(self, kind: str) -> list[str]:
        """Return all names, those of mounts included."""
        mounted = [] if self.mounts is None else self.mounts.names(kind)
        return [*self.registry(kind).names, *mounted]

    def check_names(self, check: Callable[[str, str], None]) -> Callable[[], None]:
        """Call `check` with kind and name of each new entry, until the result is called."""
        added = [(self.registry(kind).checks, functools.partial(check, kind)) for kind in KINDS]
        for checks, each in added:
            checks.append(each)

        def remove() -> None:
            for checks, each in added:
                checks.remove(each)

        return remove

    def registry(self, kind: str) -> Registry[Any]:
        """Return the registry of a kind."""
        source = self.source
        found: dict[str, Registry[Any]] = {
            "tool": source.tools.registry,
            "prompt": source.prompts.registry,
            "resource": source.resources.registry,
            "resource template": source.resources.templates_registry,
        }
        return found[kind]

    # -- questions about one entry --------------------------------------------------------------

    def header_params(self, name: str, call: Call) -> HeaderParams:
        """Return the parameters of a tool that HTTP repeats in headers."""
        found = self._find_mounted("tool", name)
        if found is not None:
            return found[0].provider.header_params(found[1], call)
        return self.source.tools.header_params(name, call)

    def find_tool(self, name: str) -> Tool | None:
        """Return the listing of a tool; None if it is not known in this process."""
        found = self._find_mounted("tool", name)
        if found is not None:
            return found[0].provider.find_tool(found[1])
        tool = self.source.tools.registry.get(name)
        return None if tool is None else tool.listing

    def is_search_tool(self, name: str) -> bool:
        """Whether this tool finds or calls other tools of its server."""
        found = self._find_mounted("tool", name)
        if found is not None:
            return found[0].provider.is_search_tool(found[1])
        return name in self.search_tools

    def templates_of(self, uri: str) -> list[str]:
        """Return the URI templates that match a URI; none for the URI of a resource."""
        if self.mounts is None or self.serves_itself("resource", uri):
            return self.source.resources.templates_of(uri)
        return self.mounts.templates_of(uri)

    def tags_of(self, kind: str, name: str) -> list[frozenset[str]]:
        """Return the tags of an entry; for a URI, those of all templates that may serve it."""
        found = self._find_mounted(kind, name)
        if found is not None:
            return found[0].provider.tags_of(kind, found[1])
        entry = self.registry(kind).get(name)
        if entry is not None:
            return [entry.requirements.tags]
        templates = self.templates_of(name) if kind == "resource" else ()
        return [tags for each in templates for tags in self.tags_of("resource template", each)]

    def is_resumable(self, name: str) -> bool:
        """Whether an interrupted task of this tool may run again."""
        found = self._find_mounted("tool", name)
        if found is not None:
            return found[0].provider.is_resumable(found[1])
        return self.source.tools.is_resumable(name)

    def resource_exists(self, call: Call, uri: str) -> bool:
        """Whether the caller can read this URI."""
        found = self._find_mounted("resource", uri)
        if found is not None:
            return found[0].provider.resource_exists(call, found[1])
        return self.source.resources.exists(call, uri)

    def resource_is_hidden(self, call: Call, uri: str) -> bool:
        """Whether the resource exists but the caller lacks the scopes for it."""
        found = self._find_mounted("resource", uri)
        if found is not None:
            return found[0].provider.resource_is_hidden(call, found[1])
        return self.source.resources.is_hidden(call, uri)

    async def watch(self, call: Call, uri: str, *, stream: bool = False) -> None:
        """Get ready to announce changes of a resource; those of this server are announced anyway.

        `stream`: for the time of this request instead of the client's session.
        """
        found = self._find_mounted("resource", uri)
        if found is not None:
            await found[0].provider.watch(call, found[1], stream=stream)

    async def unwatch(self, call: Call, uri: str | None = None, *, stream: bool = False) -> None:
        """Announce no more changes of this resource to the caller, of all without a URI."""
        if uri is None:
            for provider in self.providers:
                await provider.unwatch(call, stream=stream)
            return
        found = self._find_mounted("resource", uri)
        if found is not None:
            await found[0].provider.unwatch(call, found[1], stream=stream)

    def _find_mounted(self, kind: str, name: str) -> tuple[Found, str] | None:
        if self.mounts is None or self.serves_itself(kind, name):
            return None
        return self.mounts.find(kind, name)
