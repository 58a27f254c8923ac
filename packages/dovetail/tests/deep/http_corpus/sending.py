"""Sends raw requests and collects the responses."""

from __future__ import annotations

import contextlib
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tests.deep.hostile.wire import Response, Wire
from tests.http_corpus.cases import KEY, Case, call_body, make_request

__all__ = ["Outcome", "Sender", "find_problems", "in_two", "whole"]

Split = Callable[[bytes], Iterable[bytes]]


class Outcome(NamedTuple):
    """What came of a case."""

    statuses: tuple[int, ...]
    is_closed: bool
    # Bytes that came after the expected responses.
    extra: bytes
    reached: int
    smuggled: int


def whole(raw: bytes) -> Iterator[bytes]:
    """All in one segment."""
    yield raw


def in_two(place: int) -> Split:
    """A function that splits at one place."""
    return lambda raw: (raw[:place], raw[place:])


class Sender:
    """Sends cases to a server, each on a connection of its own."""

    def __init__(self, port: int) -> None:
        self.port = port
        # For the questions about counts.
        self._wire = Wire(port)

    def close(self) -> None:
        self._wire.close()

    def play(self, case: Case, split: Split = whole) -> Outcome:
        """Send a case, then a plain request on the same connection, and read everything."""
        key = secrets.token_hex(len(KEY) // 2).encode()
        wire = Wire(self.port)
        wire.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        statuses: list[int] = []
        extra = b""
        try:
            # The server may close the connection before the last piece.
            with contextlib.suppress(ConnectionError):
                wire.say(*split(case.raw.replace(KEY, key)))
            while len(statuses) < len(case.statuses) and (response := _hear(wire)):
                statuses.append(response.status)
            following = None
            if not case.closes:
                with contextlib.suppress(ConnectionError):
                    wire.say(make_request(call_body("count", b"after-" + key)))
                following = _hear(wire)
            is_closed = following is None
            if following is not None and following.text != "1":
                extra = following.body
            if is_closed:
                extra = wire.hear_end()
        finally:
            wire.close()
        own, smuggled = self.read_count(b"own-" + key), self.read_count(b"smuggled-" + key)
        return Outcome(tuple(statuses), is_closed, extra, own, smuggled)

    def read_count(self, key: bytes) -> int:
        """How many calls with this key have reached the application."""
        self._wire.say(make_request(call_body("counted", key), tool=b"counted"))
        return int(self._wire.hear().text)


def _hear(wire: Wire) -> Response | None:
    """The next response; None if the connection is closed."""
    try:
        if not wire.reader.peek(1):
            return None
        return wire.hear()
    except ConnectionError:
        return None


def find_problems(case: Case, outcome: Outcome) -> list[str]:
    """What is wrong with an outcome."""
    problems = []
    allowed = [{each} if isinstance(each, int) else each for each in case.statuses]
    if len(allowed) != len(outcome.statuses) or any(
        status not in each for status, each in zip(outcome.statuses, allowed, strict=True)
    ):
        problems.append(f"statuses {outcome.statuses}, expected {case.statuses}")
    if case.closes is not None and outcome.is_closed is not case.closes:
        problems.append("closed" if outcome.is_closed else "not closed")
    reached = {case.reached} if isinstance(case.reached, int) else case.reached
    if outcome.reached not in reached or outcome.statuses.count(200) != outcome.reached:
        problems.append(f"{outcome.reached} calls reached the application")
    if outcome.smuggled:
        problems.append(f"{outcome.smuggled} calls were smuggled")
    if outcome.extra:
        problems.append(f"an unexpected response: {outcome.extra[:200]!r}")
    return problems
