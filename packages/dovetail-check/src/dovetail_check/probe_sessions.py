"""Probe sessions: the traffic with a server over one transport at one revision."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from dovetail.spec.revisions import Family, Revision, find_revision
from dovetail_check.declared import declares
from dovetail_check.exchanges import Exchange, Incoming, parse
from dovetail_check.frames import Frame
from dovetail_check.unobserved import exchanges_in, observed

__all__ = ["LISTED", "OPENING", "PRE_AUTH", "ProbeSession", "Run"]

# The tag of the request that opens a connection: initialize, or server/discover.
OPENING = "opening"
# The name prefix of connections that offer a version which the server named itself.
LISTED = "listed"
# The name prefix of connections that send no credentials. Their traffic shows how the server
# rejects unauthenticated requests.
PRE_AUTH = "pre-auth"


class ProbeSession:
    """The frames of one transport and revision, with lookups that rules use."""

    def __init__(self, transport: str, revision: Revision, frames: Iterable[Frame]) -> None:
        self.transport = transport
        self.revision = revision
        self.frames = list(frames)

    def __repr__(self) -> str:
        return f"<ProbeSession {self.name}>"

    @property
    def name(self) -> str:
        """The name that frames carry."""
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
        """Everything that was sent, with the replies."""
        return exchanges_in(self.frames)

    def tagged(self, *tags: str) -> list[Exchange]:
        """The exchanges with one of these tags, or a variant of one (`tag/variant`)."""
        return _in_order(self._by_tag, tags)

    def sent(self, *methods: str) -> list[Exchange]:
        """The exchanges whose request has one of these methods."""
        return _in_order(self._by_method, methods)

    @cached_property
    def _by_tag(self) -> dict[str, list[Exchange]]:
        """Index by tag and by each prefix: `a/b` is found under `a/b` and `a`."""
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
    def incoming(self) -> list[Incoming]:
        """Every JSON value that the server sent, in order, including unsolicited ones.

        Values from resumed streams are left out, because they repeat earlier ones.
        """
        first = [exchange for exchange in self.exchanges if not exchange.is_replay]
        found = [incoming for exchange in first for incoming in exchange.incoming]
        for frame in self.frames:
            if frame.of is None and frame.kind in ("received", "event") and frame.data.strip():
                value = parse(frame.data)
                parts = value if isinstance(value, list) and value else [value]
                found += [Incoming(frame, part) for part in parts]
        return sorted(found, key=lambda incoming: incoming.frame.n)

    def notifications(self, *methods: str) -> list[Incoming]:
        """The notifications with one of these methods; all if none is given."""
        return [
            incoming
            for incoming in self.incoming
            if incoming.is_notification and (not methods or incoming.method in methods)
        ]

    @property
    def requests(self) -> list[Incoming]:
        """The requests that the server sent."""
        return [incoming for incoming in self.incoming if incoming.is_request]

    @cached_property
    def opening(self) -> Exchange | None:
        """The first initialize or server/discover that returned a result."""
        answered = [exchange for exchange in self.tagged(OPENING) if exchange.result is not None]
        return answered[0] if answered else None

    @property
    def capabilities(self) -> dict[str, Any]:
        """The capabilities that the server declared."""
        result = self.opening.result if self.opening is not None else None
        declared = (result or {}).get("capabilities")
        return declared if isinstance(declared, dict) else {}

    def has(self, capability: str) -> bool:
        """Whether the server declared a capability, or a member such as `resources.subscribe`."""
        return declares(self.capabilities, capability)

    def listed(self, kind: str) -> list[dict[str, Any]]:
        """All items of a list: tools, prompts, resources, resourceTemplates."""
        return [item for exchange in self.tagged(f"walk/{kind}") for item in _items(exchange, kind)]

    def pages(self, kind: str) -> list[Exchange]:
        """The pages of a list."""
        return self.tagged(f"walk/{kind}")


class Run:
    """All sessions over one transport, and the version negotiation before them."""

    def __init__(self, transport: str, frames: Iterable[Frame]) -> None:
        self.transport = transport
        self.frames = observed(frames)

    @cached_property
    def sessions(self) -> list[ProbeSession]:
        """The sessions, oldest revision first, without unauthenticated traffic."""
        authenticated = [frame for frame in self.frames if not _is_pre_auth(frame)]
        return sorted(_find_sessions(self.transport, authenticated), key=_by_revision)

    @cached_property
    def pre_auth_sessions(self) -> list[ProbeSession]:
        """The sessions including unauthenticated traffic, even if there is nothing else."""
        return sorted(_find_sessions(self.transport, self.frames), key=_by_revision)

    @cached_property
    def survey(self) -> list[Exchange]:
        """The requests that found out which revisions the server supports."""
        name = f"{self.transport} survey"
        return exchanges_in(frame for frame in self.frames if frame.session == name)


def _find_sessions(transport: str, frames: list[Frame]) -> Iterator[ProbeSession]:
    for name in dict.fromkeys(frame.session for frame in frames):
        found, _, date = name.partition(" ")
        revision = find_revision(date)
        if found == transport and revision is not None:
            mine = [frame for frame in frames if frame.session == name]
            yield ProbeSession(transport, revision, mine)


def _by_revision(session: ProbeSession) -> int:
    return session.revision.order


def _is_pre_auth(frame: Frame) -> bool:
    return frame.connection.partition(" ")[0] == PRE_AUTH


def _in_order(index: dict[str, list[Exchange]], names: Iterable[str]) -> list[Exchange]:
    """The exchanges under any of the names, each once, in the order they were sent."""
    found = {exchange.sent.n: exchange for name in names for exchange in index.get(name, ())}
    return [found[number] for number in sorted(found)]


def _items(exchange: Exchange, kind: str) -> list[dict[str, Any]]:
    items = (exchange.result or {}).get(kind)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
