"""A sitting: everything seen of a server over one transport at one revision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from dovetail.spec.revisions import Family, Revision, find_revision
from dovetail_check.declared import declares
from dovetail_check.exchanges import Exchange, Heard, parse
from dovetail_check.frames import Frame

__all__ = ["DOOR", "OPENING", "ProbeSession", "Run", "exchanges_in"]

# The tag of the request that opens a line: initialize, or server/discover.
OPENING = "opening"
# How the names of lines begin that go without credentials: what comes on them is no conversation
# but how strangers are refused, and where they are sent.
DOOR = "door"


class ProbeSession:
    """The frames of one transport and revision, and questions to ask of them."""

    def __init__(self, transport: str, revision: Revision, frames: Iterable[Frame]) -> None:
        self.transport = transport
        self.revision = revision
        self.frames = list(frames)

    def __repr__(self) -> str:
        return f"<ProbeSession {self.name}>"

    @property
    def name(self) -> str:
        """As the frames call it."""
        return f"{self.transport} {self.revision}"

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision.family is Family.MODERN

    @property
    def is_http(self) -> bool:
        """Whether requests have headers and a status: Streamable HTTP."""
        return self.transport == "http"

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """Everything sent, with what came for it."""
        return exchanges_in(self.frames)

    def tagged(self, *tags: str) -> list[Exchange]:
        """What probes sent under one of these tags, or under a variant of it (`tag/variant`)."""
        return _in_order(self._by_tag, tags)

    def sent(self, *methods: str) -> list[Exchange]:
        """Every exchange whose request has one of these methods."""
        return _in_order(self._by_method, methods)

    @cached_property
    def _by_tag(self) -> dict[str, list[Exchange]]:
        """Under each tag also its variants: `a/b` is found by `a/b` and by `a`."""
        found: dict[str, list[Exchange]] = {}
        for exchange in self.exchanges:
            parts = exchange.tag.split("/")
            for length in range(1, len(parts) + 1):
                found.setdefault("/".join(parts[:length]), []).append(exchange)
        return found

    @cached_property
    def _by_method(self) -> dict[str, list[Exchange]]:
        found: dict[str, list[Exchange]] = {}
        for exchange in self.exchanges:
            if isinstance(exchange.method, str):
                found.setdefault(exchange.method, []).append(exchange)
        return found

    @cached_property
    def heard(self) -> list[Heard]:
        """Every JSON value that came, in order, also those that answer nothing.

        What came again because a stream was picked up is left out: it was heard before.
        """
        asked = [exchange for exchange in self.exchanges if not exchange.is_replay]
        found = [heard for exchange in asked for heard in exchange.heard]
        for frame in self.frames:
            if frame.of is None and frame.kind in ("received", "event") and frame.data.strip():
                value = parse(frame.data)
                parts = value if isinstance(value, list) and value else [value]
                found += [Heard(frame, part) for part in parts]
        return sorted(found, key=lambda heard: heard.frame.n)

    def notifications(self, *methods: str) -> list[Heard]:
        """Notifications of these methods; all where none is named."""
        return [
            heard
            for heard in self.heard
            if heard.is_notification and (not methods or heard.method in methods)
        ]

    @property
    def requests(self) -> list[Heard]:
        """What the server asked of the client."""
        return [heard for heard in self.heard if heard.is_request]

    @cached_property
    def opening(self) -> Exchange | None:
        """The first initialize or server/discover that was answered with a result."""
        answered = [exchange for exchange in self.tagged(OPENING) if exchange.result is not None]
        return answered[0] if answered else None

    @property
    def capabilities(self) -> dict[str, Any]:
        """What the server declared."""
        result = self.opening.result if self.opening is not None else None
        declared = (result or {}).get("capabilities")
        return declared if isinstance(declared, dict) else {}

    def has(self, capability: str) -> bool:
        """Whether the server declared it; `resources.subscribe` asks for a member."""
        return declares(self.capabilities, capability)

    def listed(self, kind: str) -> list[dict[str, Any]]:
        """Every item of a list that was walked: tools, prompts, resources, resourceTemplates."""
        return [item for exchange in self.tagged(f"walk/{kind}") for item in _items(exchange, kind)]

    def pages(self, kind: str) -> list[Exchange]:
        """The pages of a list that was walked."""
        return self.tagged(f"walk/{kind}")


class Run:
    """All sittings over one transport, and the opening moves that led to them."""

    def __init__(self, transport: str, frames: Iterable[Frame]) -> None:
        self.transport = transport
        self.frames = list(frames)

    @cached_property
    def sessions(self) -> list[ProbeSession]:
        """Transport by revision, oldest first; without what was seen at the door."""
        inside = [frame for frame in self.frames if not _is_at_door(frame)]
        return sorted(_find_sittings(self.transport, inside), key=_age)

    @cached_property
    def doors(self) -> list[ProbeSession]:
        """The same with what was seen at the door; also where that is all there is."""
        return sorted(_find_sittings(self.transport, self.frames), key=_age)

    @cached_property
    def survey(self) -> list[Exchange]:
        """The opening moves: what was offered to find out which revisions are spoken."""
        name = f"{self.transport} survey"
        return exchanges_in(frame for frame in self.frames if frame.session == name)


def _find_sittings(transport: str, frames: list[Frame]) -> Iterator[ProbeSession]:
    for name in dict.fromkeys(frame.session for frame in frames):
        found, _, date = name.partition(" ")
        revision = find_revision(date)
        if found == transport and revision is not None:
            mine = [frame for frame in frames if frame.session == name]
            yield ProbeSession(transport, revision, mine)


def _age(session: ProbeSession) -> int:
    return session.revision.order


def _is_at_door(frame: Frame) -> bool:
    return frame.line.partition(" ")[0] == DOOR


def exchanges_in(frames: Iterable[Frame]) -> list[Exchange]:
    """Frames grouped by what was sent."""
    found: dict[int, Exchange] = {}
    for frame in frames:
        if frame.kind == "sent":
            found[frame.n] = Exchange(frame)
        elif frame.of is not None and frame.of in found:
            found[frame.of].replies.append(frame)
    return list(found.values())


def _in_order(index: dict[str, list[Exchange]], names: Iterable[str]) -> list[Exchange]:
    """What is found under any of the names, each once, as it was sent."""
    found = {exchange.sent.n: exchange for name in names for exchange in index.get(name, ())}
    return [found[number] for number in sorted(found)]


def _items(exchange: Exchange, kind: str) -> list[dict[str, Any]]:
    items = (exchange.result or {}).get(kind)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
