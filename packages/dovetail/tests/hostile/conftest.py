"""Servers in processes of their own, and what must hold after each thing that is done to them."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.wire import PATIENCE, Response, Wire, initialize, modern_call

TARGET = Path(__file__).with_name("target.py")
PARSERS = ("httptools", "h11")

# All that a server may say of what clients do to it: nothing of its own above debug, and what
# uvicorn says of bytes that are no HTTP.
_HARMLESS = re.compile(
    r"DEBUG:dovetail:.*"
    r"|WARNING:uvicorn\.error:(Invalid HTTP request received|Unsupported upgrade request)\."
    r"|WARNING:uvicorn\.error:No supported WebSocket library detected\..*"
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
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if found := condition():
                return found
            assert self._process.poll() is None, self.said()
            time.sleep(0.01)
        raise AssertionError(f"it never came to be; the server said:\n{self.said()}")

    def connect(self) -> Wire:
        """A connection until the test ends, or ends it."""
        wire = Wire(self.port)
        self._wires.append(wire)
        return wire

    def hang_up_all(self) -> None:
        """End what a test has left open."""
        while self._wires:
            self._wires.pop().close()

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
        said, self._seen = self.said_since(self._seen), len(self.said())
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
                process.wait(PATIENCE)
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
