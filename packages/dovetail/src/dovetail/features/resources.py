"""Resources and resource templates (server/resources)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, TypedDict, Union, Unpack, get_args, get_origin

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome, Shaped
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.options import Options, read_tags
from dovetail.core.principal import Requirements, may_use, read_scopes, visibility_of
from dovetail.core.registry import BindExtras, EntryExtras, Registry
from dovetail.core.schema import ArgumentsSchema, arguments_schema
from dovetail.core.uri_template import UnsafeValue, UriTemplate, is_template, is_uri
from dovetail.errors import (
    DuplicateError,
    InsufficientScopeError,
    InvalidParamsError,
    InvalidValueError,
    ResourceNotFoundError,
    RpcError,
    UsageError,
)
from dovetail.features.content import EmbeddedResource, Image, to_contents, to_json
from dovetail.features.handlers import HandlerSpec, author_error, check_keywords, inspect_handler
from dovetail.features.listing import AnnotationsDict, answer_page, read_annotations
from dovetail.features.resource_lists import ResourceLists
from dovetail.spec.fields import project
from dovetail.spec.models import (
    Annotations,
    BlobContents,
    Icon,
    ListParams,
    Meta,
    ReadResourceParams,
    ReadResourceResult,
    Resource,
    ResourceContents,
    ResourceTemplate,
    TextContents,
)
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = ["ResourceOptions", "Resources"]

_MOST_SUGGESTED = 5


class ResourceOptions(TypedDict, total=False):
    """The keywords of `@server.resource` and `server.resources.add`."""

    name: str | None
    """Another name than the function's."""
    title: str | None
    """A name for people to read."""
    description: str | None
    """Another text than the docstring's."""
    mime_type: str | None
    """The MIME type of the contents; by default it follows from what the function returns."""
    annotations: Annotations | AnnotationsDict | None
    """Hints for clients: audience, priority, last change."""
    icons: list[Icon] | None
    """Images for user interfaces."""
    size: int | None
    """The size of the contents in bytes, if it is known."""
    timeout: float | None
    """Seconds the handler may take; by default `Options.timeout`."""
    meta: Meta | None
    """Members for the `_meta` of the listing."""
    blocking: bool | None
    """False for a plain function that never blocks: it runs on the event loop, not in a thread."""
    ttl_ms: int
    """Milliseconds for which clients may cache the contents; modern era."""
    cache_scope: Literal["public", "private"]
    """Whether users may share cached contents: "public" or "private"."""
    scopes: Iterable[str]
    """The scopes that a caller needs; for other callers the entry does not exist."""
    tags: Iterable[str]
    """Tags that `Options.include_tags`, `Options.exclude_tags` and mounts select by."""
    extensions: Sequence[object]
    """Options of the server's extensions."""


class RegisteredResource:
    """A resource with a fixed URI."""

    __slots__ = ("extras", "hint", "listing", "requirements", "spec")

    def __init__(
        self,
        spec: HandlerSpec,
        listing: Resource,
        hint: CacheHint,
        requirements: Requirements,
        extras: EntryExtras,
    ) -> None:
        self.spec: HandlerSpec = spec
        self.listing: Resource = listing
        self.hint: CacheHint = hint
        self.requirements: Requirements = requirements
        self.extras: EntryExtras = extras


class RegisteredTemplate:
    """A resource template: one handler for all URIs that match."""

    __slots__ = ("arguments", "extras", "hint", "listing", "requirements", "spec", "template")

    def __init__(
        self,
        spec: HandlerSpec,
        listing: ResourceTemplate,
        hint: CacheHint,
        requirements: Requirements,
        extras: EntryExtras,
        template: UriTemplate,
        arguments: ArgumentsSchema,
    ) -> None:
        self.spec: HandlerSpec = spec
        self.listing: ResourceTemplate = listing
        self.hint: CacheHint = hint
        self.requirements: Requirements = requirements
        self.extras: EntryExtras = extras
        self.template: UriTemplate = template
        self.arguments: ArgumentsSchema = arguments


