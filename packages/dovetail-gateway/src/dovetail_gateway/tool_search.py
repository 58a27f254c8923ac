"""`ToolSearch`: the setting of a server that makes clients search for its tools.

A call of `call_tool` becomes a call of the tool that it names before anything else looks at it.
Guards, rate limits, the audit log, validation and tasks all see the named tool, as if the client
had called it directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dovetail import Context
from dovetail.core.call import Call
from dovetail.core.dispatch import Chains, Dispatcher, MethodHandler, Outcome
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.middleware import call_of
from dovetail.core.principal import NO_REQUIREMENTS
from dovetail.core.registry import suggest
from dovetail.errors import InternalError, InvalidParamsError, ToolError, UsageError
from dovetail.spec.models import CallToolParams, ListParams
from dovetail.wire import codec
from dovetail_gateway.ranking import (
    Entry,
    Ranking,
    description_of,
    first_sentence,
)

if TYPE_CHECKING:
    from dovetail import Server

__all__ = ["FullList", "ToolSearch", "cache_hint", "read_full_list"]

_SEARCH_TOOLS, _CALL_TOOL = "search_tools", "call_tool"
_OWN = frozenset((_SEARCH_TOOLS, _CALL_TOOL))
# What a match shows of a tool, besides description and schema.
_SHOWN = ("name", "annotations")
_LONGEST_DESCRIPTION = 300
# Bytes of all input schemas in one result; the schema of the best match is sent in any case.
_MOST_SCHEMA_BYTES = 16_000
# Callers with different permissions, and clients of different revisions, have different lists.
_MOST_SHORT_LISTS, _MOST_INDEXES = 64, 8
# A mounted proxy may reach a server whose list has no end.
_MAX_PAGES = 1000

_SEARCH_TEXT = (
    "Find tools of this server; the list shows only some of them. Describe in a few words what "
    "you want to do, or give the name of a tool. Returns names, descriptions and input schemas. "
    f"Call what you find with {_CALL_TOOL}."
)
_CALL_TEXT = (
    f"Call any tool of this server by its name. {_SEARCH_TOOLS} returns the schema of the "
    "arguments."
)


class FullList(NamedTuple):
    """All pages of a list as they are encoded; equal lists are equal keys of a cache."""

    pages: tuple[bytes, ...]

    def decode(self) -> list[dict[str, Any]]:
        """Return the bodies of the pages."""
        return [codec.decode_as(dict[str, Any], Raw(page)) for page in self.pages]

    def entries(self) -> list[Entry]:
        """Return the tools of all pages."""
        return [entry for body in self.decode() for entry in body["tools"]]


class _Catalog:
    """Finds tools in lists; each caller searches its own list only."""

    def __init__(self) -> None:
        self._indexes: dict[FullList, tuple[list[Entry], Ranking]] = {}
        self._building = threading.Lock()

    async def find(self, query: str, limit: int, listed: FullList) -> list[Entry]:
        """Return the tools of a list that match best, first the one with exactly this name."""
        if (index := self._indexes.get(listed)) is None:
            # In a thread, because an index of a thousand tools takes 0.1 seconds.
            index = await asyncio.to_thread(self._build, listed)
        entries, ranking = index
        exact = [n for n, entry in enumerate(entries) if entry["name"] == query.strip()]
        numbers = dict.fromkeys([*exact, *ranking.find(query)])
        return [entries[number] for number in [*numbers][:limit]]

    def _build(self, listed: FullList) -> tuple[list[Entry], Ranking]:
        # Clients that search at the same time after a change wait for one index.
        with self._building:
            if listed not in self._indexes:
                entries = [entry for entry in listed.entries() if entry["name"] not in _OWN]
                if len(self._indexes) >= _MOST_INDEXES:
                    del self._indexes[next(iter(self._indexes))]
                self._indexes[listed] = entries, Ranking(entries)
            return self._indexes[listed]


class ToolSearch:
    """Pass it to `Server(tool_search=...)`: clients list a few tools and search for the others.

    The list shows the tools in `pinned`, `search_tools` and `call_tool`. All other tools can be
    called by name as before. `about` names the topics that the tools cover, so that a model knows
    what it can search for.
    """

    def __init__(self, pinned: Iterable[str] = (), *, about: str = "") -> None:
        if isinstance(pinned, str):
            raise UsageError(f"ToolSearch: pinned is a list of tool names, got {pinned!r}")
        self.pinned: frozenset[str] = frozenset(pinned)
        self.about = about
        self._catalog = _Catalog()
        self._is_installed = False
        # The handler of the whole list.
        self._list: MethodHandler | None = None
        self._short_lists: dict[tuple[int, FullList], bytes] = {}

    @property
    def tools(self) -> frozenset[str]:
        """The names of the two tools."""
        return _OWN

    def install(self, server: Server) -> None:
        """Register the two tools; `Server` calls it when it is created."""
        if self._is_installed:
            raise UsageError("a ToolSearch belongs to one server; create another one")
        self._is_installed = True
        text = f"{_SEARCH_TEXT} Topics: {self.about}" if self.about else _SEARCH_TEXT
        tools = server.tools
        tools.add(
            self._search_tools,
            name=_SEARCH_TOOLS,
            description=text,
            annotations={"readOnlyHint": True},
        )
        tools.add(self._call_tool, name=_CALL_TOOL, description=_CALL_TEXT)
        # It changes something if the named tool does, which is checked. Under a read-only guard,
        # tools that are not annotated as read-only are hidden; this one must not be.
        entry = tools.registry.remove(_CALL_TOOL)
        entry.requirements = NO_REQUIREMENTS
        tools.registry.add(_CALL_TOOL, entry)
        dispatcher = _ForwardingDispatcher(server.engine.dispatcher)
        server.engine = server.engine._replace(dispatcher=dispatcher)

    def wrap(self, handlers: MutableMapping[str, MethodHandler]) -> None:
        """Shorten the list, and forward calls; `Server` calls it when its handlers change."""
        whole, plain = handlers["tools/list"], handlers["tools/call"]
        self._list = whole

        async def run_list(call: Call) -> Outcome:
            return await self._short_list(call, whole)

        def run_call(call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
            is_direct = call.sent is None and call.params.name != _CALL_TOOL  # type: ignore[attr-defined]
            return plain.run(call) if is_direct else self._run_forwarded(call, plain)

        handlers["tools/list"] = whole._replace(run=run_list, needs_task=True)
        handlers["tools/call"] = plain._replace(run=run_call)

    async def _short_list(self, call: Call, whole: MethodHandler) -> Outcome:
        params: ListParams = call.params  # type: ignore[assignment]
        if params.cursor is not None:
            raise InvalidParamsError("The list of tools has one page; send no cursor")
        listed = await read_full_list(call, whole)
        key = (call.era.revision.order, listed)
        body = self._short_lists.get(key)
        if body is None:
            if len(self._short_lists) >= _MOST_SHORT_LISTS:
                self._short_lists.clear()
            body = self._short_lists[key] = self._shorten(call, listed)
        return Encoded(body)

    def _shorten(self, call: Call, listed: FullList) -> bytes:
        bodies = listed.decode()
        entries = [entry for body in bodies for entry in body["tools"]]
        shown = [entry for entry in entries if entry["name"] in self.pinned | _OWN]
        if any("execution" in entry for entry in entries):
            # tasks.tool.forbidden-32601: clients decide by the list
            for entry in shown:
                if entry["name"] == _CALL_TOOL:
                    entry["execution"] = {"taskSupport": "optional"}
        result: dict[str, Any] = {"tools": shown}
        meta = {key: value for body in bodies for key, value in body.get("_meta", {}).items()}
        if meta:
            result["_meta"] = meta
        return call.era.complete(result, cache_hint(bodies))

    async def _run_forwarded(self, call: Call, plain: MethodHandler) -> Outcome:
        # A server that this one is mounted in does not forward.
        _forward(call)
        name: str = call.params.name  # type: ignore[attr-defined]
        try:
            outcome = plain.run(call)
            return await outcome if isinstance(outcome, Coroutine) else outcome
        except InvalidParamsError:
            known = [entry["name"] for entry in await self._entries(call)]
            if name in known or call.handler is not None:
                # The tool exists, and the error is about something else.
                raise
            # The name is an argument of call_tool: the model can correct it.
            hint = suggest(name, known, "tool")
            raise ToolError(
                f"Unknown tool: {name[:100]!r}{hint} (find tools with {_SEARCH_TOOLS})"
            ) from None

    async def _entries(self, call: Call) -> list[Entry]:
        assert self._list is not None
        return (await read_full_list(call, self._list)).entries()

    # -- the two tools ------------------------------------------------------------------------

    async def _search_tools(
        self,
        ctx: Context,
        query: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)],
        limit: Annotated[int, msgspec.Meta(ge=1, le=20)] = 5,
    ) -> str:
        """Return the best matches as JSON."""
        assert self._list is not None
        listed = await read_full_list(call_of(ctx), self._list)
        found = await self._catalog.find(query, limit, listed)
        if not found:
            return f"No tool matches {query[:100]!r}; describe what you want to do in other words."
        return codec.encode({"tools": list(_describe(found))}).decode()

    async def _call_tool(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Reject a call that could not be forwarded to the tool it names."""
        raise ToolError(f"{_CALL_TOOL} cannot call itself; give the name of another tool")


