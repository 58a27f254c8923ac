"""`View`: the entries of a mounted server as clients of the outer server see them.

Filters hide entries. Transforms change the names, descriptions and arguments of tools.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Raw

from dovetail.core.principal import Principal
from dovetail.core.uri_template import UnsafeValue, UriTemplate
from dovetail.errors import ToolError, UsageError
from dovetail.mount.names import EntryKind, Prefix
from dovetail.runtime.provider import Provider
from dovetail.spec.models import CallToolParams
from dovetail.wire import codec

__all__ = [
    "ArgumentTransform",
    "Filter",
    "ToolTransform",
    "View",
    "Visible",
    "check_arguments",
    "spellings",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentTransform:
    """What to change about one argument of a tool."""

    name: str | None = None
    description: str | None = None
    # The value that every call gets; clients do not see the argument.
    value: Any = UNSET
    # Clients do not see the argument and cannot set it; the tool uses its default.
    hidden: bool = False

    @property
    def is_listed(self) -> bool:
        """Whether clients see the argument."""
        return not self.hidden and self.value is UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTransform:
    """What to change about one tool of a mounted server."""

    name: str | None = None
    title: str | None = None
    description: str | None = None
    # Clients neither see the tool nor can they call it.
    hidden: bool = False
    # By the name that the argument has in the mounted server.
    arguments: Mapping[str, ArgumentTransform] = field(default_factory=dict)

    def outer_argument(self, name: str) -> str:
        """Return the name of an argument that clients use."""
        transform = self.arguments.get(name)
        return name if transform is None or transform.name is None else transform.name


def _change_listing(entry: Mapping[str, Any], transform: ToolTransform) -> dict[str, Any]:
    """Return the listing of a tool with the changes; the name is changed by the mount."""
    changed = dict(entry)
    for member in ("title", "description"):
        text = getattr(transform, member)
        if text is not None:
            changed[member] = text
    schema = entry.get("inputSchema")
    if transform.arguments and isinstance(schema, dict):
        changed["inputSchema"] = _change_schema(schema, transform)
    return changed


def _change_schema(schema: Mapping[str, Any], transform: ToolTransform) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, given in (schema.get("properties") or {}).items():
        change = transform.arguments.get(name, _UNCHANGED)
        if not change.is_listed:
            continue
        property_ = given
        if change.description is not None and isinstance(given, dict):
            property_ = {**given, "description": change.description}
        properties[transform.outer_argument(name)] = property_
    changed = {**schema, "properties": properties}
    required = [
        transform.outer_argument(name)
        for name in schema.get("required") or ()
        if transform.arguments.get(name, _UNCHANGED).is_listed
    ]
    changed.pop("required", None)
    return {**changed, "required": required} if required else changed


def _change_arguments(params: CallToolParams, transform: ToolTransform) -> CallToolParams:
    """Return the params of a call with the arguments that the mounted server expects.

    Raises ToolError for arguments that clients may not set, so that the model can correct it.
    """
    if not transform.arguments:
        return params
    try:
        given = (
            {} if params.arguments is UNSET else codec.decode_as(dict[str, Any], params.arguments)
        )
    except msgspec.ValidationError:
        return params  # the mounted server says what is wrong
    inner = {
        change.name: name
        for name, change in transform.arguments.items()
        if change.name is not None and change.is_listed
    }
    for name, change in transform.arguments.items():
        is_other = inner.get(name) is not None
        if name in given and not is_other and (not change.is_listed or change.name is not None):
            raise ToolError(f"Invalid arguments for {params.name}: {name}: unknown argument")
    values = {inner.get(name, name): value for name, value in given.items()}
    for name, change in transform.arguments.items():
        if change.value is not UNSET:
            values[name] = change.value
    return msgspec.structs.replace(params, arguments=Raw(codec.encode(values)))


def check_arguments(tool: str, schema: Mapping[str, Any], transform: ToolTransform) -> None:
    """Raise UsageError if the transform does not fit the input schema of the tool."""
    known = schema.get("properties") or {}
    required = set(schema.get("required") or ())
    for name, change in transform.arguments.items():
        if name not in known:
            raise UsageError(
                f"tool {tool!r} has no argument {name!r}; it has "
                f"{', '.join(map(repr, known)) or 'none'}"
            )
        if change.hidden and change.value is UNSET and name in required:
            raise UsageError(
                f"the argument {name!r} of tool {tool!r} is required, so it cannot be hidden "
                "without a value="
            )
    names = [transform.outer_argument(name) for name in known]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UsageError(f"tool {tool!r} would have two arguments {sorted(twice)[0]!r}")


_UNCHANGED = ArgumentTransform()


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
            entry = _change_listing(entry, self._tools[inner])
        return {**entry, kind.key: outer}

    def arguments(self, inner: str, params: CallToolParams) -> CallToolParams:
        """Return the params of a tool call with the arguments of the mounted server."""
        transform = self._tools.get(inner)
        return params if transform is None else _change_arguments(params, transform)

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
