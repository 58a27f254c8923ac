"""A client that does whatever a client can do, and is killed in the middle of it.

    python -m qa.soak.vandal PORT SEED

It opens sessions, streams, slow calls and questions, sends halves of requests, and reads
nothing of what it asked for. It never ends by itself: whoever started it kills it.
"""

from __future__ import annotations

import random
import re
import socket
import sys
import time
from collections.abc import Callable

from qa.soak import messages

__all__ = ["HABITS", "Vandal"]

_MOST_OPEN = 40
_PAUSE = 0.01
_SESSION = re.compile(rb"mcp-session-id: *(\S+)", re.IGNORECASE)


class Vandal:
    """Its connections, all of which it leaves open."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []
        self._last_id = 0

    @property
    def is_done(self) -> bool:
        """Whether it has as many connections as it wants."""
        return len(self._open) >= _MOST_OPEN

    def close(self) -> None:
        """Let go of everything, as the system does for a process that is killed."""
        for connection in self._open:
            connection.close()

    def say(self, data: bytes) -> socket.socket:
        """Send something on a new connection and do not wait for an answer."""
        connection = socket.create_connection(("127.0.0.1", self._port), 10)
        self._open.append(connection)
        connection.sendall(data)
        return connection

    def session(self) -> str:
        """A session of its own."""
        connection = self.say(messages.initialize({"elicitation": {}}))
        answer = b""
        while (found := _SESSION.search(answer)) is None or b"\r\n\r\n" not in answer:
            chunk = connection.recv(65536)
            if not chunk:
                raise ConnectionError("the server has ended")
            answer += chunk
        session = found[1].decode()
        connection.sendall(messages.initialized(session))
        return session

    def call(self, session: str | None, tool: str) -> None:
        """A call whose answer nobody reads."""
        self._last_id += 1
        self.say(messages.call(session, self._last_id, tool))


def _half_a_body(vandal: Vandal) -> None:
    request = messages.call(None, 1, "add", a=1, b=2)
    vandal.say(request[: len(request) - 20])


def _half_a_head(vandal: Vandal) -> None:
    vandal.say(messages.call(None, 1, "add", a=1, b=2)[:60])


def _subscribed(vandal: Vandal) -> None:
    session = vandal.session()
    vandal.say(messages.subscribe(session))
    vandal.say(messages.get_stream(session))


HABITS: dict[str, Callable[[Vandal], object]] = {
    "a session that is left alone": Vandal.session,
    "a GET stream": _subscribed,
    "a listen stream": lambda vandal: vandal.say(messages.listen("mine")),
    "a slow modern call": lambda vandal: vandal.call(None, "slow"),
    "a slow call of a session": lambda vandal: vandal.call(vandal.session(), "slow"),
    "a modern stream that is not read": lambda vandal: vandal.call(None, "flood"),
    "a stream of a session that is not read": lambda vandal: vandal.call(vandal.session(), "flood"),
    "a question that is not answered": lambda vandal: vandal.call(vandal.session(), "ask"),
    "half a body": _half_a_body,
    "half a head": _half_a_head,
    "nothing": lambda vandal: vandal.say(b""),
}


def main() -> None:
    """Do one thing after the other until killed."""
    vandal, dice = Vandal(int(sys.argv[1])), random.Random(int(sys.argv[2]))
    # Each habit once, so that a short life is a full one, then at random.
    agenda = dice.sample(list(HABITS), len(HABITS))
    while True:
        if not vandal.is_done:
            habit = agenda.pop() if agenda else dice.choice(list(HABITS))
            HABITS[habit](vandal)
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