def _describe(tools: list[Entry]) -> Iterator[dict[str, Any]]:
    size = 0
    for place, tool in enumerate(tools):
        shown: dict[str, Any] = {key: tool[key] for key in _SHOWN if key in tool}
        description = description_of(tool)
        if description:
            shown["description"] = _cut(first_sentence(description))
        schema = codec.encode(tool.get("inputSchema", {}))
        size += len(schema)
        if place and size > _MOST_SCHEMA_BYTES:
            shown["note"] = f"The input schema is long; search for {tool['name']!r} to get it."
        else:
            shown["inputSchema"] = msgspec.Raw(schema)
        yield shown


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 1] + "…"


class _ForwardingDispatcher(Dispatcher):
    """A dispatcher that forwards calls of `call_tool`."""

    def __init__(self, inner: Dispatcher) -> None:
        self._inner = inner

    def guarded(
        self, chains: Chains, transport: str, max_result_bytes: int | None = None
    ) -> _ForwardingDispatcher:
        """The same with the middleware of a guard, which then sees the named tool."""
        return _ForwardingDispatcher(self._inner.guarded(chains, transport, max_result_bytes))

    def needs_task(self, call: Call) -> bool:
        """Whether `answer` must be called in a separate task."""
        return self._inner.needs_task(call)

    def answer(self, call: Call) -> bytes | Coroutine[Any, Any, bytes]:
        """The encoded response, or a coroutine that returns it."""
        _forward(call)
        return self._inner.answer(call)

    def delegate(
        self, call: Call, handler: MethodHandler
    ) -> Outcome | Coroutine[Any, Any, Outcome]:
        """The outcome of a handler, for a call that another server answers."""
        return self._inner.delegate(call, handler)

    def end_session(self, revision: str, duration: float) -> None:
        """Tell the middleware of the guard."""
        self._inner.end_session(revision, duration)


