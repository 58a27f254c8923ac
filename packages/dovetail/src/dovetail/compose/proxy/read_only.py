"""The read-only mode of a guard for the tools of an upstream, which only its lists describe."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from dovetail.compose.proxy.forwarder import Forwarder
from dovetail.compose.proxy.results import find_next, read_members
from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import PeerError
from dovetail.wire import codec

__all__ = ["ReadOnlyTools", "is_read_only"]

# A list with more pages than this is treated as endless.
_MAX_PAGES = 1000


def is_read_only(call: Call) -> bool:
    """Whether a guard allows this call only tools that are annotated as read-only."""
    permission = call.services.permission
    return permission is not None and permission.read_only


class _Hints(msgspec.Struct, rename="camel"):
    read_only_hint: Any = None


class _Tool(msgspec.Struct):
    name: str
    annotations: _Hints | None = None


class ReadOnlyTools:
    """Which tools of an upstream are annotated as read-only."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._reads: dict[str, bool] = {}

    async def have(self, call: Call, name: str) -> bool:
        """Whether a tool is read-only; lists the tools for this caller if that is unknown."""
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            if name in self._reads:
                break
            params = {} if cursor is None else {"cursor": cursor}
            answer = await self._forwarder.forward(call, "tools/list", params)
            self.filter(answer.raw)
            cursor = find_next(answer.raw)
            if cursor is None:
                break
        return self._reads.get(name, False)

    def filter(self, raw: Raw) -> Raw:
        """Return a list without all other tools, and remember what it says; raises PeerError."""
        members = read_members(raw, "tools/list")
        try:
            tools = codec.decode_as(list[_Tool], members.get("tools", b"[]"))
        except msgspec.ValidationError as error:
            raise PeerError(f"the result of tools/list is invalid: {error}") from None
        self._reads.update((tool.name, _reads(tool)) for tool in tools)
        entries = codec.decode_as(list[Raw], members.get("tools", b"[]"))
        kept = [entry for tool, entry in zip(tools, entries, strict=True) if _reads(tool)]
        return Raw(codec.encode({**members, "tools": kept}))

    def changed(self, event: ChangeEvent) -> None:
        """Forget everything if the tools may have changed."""
        if event.what is ChangeKind.TOOLS:
            self._reads.clear()


def _reads(tool: _Tool) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True
