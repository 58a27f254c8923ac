"""Servers in processes of their own, and what must hold after each thing that is done to them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.deep.hostile.wire import Response, Wire, initialize, modern_call
from tests.patience import CAP, wait_until

TARGET = Path(__file__).with_name("target.py")
PARSERS = ("httptools", "h11")

# All that a server may say of what clients do to it: nothing of its own above debug, and what
# uvicorn says of bytes that are no HTTP.
_HARMLESS = re.compile(
    r"DEBUG:dovetail:.*"
    r"|WARNING:uvicorn\.error:(Invalid HTTP request received|Unsupported upgrade request)\."
    r"|WARNING:uvicorn\.error:No supported WebSocket library detected\..*"
    # The last lines at startup, which may come after the first response.
    r"|(Client configuration|Console): .*"
)


class Target:
    """One server, and its log."""

    def __init__(self, parser: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.parser = parser
        self._process = process
        self._log = log
        self._wires: list[Wire] = []
        found = self.wait_for(lambda: re.search(r"serving http://127\.0\.0\.1:(\d+)/", self.said()))
        self.port = int(found[1])
        self._seen = len(self.said())

    def said(self) -> str:
        return self._log.read_text("utf-8")

    def said_since(self, start: int) -> str:
        return self.said()[start:]

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        """What the condition gives once it holds."""

        def holds() -> Any:
            found = condition()
            assert found or self._process.poll() is None, self.said()
            return found

        return wait_until(holds)

    def connect(self) -> Wire:
        """A connection until the test ends, or ends it."""
        wire = Wire(self.port)
        self._wires.append(wire)
        return wire

    def hang_up_all(self) -> None:
        """End what a test has left open, and wait until the server has noticed."""
        while self._wires:
            self._wires.pop().close()
        self.wait_for(lambda: (held := self.holds())["streams"] == held["calls"] == 0)

    def ask(self, raw: bytes, *, to: str = "POST") -> Response:
        """The response to one request on a connection of its own."""
        wire = Wire(self.port)
        try:
            wire.say(raw)
            return wire.hear(to=to)
        finally:
            wire.close()

    def open_session(self, revision: str = "2025-11-25") -> str:
        return self.ask(initialize(revision)).headers["mcp-session-id"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a tool answers to somebody else."""
        return self.ask(modern_call(tool, **arguments)).json["result"].get("structuredContent")

    def holds(self) -> dict[str, int]:
        """What is held for clients now."""
        found: dict[str, int] = self.call("held")
        return found

    def check_well(self) -> None:
        """Others are served, and nothing in the log is more than a remark."""
        assert self.ask(modern_call("echo", text="well")).text == "well"
        assert self._process.poll() is None
        # A line that is being written now is looked at next time.
        said = self.said()
        start, self._seen = self._seen, said.rfind("\n") + 1
        said = said[start : self._seen]
        assert [line for line in said.splitlines() if not _HARMLESS.fullmatch(line)] == []


@contextmanager
def start(parser: str, log: Path, *words: str) -> Iterator[Target]:
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, *words], stderr=stderr, stdin=subprocess.DEVNULL
        ) as process,
    ):
        try:
            yield Target(parser, process, log)
        finally:
            process.terminate()
            try:
                process.wait(CAP)
            finally:
                process.kill()


def run_target(parser: str, log: Path) -> AbstractContextManager[Target]:
    words = ("-m", "dovetail", "run", str(TARGET), "--http", "127.0.0.1:0")
    return start(parser, log, *words, "--http-parser", parser)


@pytest.fixture(scope="session", params=PARSERS)
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    log = tmp_path_factory.mktemp("target") / "said.txt"
    with run_target(request.param, log) as target:
        yield target


@pytest.fixture(params=PARSERS)
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A server for one test alone, whose memory nobody else has used."""
    with run_target(request.param, tmp_path / "said.txt") as target:
        yield target
        target.hang_up_all()


@pytest.fixture(scope="session", params=PARSERS)
def running_tightly(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Any:
    log = tmp_path_factory.mktemp("tight") / "said.txt"
    with start(request.param, log, str(TARGET), request.param) as target:
        yield target


@pytest.fixture
def target(running: Target) -> Iterator[Target]:
    """A server as `dovetail run` starts it."""
    yield running
    running.hang_up_all()
    running.check_well()


@pytest.fixture
def tight(running_tightly: Target) -> Iterator[Target]:
    """A server with little patience and room for few."""
    yield running_tightly
    running_tightly.hang_up_all()
    running_tightly.check_well()