class _Named(Struct, forbid_unknown_fields=True):
    """The arguments of `call_tool`."""

    name: str
    arguments: Raw | UnsetType = UNSET


def _forward(call: Call) -> None:
    """Make a call of `call_tool` one of the tool it names; wrong arguments stay as they are."""
    params = call.params
    if not isinstance(params, CallToolParams) or params.name != _CALL_TOOL:
        return
    try:
        named = codec.decode_as(_Named, b"{}" if params.arguments is UNSET else params.arguments)
    except msgspec.ValidationError:
        return
    if named.name == _CALL_TOOL:
        return
    if call.received is params:
        call.sent = params
    arguments = _as_object(named.arguments)
    call.params = msgspec.structs.replace(params, name=named.name, arguments=arguments)


def _as_object(arguments: Raw | UnsetType) -> Raw | UnsetType:
    """Return the arguments; models often send an object without a schema as a JSON string."""
    if isinstance(arguments, Raw) and bytes(arguments)[:1] == b'"':
        # Decoded, not taken as it is: a proxy puts arguments between its own members.
        with contextlib.suppress(msgspec.DecodeError):
            text = codec.decode_as(str, arguments).encode()
            return Raw(codec.encode(codec.decode_as(dict[str, Any], text)))
    return arguments


async def read_full_list(call: Call, handler: MethodHandler) -> FullList:
    """Return all pages of the list of tools for the caller of `call`."""
    pages: list[bytes] = []
    cursor: str | None = None
    while True:
        outcome = handler.run(_listing_call(call, cursor))
        if isinstance(outcome, Coroutine):
            outcome = await outcome
        body = outcome.body if isinstance(outcome, Encoded) else bytes(outcome)  # type: ignore[arg-type]
        pages.append(body)
        # Most lists have one page, which need not be decoded.
        if b'"nextCursor"' not in body:
            return FullList(tuple(pages))
        cursor = codec.decode_as(dict[str, Any], Raw(body)).get("nextCursor")
        if cursor is None:
            return FullList(tuple(pages))
        if len(pages) >= _MAX_PAGES:
            raise InternalError(f"The list of tools has more than {_MAX_PAGES} pages")


def _listing_call(call: Call, cursor: str | None) -> Call:
    """Return a tools/list call of the same caller."""
    params = ListParams(cursor=cursor, meta=call.params.meta)
    listing = Call(call.id, "tools/list", params, call.era, call.peer)
    listing.services, listing.link = call.services, call.link
    listing.origin, listing.principal = call.origin, call.principal
    return listing


def cache_hint(bodies: list[dict[str, Any]]) -> CacheHint:
    """Return the strictest hint of some pages."""
    is_public = all(body.get("cacheScope") == "public" for body in bodies)
    ttl_ms = min(body.get("ttlMs", 0) for body in bodies)
    return CacheHint(ttl_ms, "public" if is_public else "private")
