"""`ToolSearch`: the setting of a server that makes clients search for its tools."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from dovetail.compose.search.catalog import Catalog, Entry, description_of, first_sentence
from dovetail.compose.search.forwarding import CALL_TOOL, ForwardingDispatcher, forward
from dovetail.compose.search.full_list import FullList, cache_hint, read_full_list
from dovetail.core.call import Call
from dovetail.core.call_facts import call_of
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.era import Encoded
from dovetail.core.permission import NO_REQUIREMENTS
from dovetail.core.registry import suggest
from dovetail.errors import InvalidParamsError, ToolError, UsageError
from dovetail.features.context import Context
from dovetail.spec.models import ListParams
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.server import Server

__all__ = ["ToolSearch"]

_SEARCH_TOOLS = "search_tools"
_OWN = frozenset((_SEARCH_TOOLS, CALL_TOOL))
# What a match shows of a tool, besides description and schema.
_SHOWN = ("name", "annotations")
_LONGEST_DESCRIPTION = 300
# Bytes of all input schemas in one result; the schema of the best match is sent in any case.
_MOST_SCHEMA_BYTES = 16_000
_MOST_SHORT_LISTS = 64

_SEARCH_TEXT = (
    "Find tools of this server; the list shows only some of them. Describe in a few words what "
    "you want to do, or give the name of a tool. Returns names, descriptions and input schemas. "
    f"Call what you find with {CALL_TOOL}."
)
_CALL_TEXT = (
    f"Call any tool of this server by its name. {_SEARCH_TOOLS} returns the schema of the "
    "arguments."
)


class ToolSearch:
    """Pass it to `Server(tool_search=...)`: clients list a few tools and search for the others.

    The list shows the tools in `pinned`, `search_tools` and `call_tool`. All other tools can be
    called by name as before. `about` names the topics that the tools cover, so that a model knows
    what it can search for.
    """

    def __init__(self, pinned: Iterable[str] = (), *, about: str = "") -> None:
        if isinstance(pinned, str):
            raise UsageError(f"ToolSearch: pinned is a list of tool names, got {pinned!r}")
        self.pinned = frozenset(pinned)
        self.about = about
        self._catalog = Catalog(excluded=_OWN)
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
        tools.add(self._call_tool, name=CALL_TOOL, description=_CALL_TEXT)
        # It changes something if the named tool does, which is checked. Under a read-only guard,
        # tools that are not annotated as read-only are hidden; this one must not be.
        entry = tools.registry.remove(CALL_TOOL)
        entry.requirements = NO_REQUIREMENTS
        tools.registry.add(CALL_TOOL, entry)
        dispatcher = ForwardingDispatcher(server.engine.dispatcher)
        server.engine = server.engine._replace(dispatcher=dispatcher)

    def wrap(self, handlers: MutableMapping[str, MethodHandler]) -> None:
        """Shorten the list, and forward calls; `Server` calls it when its handlers change."""
        whole, plain = handlers["tools/list"], handlers["tools/call"]
        self._list = whole

        async def run_list(call: Call) -> Outcome:
            return await self._short_list(call, whole)

        def run_call(call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
            is_direct = call.sent is None and call.params.name != CALL_TOOL  # type: ignore[attr-defined]
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
                if entry["name"] == CALL_TOOL:
                    entry["execution"] = {"taskSupport": "optional"}
        result: dict[str, Any] = {"tools": shown}
        meta = {key: value for body in bodies for key, value in body.get("_meta", {}).items()}
        if meta:
            result["_meta"] = meta
        return call.era.complete(result, cache_hint(bodies))

    async def _run_forwarded(self, call: Call, plain: MethodHandler) -> Outcome:
        # A server that this one is mounted in does not forward.
        forward(call)
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
        listed = await read_full_list(call, self._list)
        return [entry for body in listed.decode() for entry in body["tools"]]

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
        raise ToolError(f"{CALL_TOOL} cannot call itself; give the name of another tool")


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
