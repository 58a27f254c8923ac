"""Lists of resources that their author pages, for what is too much to be registered one by one.

`resources/list` shows the registered resources first, then those of each list, in the order of
registration. A list's own cursor is any text; it travels inside ours. Nothing of it is kept: what
exists is the author's to know, and a template reads it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dovetail.core.call import Call
from dovetail.core.cursor import decode_text_cursor, encode_text_cursor
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.permission import Requirements, has_scopes, read_scopes
from dovetail.core.registry import Registry
from dovetail.core.uri_template import is_uri
from dovetail.errors import UsageError
from dovetail.features.handlers import HandlerSpec, inspect_handler
from dovetail.spec.fields import project
from dovetail.spec.models import Resource

__all__ = ["RegisteredList", "ResourceLists", "ResourcePage"]

# As in the registry, whose cursors these continue; refused ones are told of alike.
_KIND = "resource"
# How many a list is asked for where no page size is set: it must not be asked for everything.
_USUAL_PAGE = 100
_CURSOR, _LIMIT = "cursor", "limit"


@dataclass(frozen=True, slots=True)
class ResourcePage:
    """Some resources in order, and the cursor of what follows them; None: nothing does."""

    resources: Sequence[Resource]
    cursor: str | None = None


class RegisteredList:
    """An author's function that answers pages."""

    __slots__ = ("number", "requirements", "spec", "takes_limit")

    def __init__(self, spec: HandlerSpec, requirements: Requirements, number: int) -> None:
        names = set(inspect.signature(spec.function).parameters) - {spec.context}
        if _CURSOR not in names or names - {_CURSOR, _LIMIT}:
            raise UsageError(
                f"a resource list is a function of cursor (str, None for the first page) and, if "
                f"it wants, limit (int) and a Context; {spec.name!r} takes "
                f"{', '.join(sorted(names)) or 'nothing'}"
            )
        self.spec = spec
        self.requirements = requirements
        self.number = number
        self.takes_limit = _LIMIT in names

    def arguments(self, call: Call, cursor: str | None, limit: int) -> dict[str, Any]:
        """The keyword arguments for one page."""
        values: dict[str, Any] = {_CURSOR: cursor}
        if self.takes_limit:
            values[_LIMIT] = limit
        return self.spec.arguments(call, values)

    def check(self, found: Any, cursor: str | None) -> ResourcePage:
        """What the function returned, if it is a page."""
        what = f"resource list {self.spec.name!r}"
        if not isinstance(found, ResourcePage):
            raise UsageError(
                f"{what} must return a ResourcePage(resources, cursor), got {type(found).__name__}"
            )
        for resource in found.resources:
            if not isinstance(resource, Resource):
                raise UsageError(f"{what} lists a {type(resource).__name__}, not a Resource")
            if not is_uri(resource.uri):
                raise UsageError(
                    f"{what}: a resource needs a URI such as notes://today, got {resource.uri!r}"
                )
        following: Any = found.cursor
        if following is not None and (not isinstance(following, str) or not following):
            raise UsageError(
                f"{what}: a cursor is a text, or None where nothing follows, got {following!r}"
            )
        if following is not None and following == cursor:
            raise UsageError(
                f"{what} answers the cursor that it was given, {cursor!r}: clients would ask for "
                "that page for ever. Return None where nothing follows"
            )
        return found


class ResourceLists:
    """The lists of a server, behind its registered resources."""

    def __init__(
        self, fixed: Registry[Any], page_size: int | None, on_change: Callable[[], None]
    ) -> None:
        self._fixed = fixed
        self._page_size = page_size or _USUAL_PAGE
        self.registry: Registry[RegisteredList] = Registry("resource list", on_change=on_change)

    def add(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        timeout: float | None = None,
        blocking: bool | None = None,
        scopes: Iterable[str] = (),
    ) -> None:
        """Register a function of cursor and limit that returns a `ResourcePage`."""
        spec = inspect_handler(
            function, kind="resource list", name=name, blocking=blocking, timeout=timeout
        )
        requirements = Requirements(read_scopes(scopes, spec.name))
        # Cursors name a list by its number, which is the same in every process of a server.
        number = len(self.registry) + 1
        self.registry.add(spec.name, RegisteredList(spec, requirements, number), requirements)

    def answer(
        self,
        call: Call,
        cursor: str | None,
        listed: Callable[[Call, str | None], tuple[list[dict[str, Any]], str | None]],
        hint: CacheHint,
    ) -> Encoded | Coroutine[Any, Any, Encoded]:
        """One page of everything; `listed` gives the registered part and its next cursor."""
        if self._is_personal(call):
            # caching.scope-same-pages (2026-07-28 server/utilities/caching): one for all pages
            hint = hint._replace(scope="private")
        start = None if cursor is None else decode_text_cursor(cursor, _KIND, salt=_KIND)
        entries, following = ([], None) if start is not None else listed(call, cursor)
        # pagination.no-duplicates: what is left of the registered ones comes before any list
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
            or any(each.spec.context is not None for each in self.registry)
        )


def _cursor_of(lists: Sequence[RegisteredList], own: str = "") -> str | None:
    """Where the first of these lists goes on, or begins."""
    return encode_text_cursor(_KIND, lists[0].number, own, salt=_KIND) if lists else None


def _complete(
    call: Call, entries: list[dict[str, Any]], following: str | None, hint: CacheHint
) -> Encoded:
    result: dict[str, Any] = {"resources": entries}
    if following is not None:
        result["nextCursor"] = following
    return Encoded(call.era.complete(result, hint))
