"""`View`: the entries of a mounted server as clients of the outer server see them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from dovetail.core.principal import Principal
from dovetail.core.uri_template import UnsafeValue, UriTemplate
from dovetail.errors import UsageError
from dovetail.mount.kinds import EntryKind
from dovetail.mount.names import Prefix
from dovetail.mount.transform import (
    ToolTransform,
    change_arguments,
    change_listing,
    check_arguments,
)
from dovetail.runtime.provider import Provider
from dovetail.spec.models import CallToolParams

__all__ = [
    "Filter",
    "View",
    "Visible",
    "spellings",
]


class Filter:
    """Names and patterns of entries; those of resources are URIs and URI templates."""

    def __init__(self, include: Iterable[str] | None = None, exclude: Iterable[str] = ()) -> None:
        self._include = None if include is None else _Patterns(include, "include")
        self._exclude = _Patterns(exclude, "exclude")

    @property
    def is_empty(self) -> bool:
        """Whether it hides nothing."""
        return self._include is None and not self._exclude.names

    def shows(self, name: str) -> bool:
        """Whether clients can use the entry of this name."""
        if self._include is not None and not self._include.match(name):
            return False
        return not self._exclude.match(name)

    def shows_uri(self, uri: str, templates: Collection[str] = ()) -> bool:
        """Whether clients can read this URI; `templates` are those that serve it, if any.

        A template decodes what it gets, so a URI is judged in all its spellings. Of several
        templates, the one that runs depends on the caller, so all of them count.
        """
        include, exclude = self._include, self._exclude
        names = list(spellings(uri))
        if include is not None and not (
            all(map(include.match_uri, names)) or (templates and all(map(include.match, templates)))
        ):
            return False
        return not any(map(exclude.match_uri, names)) and not any(map(exclude.match, templates))


class _Patterns:
    def __init__(self, given: Iterable[str], where: str) -> None:
        if isinstance(given, str):
            raise UsageError(f"{where} is a list of names or patterns, [{given!r}] for one")
        self.names = tuple(given)
        self._templates = list(_templates_in(self.names))

    def match(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.names)

    def match_uri(self, uri: str) -> bool:
        """Whether a pattern or the template in a pattern has this URI."""
        return self.match(uri) or any(_matches(template, uri) for template in self._templates)


def spellings(uri: str) -> Iterator[str]:
    """Yield a URI as it was given, and decoded if that makes a difference."""
    yield uri
    decoded = unquote(uri)
    if decoded != uri:
        yield decoded


def _templates_in(patterns: Iterable[str]) -> Iterator[UriTemplate]:
    for pattern in patterns:
        if "{" in pattern:
            try:
                yield UriTemplate(pattern)
            except UsageError:
                continue  # a pattern for names that have braces


def _matches(template: UriTemplate, uri: str) -> bool:
    try:
        return template.match(uri) is not None
    except UnsafeValue:
        return True


# Whether a principal may use an entry of this kind and (inner) name.
Visible = Callable[[Principal | None, str, str], bool]


class View:
    """Prefix, filters and transforms of a mount."""

    def __init__(
        self,
        prefix: Prefix,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        tools: Mapping[str, ToolTransform] | None = None,
        visible: Visible | None = None,
        shows_tags: Callable[[frozenset[str]], bool] | None = None,
    ) -> None:
        self.prefix = prefix
        self._filter = Filter(include, exclude)
        self._tools = dict(tools or {})
        self.has_transforms: bool = bool(self._tools)
        self.visible = visible
        # Whether some entries are hidden or changed.
        self.is_partial: bool = (
            not self._filter.is_empty
            or bool(tools)
            or visible is not None
            or shows_tags is not None
        )
        # Whether the outer server serves entries with these tags; None: all of them.
        self._shows_tags = shows_tags
        self._provider: Provider | None = None
        # Inner names of tools by the names that they get.
        self._renamed = {
            each.name: inner for inner, each in self._tools.items() if each.name is not None
        }
        given = [each.name for each in self._tools.values() if each.name is not None]
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"two tools would have the name {twice!r}")

    def attach(self, provider: Provider) -> None:
        """Set the server that this is the view of.

        Raises UsageError if a transform names a tool or an argument that does not exist, and for
        a server in search mode, whose `call_tool` calls every tool.
        """
        self._provider = provider
        if any(map(self._forwards, provider.names("tool"))):
            raise UsageError(
                f"server {provider.source.name!r} is in search mode: its tools cannot be filtered "
                "or changed where it is mounted; use tool_search in the outer server instead"
            )
        if not provider.has_fixed_names:
            return
        known = provider.names("tool")
        for name, transform in self._tools.items():
            if name not in known:
                raise UsageError(
                    f"server {provider.source.name!r} has no tool {name!r} to change; it has "
                    f"{', '.join(map(repr, known)) or 'none'}"
                )
            tool = provider.source.tools.registry.get(name)
            if tool is not None:
                check_arguments(name, tool.listing.input_schema, transform)

    def to_outer(self, kind: EntryKind, inner: str) -> str | None:
        """Return the name that clients use; None if they cannot see the entry."""
        if kind.name == "resource":
            shown = self._filter.is_empty or self._filter.shows_uri(inner, self._templates(inner))
        else:
            shown = self._filter.shows(inner)
        if not shown or not self._has_shown_tags(kind, inner):
            return None
        if kind.is_uri:
            return self.prefix.add_to_uri(inner)
        if kind.name == "tool":
            transform = self._tools.get(inner)
            if transform is not None and transform.hidden:
                return None
            if transform is not None and transform.name is not None:
                return self.prefix.add(transform.name)
            if inner in self._renamed or self._forwards(inner):
                return None  # another tool has this name now, or it calls hidden tools
        return self.prefix.add(inner)

    def to_inner(self, kind: EntryKind, outer: str) -> str | None:
        """Return the name in the mounted server; None if no visible entry can have this name."""
        inner = self.prefix.remove_from_uri(outer) if kind.is_uri else self.prefix.remove(outer)
        if inner is None:
            return None
        if kind.name == "tool":
            inner = self._renamed.get(inner, inner)
        return inner if self.to_outer(kind, inner) == outer else None

    def listing(self, kind: EntryKind, entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return the entry of a list as clients see it; None if they do not."""
        inner: str = entry[kind.key]
        outer = self.to_outer(kind, inner)
        if outer is None:
            return None
        if kind.name == "tool" and inner in self._tools:
            entry = change_listing(entry, self._tools[inner])
        return {**entry, kind.key: outer}

    def arguments(self, inner: str, params: CallToolParams) -> CallToolParams:
        """Return the params of a tool call with the arguments of the mounted server."""
        transform = self._tools.get(inner)
        return params if transform is None else change_arguments(params, transform)

    def shows(self, principal: Principal | None, kind: str, inner: str) -> bool:
        """Whether `visible` shows this entry to a caller; a URI in all its spellings."""
        visible = self.visible
        if visible is None:
            return True
        if kind != "resource":
            return visible(principal, kind, inner)
        return all(visible(principal, kind, uri) for uri in spellings(inner)) and all(
            visible(principal, "resource template", each) for each in self._templates(inner)
        )

    def _has_shown_tags(self, kind: EntryKind, inner: str) -> bool:
        if self._shows_tags is None or self._provider is None:
            return True
        return all(map(self._shows_tags, self._provider.tags_of(kind.name, inner)))

    def _templates(self, uri: str) -> list[str]:
        return [] if self._provider is None else self._provider.templates_of(uri)

    def _forwards(self, tool: str) -> bool:
        provider = self._provider
        return self.is_partial and provider is not None and provider.is_search_tool(tool)
