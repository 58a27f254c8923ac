"""`server.import_server()`: register the entries of another server once, as a copy."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from dovetail.core.options import Options
from dovetail.core.registry import Registry
from dovetail.core.uri_template import UriTemplate
from dovetail.errors import DuplicateError, UsageError
from dovetail.features.completion import Completions
from dovetail.features.prompts import Prompts
from dovetail.features.resources import Resources
from dovetail.features.tools import Tools
from dovetail.mount.names import Prefix
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.engine import Engine
from dovetail.runtime.provider import KINDS, Provider

__all__ = ["copy_entries"]


class _Copied(Protocol):
    """The parts of both servers."""

    name: str
    options: Options
    tools: Tools
    prompts: Prompts
    resources: Resources
    completions: Completions
    provider: Provider

    middleware: tuple[Any, ...]
    guard: AuthBackend | None
    engine: Engine


def copy_entries(source: _Copied, target: _Copied, prefix: Prefix) -> None:
    """Register copies of all entries; raises UsageError before anything is registered."""
    lost = list(_find_lost(source))
    if lost:
        raise UsageError(
            f"server {source.name!r} has {' and '.join(lost)}, which a copy would lose; mount it "
            "instead"
        )
    _refuse_duplicates(source, target, prefix)

    def shown(registry: Registry[Any]) -> list[Any]:
        return [each for each in registry if target.options.shows_tags(each.requirements.tags)]

    for tool in shown(source.tools.registry):
        renamed = copy.copy(tool)
        name = prefix.add(tool.listing.name)
        renamed.listing = msgspec.structs.replace(tool.listing, name=name)
        hidden = tool not in source.tools.registry.listed()
        target.tools.add_registered(name, renamed, hidden=hidden)
    for prompt in shown(source.prompts.registry):
        copied = copy.copy(prompt)
        name = prefix.add(prompt.listing.name)
        copied.listing = msgspec.structs.replace(prompt.listing, name=name)
        target.prompts.registry.add(name, copied, prompt.requirements)
    for resource in shown(source.resources.registry):
        fixed = copy.copy(resource)
        uri = prefix.add_to_uri(resource.listing.uri)
        fixed.listing = msgspec.structs.replace(resource.listing, uri=uri)
        target.resources.registry.add(uri, fixed, resource.requirements)
    for template in shown(source.resources.templates_registry):
        changed = copy.copy(template)
        text = prefix.add_to_uri(template.listing.uri_template)
        changed.listing = msgspec.structs.replace(template.listing, uri_template=text)
        changed.template = UriTemplate(text)
        target.resources.templates_registry.add(text, changed, template.requirements)
    target.completions.copy_from(source.completions, prefix.add, prefix.add_to_uri)


def _find_lost(source: _Copied) -> Iterator[str]:
    """Yield what the server has and copies would not have."""
    if not source.engine.lifespan.is_empty:
        yield "a lifespan"
    if source.middleware:
        yield "middleware"
    if source.guard is not None:
        yield "a guard"
    if source.provider.mounts is not None:
        yield "mounted servers"
    if not source.provider.has_fixed_names:
        yield "names that can change"
    if len(source.resources.lists.registry):
        yield "resource lists"


def _refuse_duplicates(source: _Copied, target: _Copied, prefix: Prefix) -> None:
    for kind in KINDS:
        is_uri = kind.startswith("resource")
        for name in source.provider.names(kind):
            if not all(map(target.options.shows_tags, source.provider.tags_of(kind, name))):
                continue
            outer = prefix.add_to_uri(name) if is_uri else prefix.add(name)
            if target.provider.serves(kind, outer):
                raise DuplicateError(
                    f"{kind} {outer!r} of server {source.name!r} is registered already by server "
                    f"{target.name!r}; choose another prefix"
                )