class Resources:
    """`server.resources`: add, remove and list resources and templates at any time."""

    def __init__(
        self,
        options: Options,
        on_change: Callable[[], None],
        bind_extras: BindExtras,
    ) -> None:
        self._options = options
        self._bind_extras = bind_extras
        self.registry: Registry[RegisteredResource] = Registry(
            "resource", page_size=options.page_size, on_change=on_change
        )
        self.templates_registry: Registry[RegisteredTemplate] = Registry(
            "resource template", page_size=options.page_size, on_change=on_change
        )
        self.lists: ResourceLists = ResourceLists(self.registry, options.page_size, on_change)

    @author_error
    def add(
        self, uri: str, function: Callable[..., Any], **options: Unpack[ResourceOptions]
    ) -> Resource | ResourceTemplate:
        """Register a function under a URI or a template and notify clients that listen."""
        check_keywords(options, ResourceOptions)
        spec = inspect_handler(
            function,
            kind="resource",
            name=options.get("name"),
            blocking=options.get("blocking"),
            timeout=options.get("timeout"),
        )
        common: dict[str, Any] = {
            "name": spec.name,
            "title": options.get("title"),
            "description": options.get("description") or spec.description.summary or None,
            "mime_type": options.get("mime_type") or _mime_type_of(spec.returns),
            "annotations": read_annotations(Annotations, options.get("annotations"), spec.where),
            "icons": options.get("icons"),
            "meta": options.get("meta"),
        }
        hint = _hint(options.get("ttl_ms", 0), options.get("cache_scope", "private"), spec.where)
        own_tags = read_tags(options.get("tags", ()), spec.where)
        scopes = read_scopes(options.get("scopes", ()), spec.where)
        requirements = Requirements(scopes, tags=own_tags)
        size = options.get("size")
        if not self._options.shows_tags(own_tags):
            if is_template(uri):
                return ResourceTemplate(uri_template=uri, **common)
            return Resource(uri=uri, size=size, **common)
        extras = self._bind_extras(options.get("extensions", ()), spec.where)
        if is_template(uri):
            return self._add_template(uri, spec, common, hint, requirements, extras)
        return self._add_fixed(uri, spec, {**common, "size": size}, hint, requirements, extras)

    def _add_fixed(
        self,
        uri: str,
        spec: HandlerSpec,
        common: dict[str, Any],
        hint: CacheHint,
        requirements: Requirements,
        extras: EntryExtras,
    ) -> Resource:
        if not is_uri(uri):
            raise UsageError(
                f"{spec.where}: a resource needs a URI such as notes://today, got {uri!r}"
            )
        if spec.required:
            unfilled = spec.required[0]
            raise UsageError(
                f"{spec.where}: the URI {uri!r} has no variable for parameter {unfilled!r}; "
                f"write {{{unfilled}}} into it or give the parameter a default"
            )
        listing = Resource(uri=uri, **common)
        resource = RegisteredResource(spec, listing, hint, requirements, extras)
        self.registry.add(uri, resource, requirements)
        return listing

    def _add_template(
        self,
        uri: str,
        spec: HandlerSpec,
        common: dict[str, Any],
        hint: CacheHint,
        requirements: Requirements,
        extras: EntryExtras,
    ) -> ResourceTemplate:
        template = UriTemplate(uri)
        arguments = arguments_schema(
            spec.function,
            skip=spec.skipped,
            providers=spec.providers,
            accept_json_strings=True,
            where=spec.where,
        )
        missing = set(template.variables) - set(arguments.names)
        unfilled = (arguments.required - set(template.variables)) | (
            arguments.required & template.optional
        )
        if missing or unfilled:
            raise UsageError(
                f"{spec.where} does not match the template {uri!r}: "
                + "; ".join(
                    [f"variable {name!r} has no parameter" for name in sorted(missing)]
                    + [f"parameter {name!r} is not always in the URI, give it a default"
                       for name in sorted(unfilled)]
                )
            )  # fmt: skip
        for each in self.templates_registry:
            if uri != each.template.text and template.is_same_as(each.template):
                raise DuplicateError(
                    f"{spec.where}: the template {uri!r} matches the same URIs as "
                    f"{each.template.text!r} of {each.spec.where}; remove one of them or change "
                    "its URI"
                )
        listing = ResourceTemplate(uri_template=uri, **common)
        self.templates_registry.add(
            uri,
            RegisteredTemplate(spec, listing, hint, requirements, extras, template, arguments),
            requirements,
        )
        return listing

    def remove(self, uri: str) -> None:
        """Remove a resource or template and notify clients that listen for changes."""
        (self.templates_registry if is_template(uri) else self.registry).remove(uri)

    def methods(self) -> dict[str, MethodHandler]:
        """Return the handlers of the methods of this feature."""
        return {
            "resources/list": MethodHandler(self._list, needs_task=True),
            "resources/templates/list": MethodHandler(self._list_templates),
            "resources/read": MethodHandler(self._read, needs_task=True),
        }

    def __len__(self) -> int:
        return len(self.registry) + len(self.templates_registry) + len(self.lists.registry)

    def _suggestion(self, call: Call, uri: str) -> str:
        visibility = visibility_of(call, self.templates_registry)
        shown = self.templates_registry.page(None, visibility).entries[:_MOST_SUGGESTED]
        texts = [template.template.text for template in shown]
        hint = self.registry.suggestion(uri, visibility_of(call, self.registry))
        known = hint if len(self.registry) or not texts else ""
        return f"{known} (templates: {', '.join(texts)})" if texts else known

    def matches(self, uri: str) -> bool:
        """Whether a resource or a template has this URI, without a check of permissions."""
        return uri in self.registry or bool(self.templates_of(uri))

    def templates_of(self, uri: str) -> list[str]:
        """Return the URI templates that match a URI; none for the URI of a resource."""
        if uri in self.registry:
            return []
        return [each.template.text for each in self.templates_registry if _is_match(each, uri)]

    def exists(self, call: Call, uri: str) -> bool:
        """Whether the caller can read this URI."""
        try:
            self._find(call, uri)
        except InsufficientScopeError:
            raise
        except RpcError:
            return False
        return True

    def is_hidden(self, call: Call, uri: str) -> bool:
        """Whether the resource exists but the caller lacks the scopes for it."""
        if not (self.registry.scopes or self.templates_registry.scopes):
            return False
        try:
            return not self.exists(call, uri)
        except InsufficientScopeError:
            return True

    def _list(self, call: Call) -> Encoded | Coroutine[Any, Any, Encoded]:
        if not len(self.lists.registry):
            return answer_page(call, self.registry, "resources", _listed, self._list_hint())
        params: ListParams = call.params  # type: ignore[assignment]
        return self.lists.answer(call, params.cursor, self._list_fixed, self._list_hint())

    def _list_fixed(
        self, call: Call, cursor: str | None
    ) -> tuple[list[dict[str, Any]], str | None]:
        page = self.registry.page(cursor, visibility_of(call, self.registry))
        revision = call.era.revision
        return [_listed(entry, revision) for entry in page.entries], page.next_cursor

    def _list_templates(self, call: Call) -> Encoded:
        return answer_page(
            call, self.templates_registry, "resourceTemplates", _listed, self._list_hint()
        )

    def _list_hint(self) -> CacheHint:
        return CacheHint(self._options.list_ttl_ms, self._options.list_scope)

    def find_template(self, call: Call, uri: str) -> RegisteredTemplate:
        """Return the template that a completion request names by its text."""
        found = self.templates_registry.get(uri)
        if found is not None and _is_for(call, found):
            return found
        registry = self.templates_registry
        hint = registry.suggestion(uri, visibility_of(call, registry))
        raise InvalidParamsError(f"Unknown resource template: {uri[:200]!r}{hint}")

    def _read(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        params: ReadResourceParams = call.params  # type: ignore[assignment]
        uri = params.uri
        resource, values = self._find(call, uri)
        wrap = resource.extras.wrap
        if wrap is None:
            return self._run(call, uri, resource, values)
        handler = MethodHandler(lambda call: self._run(call, uri, resource, values))
        return wrap(handler).run(call)

    def read(self, call: Call, uri: str) -> Shaped | Coroutine[Any, Any, Shaped]:
        """Find the resource, run its handler and return the result."""
        return self._run(call, uri, *self._find(call, uri))

    def _run(
        self,
        call: Call,
        uri: str,
        resource: RegisteredResource | RegisteredTemplate,
        values: dict[str, Any],
    ) -> Shaped | Coroutine[Any, Any, Shaped]:
        spec = resource.spec

        def shape(call: Call, value: Any) -> Shaped:
            try:
                contents = _contents(value, uri, resource.listing.mime_type)
            except UsageError as error:
                raise spec.reject(value, error) from None
            return Shaped(ReadResourceResult(contents=contents), resource.hint)

        return call.services.runner.start(call, spec.handler, spec.arguments(call, values), shape)

    def _find(
        self, call: Call, uri: str
    ) -> tuple[RegisteredResource | RegisteredTemplate, dict[str, Any]]:
        fixed = self.registry.get(uri)
        if fixed is not None and _is_for(call, fixed):
            return fixed, {}
        for template in () if fixed is not None else self.templates_registry:
            try:
                matched = template.template.match(uri)
                if matched is not None and _is_for(call, template):
                    return template, template.arguments.decode(codec.encode(matched))
            except UnsafeValue as error:
                if not _is_for(call, template):
                    continue
                # resources.security.traversal (2026-07-28 server/resources)
                raise InvalidParamsError(f"Refused: {error}", {"uri": uri}) from None
            except InvalidValueError as error:
                raise InvalidParamsError(
                    f"{uri!r} does not fit {template.listing.uri_template!r}: {error}",
                    {"uri": uri},
                ) from None
        message = f"Resource not found: {uri[:200]!r}{self._suggestion(call, uri)}"
        raise ResourceNotFoundError(uri[:2000], message)

    def templates(self) -> list[ResourceTemplate]:
        """Return the listings of the templates, in order."""
        return [template.listing for template in self.templates_registry]

    def list(self) -> list[Resource]:
        """Return the listings of the resources with a fixed URI, in order."""
        return [resource.listing for resource in self.registry]


def _is_match(template: RegisteredTemplate, uri: str) -> bool:
    try:
        return template.template.match(uri) is not None
    except UnsafeValue:
        return True


def _is_for(call: Call, entry: RegisteredResource | RegisteredTemplate) -> bool:
    return not entry.requirements.scopes or may_use(call, entry.requirements)


def _hint(ttl_ms: int, scope: Literal["public", "private"], where: str) -> CacheHint:
    if ttl_ms < 0 or scope not in ("public", "private"):
        raise UsageError(
            f"{where}: ttl_ms must not be negative and cache_scope is 'public' or 'private', got "
            f"{ttl_ms} and {scope!r}"
        )
    return CacheHint(ttl_ms, scope)


def _mime_type_of(returns: Any) -> str | None:
    # None means "not found", so it says nothing about the contents.
    kinds = [kind for kind in get_args(returns) if kind is not NoneType]
    if isinstance(returns, UnionType) or get_origin(returns) is Union:
        returns = kinds[0] if len(kinds) == 1 else Any
    if returns is str:
        return "text/plain"
    if returns is bytes or returns in (inspect.Parameter.empty, Any, Image):
        return None
    if returns in (TextContents, BlobContents, EmbeddedResource, list):
        return None
    return "application/json"


def _listed(entry: RegisteredResource | RegisteredTemplate, revision: Revision) -> dict[str, Any]:
    listing = project(entry.listing, revision)
    if entry.extras.change_entry is not None:
        entry.extras.change_entry(listing, revision)
    return listing


def _contents(value: Any, uri: str, mime_type: str | None) -> list[ResourceContents]:
    if isinstance(value, TextContents | BlobContents):
        return [value]
    if isinstance(value, str | bytes):
        return [to_contents(uri, value, mime_type)]
    if isinstance(value, Image):
        return [to_contents(uri, value.data, value.mime_type)]
    if isinstance(value, EmbeddedResource):
        return [to_contents(value.uri, value.data, value.mime_type)]
    if value is None:
        # resources.notfound.no-empty (2026-07-28 server/resources): an error, not empty contents
        raise ResourceNotFoundError(uri)
    if (
        isinstance(value, list | tuple)
        and value
        and all(isinstance(item, TextContents | BlobContents | EmbeddedResource) for item in value)
    ):
        return [_contents(item, uri, mime_type)[0] for item in value]
    text = to_json(value)
    return [TextContents(uri=uri, mime_type=mime_type or "application/json", text=text)]
