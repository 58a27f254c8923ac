"""`Mounts`: the mounted servers of one server, and the methods that involve them.

A request for one thing goes to the server that has it: the outer server first, then the mount with
the prefix of its name. Lists are joined: the entries of the outer server, then those of each mount.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.cursor import decode_text_cursor, encode_text_cursor
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.middleware import AnyMiddleware
from dovetail.errors import (
    DovetailError,
    DuplicateError,
    InvalidParamsError,
    UsageError,
)
from dovetail.mount.mounted import Mount, UnavailableError
from dovetail.mount.names import BY_NAME, KINDS, EntryKind
from dovetail.mount.tasks import JoinedTasks
from dovetail.mount.view import View
from dovetail.runtime.provider import Membership, Provider, Source
from dovetail.spec.models import (
    CompleteParams,
    ListenParams,
    ListParams,
    Params,
    PromptReference,
)
from dovetail.wire import codec

__all__ = ["UNAVAILABLE", "Mounts", "all_mounted"]

logger: logging.Logger = logging.getLogger("dovetail")

Run = Callable[[Call], Outcome | Coroutine[Any, Any, Outcome]]

# What a list of one source may have at most; a mounted proxy may reach a server without an end.
_MAX_PAGES = 1000
_CACHED_PAGES = 64
_KNOWN_NAMES = 4096
_SALT = "mount"
# In the `_meta` of a list: the mounted servers whose entries are missing, with the reason.
UNAVAILABLE = "dev.dovetail/unavailable"


class Mounts:
    """The mounted servers of a server."""

    def __init__(self, provider: Provider, publish: Callable[[ChangeEvent], None]) -> None:
        self._own = provider
        self._publish = publish
        self._mounts: list[Mount] = []
        # Decoded pages by list, mount and body, and joined lists by their pages.
        self._pages: dict[tuple[str, Mount | None, bytes], _Page] = {}
        self._joined: dict[tuple[Any, ...], bytes] = {}
        self._known: dict[str, dict[str, tuple[Mount, str]]] = {kind.name: {} for kind in KINDS}

    @property
    def providers(self) -> list[Provider]:
        """What the mounted servers offer."""
        return [mount.provider for mount in self._mounts]

    def _proxies(self) -> list[Mapping[str, MethodHandler]]:
        """Return the methods of all mounted proxies, also of those in mounted servers."""
        return [each.source.handlers for each in all_mounted(self._own) if each.keeps_tasks]

    # -- mounting -----------------------------------------------------------------------------

    def add(
        self, provider: Provider, view: View, middleware: Sequence[AnyMiddleware] = ()
    ) -> Mount:
        """Mount a server; raises UsageError or DuplicateError."""
        view.attach(provider)
        mount = Mount(provider, view, middleware)
        name = provider.source.name
        if provider is self._own or self._own in all_mounted(provider):
            raise UsageError(f"server {name!r} cannot be mounted in itself")
        if not view.prefix.text and not provider.has_fixed_names:
            raise UsageError(
                f"server {name!r} needs a prefix: the names of a proxy can change, and "
                "could hide those of this server"
            )
        for other in self._mounts:
            if view.prefix.overlaps(other.view.prefix):
                raise DuplicateError(
                    f"{mount.where}: some names would also belong to {other.where}; choose "
                    "another prefix"
                )
        for kind in KINDS:
            for inner in provider.names(kind.name):
                self._check_inner(mount, kind.name, inner)
        self._mounts.append(mount)
        if self._own.membership is not None:
            mount.join(self._own.membership)
        mount.on_removal = [
            provider.source.engine.bus.subscribe(lambda change: self._changed(mount, change)),
            provider.check_names(functools.partial(self._check_inner, mount)),
            self._own.check_names(
                lambda kind, name: self.check(kind, name, f"server {self._own.source.name!r}")
            ),
        ]
        self._announce()
        return mount

    def join(self, membership: Membership) -> None:
        """Make the mounted servers parts of a cluster."""
        for mount in self._mounts:
            mount.join(membership)

    def remove(self, prefix: str) -> Source:
        """Unmount the server with this prefix and return it."""
        for mount in self._mounts:
            if mount.view.prefix.text == prefix:
                self._mounts.remove(mount)
                for remove in mount.on_removal:
                    remove()
                self._announce()
                return mount.provider.source
        known = ", ".join(repr(mount.view.prefix.text) for mount in self._mounts) or "none"
        raise UsageError(f"no server is mounted with the prefix {prefix!r}; prefixes: {known}")

    def _check_inner(self, mount: Mount, kind: str, name: str) -> None:
        outer = mount.view.to_outer(BY_NAME[kind], name)
        if outer is not None:
            self.check(kind, outer, mount.where)

    def check(self, kind: str, name: str, where: str) -> None:
        """Raise DuplicateError if this server or a mount has an entry of this name."""
        owner = None
        if self._own.serves_itself(kind, name):
            owner = f"server {self._own.source.name!r} itself"
        mount = self._find(BY_NAME[kind], name)
        if mount is not None and mount[0].provider.serves(kind, mount[1]):
            owner = mount[0].where
        if owner is not None:
            raise DuplicateError(
                f"{kind} {name!r} of {where} is registered already by {owner}; choose another "
                "name or prefix"
            )

    def _announce(self) -> None:
        for known in self._known.values():
            known.clear()
        for what in (ChangeKind.TOOLS, ChangeKind.PROMPTS, ChangeKind.RESOURCES):
            self._publish(ChangeEvent(what))

    def _changed(self, mount: Mount, change: ChangeEvent) -> None:
        if change.item is not None:
            return  # tasks belong to the outer server
        if change.uri is not None:
            outer = mount.view.to_outer(BY_NAME["resource"], change.uri)
            if outer is None:
                return
            change = change._replace(uri=outer)
        self._publish(change)

    # -- finding ------------------------------------------------------------------------------

    def find(self, kind: str, name: str) -> tuple[Mount, str] | None:
        """Return the mount that serves a name and its name there."""
        return self._find(BY_NAME[kind], name)

    def _find(self, kind: EntryKind, name: str) -> tuple[Mount, str] | None:
        for mount in self._mounts:
            inner = mount.view.to_inner(kind, name)
            # The error of the mounted server for an unknown name suggests names that it has.
            is_whole = mount.view.prefix.text and not mount.view.is_partial
            if inner is not None and (is_whole or mount.provider.serves(kind.name, inner)):
                return mount, inner
        return None

    def templates_of(self, uri: str) -> list[str]:
        """Return the URI templates of the mount that serves a URI, with its prefix."""
        found = self._find(BY_NAME["resource"], uri)
        if found is None:
            return []
        mount, inner = found
        return [mount.view.prefix.add_to_uri(each) for each in mount.provider.templates_of(inner)]

    def names(self, kind: str) -> list[str]:
        """Return the outer names of the entries of all mounts."""
        row = BY_NAME[kind]
        return [
            outer
            for mount in self._mounts
            for name in mount.provider.names(kind)
            if (outer := mount.view.to_outer(row, name)) is not None
        ]

    # -- methods ------------------------------------------------------------------------------

    def wrap(self, own: Mapping[str, MethodHandler]) -> dict[str, MethodHandler]:
        """Return the handlers of a server with mounts, from those without."""
        changed: dict[str, Run] = {
            "tools/call": self._by_name(own["tools/call"].run, "tool"),
            "prompts/get": self._by_name(own["prompts/get"].run, "prompt"),
            "resources/read": self._by_uri(own["resources/read"].run),
            "completion/complete": self._complete(own["completion/complete"].run),
            "resources/subscribe": self._watching(own["resources/subscribe"].run, on=True),
            "resources/unsubscribe": self._watching(own["resources/unsubscribe"].run, on=False),
            "subscriptions/listen": self._listen(own["subscriptions/listen"].run),
        }
        for kind in KINDS:
            changed[kind.method] = self._join(own[kind.method].run, kind)
        return {
            **own,
            **JoinedTasks(own, self._proxies).methods(),
            **{
                method: own[method]._replace(run=run, needs_task=True)
                for method, run in changed.items()
                if method in own
            },
        }

    def _by_name(self, own: Run, kind: str) -> Run:
        row, registry = BY_NAME[kind], self._own.registry(kind)
        # Names under a prefix; they belong to one mount whatever it registers.
        known = self._known[kind]

        def run(call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
            params: Any = call.params
            name: str = params.name
            found = known.get(name)
            if found is None:
                found = None if name in registry else self._find(row, name)
                if found is None:
                    return own(call)
                if found[0].view.prefix.text and len(known) < _KNOWN_NAMES:
                    known[name] = found
            mount, inner = found
            view = mount.view
            if view.visible is not None and not mount.shows(call, kind, inner):
                return own(call)
            if kind == "tool" and view.has_transforms:
                params = view.arguments(inner, params)
            if mount.guard is not None:
                mount.admit(call)
            return mount.run(call, msgspec.structs.replace(params, name=inner))

        return run

    def _by_uri(self, own: Run) -> Run:
        def run(call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
            uri: str = call.params.uri  # type: ignore[attr-defined]
            found = self._owner_of(uri)
            if found is None or not found[0].shows(call, "resource", found[1]):
                return own(call)
            return _run_in(call, found[0], msgspec.structs.replace(call.params, uri=found[1]))

        return run

    def _owner_of(self, uri: str) -> tuple[Mount, str] | None:
        if self._own.serves_itself("resource", uri):
            return None
        return self._find(BY_NAME["resource"], uri)

    def _complete(self, own: Run) -> Run:
        def run(call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
            params: CompleteParams = call.params  # type: ignore[assignment]
            ref = params.ref
            kind, name = (
                ("prompt", ref.name)
                if isinstance(ref, PromptReference)
                else ("resource template", ref.uri)
            )
            found = None if self._own.serves_itself(kind, name) else self.find(kind, name)
            if found is None or not found[0].shows(call, kind, found[1]):
                return own(call)
            member = "name" if kind == "prompt" else "uri"
            renamed = msgspec.structs.replace(ref, **{member: found[1]})
            return _run_in(call, found[0], msgspec.structs.replace(params, ref=renamed))

        return run

    def _watching(self, own: Run, *, on: bool) -> Run:
        async def run(call: Call) -> Outcome:
            found = self._owner_of(call.params.uri)  # type: ignore[attr-defined]
            if found is not None:
                mount, uri = found
                mount.admit(call, uri)
                await (mount.provider.watch if on else mount.provider.unwatch)(call, uri)
            return await _finish(own(call))

        return run

    def _listen(self, own: Run) -> Run:
        async def run(call: Call) -> Outcome:
            params: ListenParams = call.params  # type: ignore[assignment]
            wanted = params.notifications.resource_subscriptions
            watched: list[Provider] = []
            lost: set[str] = set()
            for uri in dict.fromkeys(wanted or ()):
                found = self._owner_of(uri)
                if found is None:
                    continue
                mount, inner = found
                try:
                    mount.admit(call, inner)
                    await mount.provider.watch(call, inner, stream=True)
                    watched.append(mount.provider)
                except DovetailError as error:
                    # subs.ack-subset: the acknowledgement leaves it out
                    logger.warning("%s: cannot watch %r: %s", mount.where, inner, error)
                    lost.add(uri)
            if wanted is not None:
                kept = [uri for uri in wanted if uri not in lost]
                params.notifications.resource_subscriptions = kept
            try:
                return await _finish(own(call))
            finally:
                for provider in watched:
                    await provider.unwatch(call, stream=True)

        return run

    # -- lists --------------------------------------------------------------------------------

    def _join(self, own: Run, kind: EntryKind) -> Run:
        async def run(call: Call) -> Outcome:
            params: ListParams = call.params  # type: ignore[assignment]
            page_size: int | None = call.services.options.page_size
            place, cursor = _read_cursor(params.cursor, kind)
            sources: tuple[Mount | None, ...] = (None, *self._mounts)
            pages: list[_Page] = []
            missing: dict[str, str] = {}
            count = 0
            while place < len(sources) and not _is_full(pages, page_size):
                page = await self._read_page(call, own, kind, sources[place], cursor, missing)
                pages.append(page)
                cursor, count = page.cursor, count + 1
                if cursor is not None and count >= _MAX_PAGES:
                    self._note_missing(sources[place], kind, "has a list without end", missing)
                    cursor = None
                if cursor is None:
                    place, count = place + 1, 0
            following = None
            if place < len(sources):
                following = encode_text_cursor(kind.method, place, cursor or "", salt=_SALT)
            return self._render(call, kind, pages, following, missing)

        return run

    async def _read_page(
        self,
        call: Call,
        own: Run,
        kind: EntryKind,
        mount: Mount | None,
        cursor: str | None,
        missing: dict[str, str],
    ) -> _Page:
        """Return a page of one source; an empty one if a mounted server cannot answer."""
        params = msgspec.structs.replace(call.params, cursor=cursor)
        if mount is None:
            given = call.params
            call.replace_params(params)
            try:
                return self._decode(call, kind, None, await _finish(own(call)))
            finally:
                call.params = given
        if kind.capability not in mount.provider.source.capabilities() or not mount.admits(call):
            return _EMPTY
        try:
            return self._decode(call, kind, mount, await _finish(mount.run(call, params)))
        except (DovetailError, msgspec.MsgspecError) as error:
            if cursor is not None and isinstance(error, InvalidParamsError):
                raise
            self._note_missing(mount, kind, error, missing)
            return _EMPTY

    def _note_missing(
        self, mount: Mount | None, kind: EntryKind, reason: str | Exception, missing: dict[str, str]
    ) -> None:
        if not isinstance(reason, UnavailableError):
            where = "this server" if mount is None else mount.where
            logger.warning("%s: %ss are missing: %s", where, kind.name, reason)
        source = self._own.source if mount is None else mount.provider.source
        missing[source.name] = str(reason)

    def _decode(self, call: Call, kind: EntryKind, mount: Mount | None, outcome: Outcome) -> _Page:
        """Return the entries of a list with their outer names, decoded once per body."""
        body = outcome.body if isinstance(outcome, Encoded) else bytes(outcome)  # type: ignore[arg-type]
        if mount is not None and mount.view.visible is not None:
            return _Page(codec.decode_as(dict[str, Any], Raw(body)), kind, mount, call)
        key = (kind.method, mount, body)
        page = self._pages.get(key)
        if page is None:
            page = _Page(codec.decode_as(dict[str, Any], Raw(body)), kind, mount)
            if len(self._pages) >= _CACHED_PAGES:
                for old in self._pages.values():
                    old.is_cached = False
                self._pages.clear()
                self._joined.clear()
            self._pages[key] = page
            page.is_cached = True
        return page

    def _render(
        self,
        call: Call,
        kind: EntryKind,
        pages: list[_Page],
        following: str | None,
        missing: dict[str, str],
    ) -> Encoded:
        key = (call.era.revision.order, following, *map(id, pages))
        body = None if missing else self._joined.get(key)
        if body is None:
            result: dict[str, Any] = {
                kind.member: [entry for page in pages for entry in page.entries]
            }
            if following is not None:
                result["nextCursor"] = following
            if missing:
                result["_meta"] = {UNAVAILABLE: missing}
            # caching.public-aware (2026-07-28 server/utilities/caching): the strictest of all
            is_public = not missing and all(page.is_public for page in pages)
            ttl_ms = min((page.ttl_ms for page in pages), default=0)
            hint = CacheHint(0 if missing else ttl_ms, "public" if is_public else "private")
            body = call.era.complete(result, hint)
            if not missing and all(page is _EMPTY or page.is_cached for page in pages):
                self._joined[key] = body
        return Encoded(body)


class _Page:
    """The entries of one page of a source."""

    __slots__ = ("cursor", "entries", "is_cached", "is_public", "ttl_ms")

    def __init__(
        self, body: dict[str, Any], kind: EntryKind, mount: Mount | None, call: Call | None = None
    ) -> None:
        entries = body.get(kind.member)
        self.entries = [
            shown
            for entry in (entries if isinstance(entries, list) else ())
            if isinstance(entry, dict) and isinstance(entry.get(kind.key), str)
            if (shown := _show(entry, kind, mount, call)) is not None
        ]
        # Whether it is in the cache, so that its id is not reused.
        self.is_cached = False
        cursor = body.get("nextCursor")
        self.cursor: str | None = cursor if isinstance(cursor, str) and cursor else None
        ttl_ms = body.get("ttlMs")
        self.ttl_ms = ttl_ms if isinstance(ttl_ms, int) else 0
        # With a call, only its caller sees these entries.
        self.is_public = body.get("cacheScope") == "public" and call is None


_NOTHING = EntryKind("", "", "", "", "", is_uri=False)
_EMPTY = _Page({"cacheScope": "private"}, _NOTHING, None)


def _show(
    entry: dict[str, Any], kind: EntryKind, mount: Mount | None, call: Call | None
) -> dict[str, Any] | None:
    if mount is None:
        return entry
    if call is not None and not mount.shows(call, kind.name, entry[kind.key]):
        return None
    return mount.view.listing(kind, entry)


def _is_full(pages: list[_Page], page_size: int | None) -> bool:
    return page_size is not None and sum(len(page.entries) for page in pages) >= page_size


def _read_cursor(cursor: str | None, kind: EntryKind) -> tuple[int, str | None]:
    """Return the source of a page, and the cursor there."""
    if cursor is None:
        return 0, None
    found = decode_text_cursor(cursor, kind.method, salt=_SALT)
    if found is None:
        raise InvalidParamsError(
            f"The cursor is not one of the list of {kind.name}s; start again without a cursor to "
            "get the first page"
        )
    return found[0], found[1] or None


def _run_in(call: Call, mount: Mount, params: Params) -> Outcome | Coroutine[Any, Any, Outcome]:
    if mount.guard is not None:
        mount.admit(call)
    return mount.run(call, params)


async def _finish(outcome: Outcome | Coroutine[Any, Any, Outcome]) -> Outcome:
    return await outcome if isinstance(outcome, Coroutine) else outcome


def all_mounted(provider: Provider) -> Iterator[Provider]:
    """Yield the providers of all servers that are mounted in a server, and in those."""
    for each in provider.providers:
        yield each
        yield from all_mounted(each)
