"""`View`: the entries of a mounted server as clients of the outer server see them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from dovetail.compose.mount.kinds import Kind
from dovetail.compose.mount.names import Prefix
from dovetail.compose.mount.transform import (
    ToolTransform,
    change_arguments,
    change_listing,
    check_arguments,
)
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.runtime.provider import Provider
from dovetail.spec.models import CallToolParams

__all__ = ["View", "Visible"]

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
    ) -> None:
        self.prefix = prefix
        self._include = None if include is None else _patterns(include, "include")
        self._exclude = _patterns(exclude, "exclude")
        self._tools = dict(tools or {})
        self.has_transforms = bool(self._tools)
        self.visible = visible
        # Inner names of tools by the names that they get.
        self._renamed = {
            each.name: inner for inner, each in self._tools.items() if each.name is not None
        }
        given = [each.name for each in self._tools.values() if each.name is not None]
        twice = next((name for name in given if given.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"two tools would have the name {twice!r}")

    def check(self, provider: Provider) -> None:
        """Raise UsageError if a transform names a tool or an argument that does not exist."""
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

    def to_outer(self, kind: Kind, inner: str) -> str | None:
        """Return the name that clients use; None if they cannot see the entry."""
        if not self._shows(inner):
            return None
        if kind.is_uri:
            return self.prefix.add_to_uri(inner)
        if kind.name == "tool":
            transform = self._tools.get(inner)
            if transform is not None and transform.hidden:
                return None
            if transform is not None and transform.name is not None:
                return self.prefix.add(transform.name)
            if inner in self._renamed:
                return None  # another tool has this name now
        return self.prefix.add(inner)

    def to_inner(self, kind: Kind, outer: str) -> str | None:
        """Return the name in the mounted server; None if no visible entry can have this name."""
        inner = self.prefix.remove_from_uri(outer) if kind.is_uri else self.prefix.remove(outer)
        if inner is None:
            return None
        if kind.name == "tool":
            inner = self._renamed.get(inner, inner)
        return inner if self.to_outer(kind, inner) == outer else None

    def listing(self, kind: Kind, entry: dict[str, Any]) -> dict[str, Any] | None:
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

    def _shows(self, inner: str) -> bool:
        if self._include is not None and not _matches(inner, self._include):
            return False
        return not _matches(inner, self._exclude)


def _patterns(given: Iterable[str], where: str) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f"{where} is a list of names or patterns, [{given!r}] for one")
    return tuple(given)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
