"""Resource lists: author functions that list resources page by page.

They are for sets too large to register one by one. `resources/list` returns the registered
resources first, then those of each list in the order of registration. The cursor of a list is any
string; the cursor that clients get contains it. The server stores nothing of a list; a template
reads its resources.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from dovetail.core.call import Call
from dovetail.core.cursor import decode_text_cursor, encode_text_cursor
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.principal import Requirements, has_scopes, read_scopes
from dovetail.core.registry import Registry
from dovetail.core.uri_template import is_uri
from dovetail.errors import UsageError
from dovetail.features.handlers import HandlerSpec, author_error, check_keywords, inspect_handler
from dovetail.spec.fields import project
from dovetail.spec.models import Resource

__all__ = ["RegisteredList", "ResourceListOptions", "ResourceLists", "ResourcePage"]

# The same as in the registry, so that errors about cursors read the same.
_KIND = "resource"
# The limit if no page size is set, so that a list is never asked for everything.
_USUAL_PAGE = 100
_CURSOR, _LIMIT = "cursor", "limit"


class ResourceListOptions(TypedDict, total=False):
    """The keywords of `@server.resource_list`."""

    name: str | None
    """Another name than the function's."""
    timeout: float | None
    """Seconds the handler may take; by default `Options.timeout`."""
    blocking: bool | None
    """False for a plain function that never blocks: it runs on the event loop, not in a thread."""
    scopes: Iterable[str]
    """The scopes that a caller needs; for other callers the entry does not exist."""


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some resources in order and the cursor of the next page, None on the last page."""

    resources: Sequence[Resource]
    cursor: str | None = None


class RegisteredList:
    """A resource list: its handler and its place among the lists."""

    __slots__ = ("number", "requirements", "spec", "takes_limit")

    def __init__(self, spec: HandlerSpec, requirements: Requirements, number: int) -> None:
        names = {each.name for each in spec.parameters}
        if _CURSOR not in names or names - {_CURSOR, _LIMIT}:
            raise UsageError(
                f"{spec.where}: a resource list takes cursor (str, None for the first page) and "
                "optionally limit (int) and a Context; this one takes "
                f"{', '.join(sorted(names)) or 'nothing'}"
            )
        self.spec: HandlerSpec = spec
        self.requirements: Requirements = requirements
        self.number: int = number
        self.takes_limit: bool = _LIMIT in names

    def arguments(self, call: Call, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return the keyword arguments for one page."""
        values: dict[str, Any] = {_CURSOR: cursor}
        if self.takes_limit:
            values[_LIMIT] = limit
        return self.spec.arguments(call, values)

    def check(self, found: Any, cursor: str | None) -> ResourcePage:
        """Return `found` if it is a valid page; raises UsageError."""
        try:
            return _check_page(found, cursor)
        except UsageError as error:
            raise self.spec.reject(found, error) from None


class ResourceLists:
    """`server.resources.lists`: the resource lists of a server."""

    def __init__(
        self, fixed: Registry[Any], page_size: int | None, on_change: Callable[[], None]
    ) -> None:
        self._fixed = fixed
        self._page_size = page_size or _USUAL_PAGE
        self.registry: Registry[RegisteredList] = Registry("resource list", on_change=on_change)

    @author_error
    def add(self, function: Callable[..., Any], **options: Unpack[ResourceListOptions]) -> None:
        """Register a function that takes a cursor and returns a `ResourcePage`."""
        check_keywords(options, ResourceListOptions)
        spec = inspect_handler(
            function,
            kind="resource list",
            name=options.get("name"),
            blocking=options.get("blocking"),
            timeout=options.get("timeout"),
        )
        requirements = Requirements(read_scopes(options.get("scopes", ()), spec.where))
        # Cursors contain the number of the list, which is the same in every process of a server.
        number = len(self.registry) + 1
        self.registry.add(spec.name, RegisteredList(spec, requirements, number), requirements)

    def answer(
        self,
        call: Call,
        cursor: str | None,
        listed: Callable[[Call, str | None], tuple[list[dict[str, Any]], str | None]],
        hint: CacheHint,
    ) -> Encoded | Coroutine[Any, Any, Encoded]:
        """Return one page; `listed` gives the registered resources and their next cursor."""
        if self._is_personal(call):
            # caching.scope-same-pages (2026-07-28 server/utilities/caching): same on all pages
            hint = hint._replace(scope="private")
        start = None if cursor is None else decode_text_cursor(cursor, _KIND, salt=_KIND)
        entries, following = ([], None) if start is not None else listed(call, cursor)
        # pagination.no-duplicates: all registered resources come before the first list
        if following is not None:
            return _complete(call, entries, following, hint)
        number, own = start or (0, "")
        shown = [
            each
            for each in self.registry
            if each.number >= number and has_scopes(call, each.requirements)
        ]
        limit = self._page_size - len(entries)
        if not shown or limit < 1:
            return _complete(call, entries, _cursor_of(shown), hint)
        first, others = shown[0], shown[1:]
        given = own if own and first.number == number else None

        def shape(call: Call, found: Any) -> Encoded:
            page = first.check(found, given)
            entries.extend(project(each, call.era.revision) for each in page.resources)
            following = (
                _cursor_of(others) if page.cursor is None else _cursor_of([first], page.cursor)
            )
            return _complete(call, entries, following, hint)

        arguments = first.arguments(call, given, limit)
        return call.services.runner.start(call, first.spec.handler, arguments, shape)

    def _is_personal(self, call: Call) -> bool:
        """Whether callers may get different lists."""
        return bool(
            call.services.permission is not None
            or self._fixed.scopes
            or self.registry.scopes
            or any(each.spec.uses_context for each in self.registry)
        )


def _check_page(found: Any, cursor: str | None) -> ResourcePage:
    if not isinstance(found, ResourcePage):
        raise UsageError(
            "a resource list must return a ResourcePage(resources, cursor), got "
            f"{type(found).__name__}"
        )
    for resource in found.resources:
        if not isinstance(resource, Resource):
            raise UsageError(f"the page has a {type(resource).__name__} instead of a Resource")
        if not is_uri(resource.uri):
            raise UsageError(f"a resource needs a URI such as notes://today, got {resource.uri!r}")
    following: Any = found.cursor
    if following is not None and (not isinstance(following, str) or not following):
        raise UsageError(
            f"a cursor is a string that is not empty, or None on the last page, got {following!r}"
        )
    if following is not None and following == cursor:
        raise UsageError(
            f"the page has the cursor that it was called with, {cursor!r}, so clients would "
            "request it forever; return None on the last page"
        )
    return found


def _cursor_of(lists: Sequence[RegisteredList], own: str = "") -> str | None:
    """Return the cursor of the first of these lists: at its start or at its own cursor."""
    return encode_text_cursor(_KIND, lists[0].number, own, salt=_KIND) if lists else None


def _complete(
    call: Call, entries: list[dict[str, Any]], following: str | None, hint: CacheHint
) -> Encoded:
    result: dict[str, Any] = {"resources": entries}
    if following is not None:
        result["nextCursor"] = following
    return Encoded(call.era.complete(result, hint))
