"""Contestants as processes: started, talked to over pipes, and measured from outside.

CPU seconds come from the process's own CPU clock, which the kernel keeps in nanoseconds for
all its threads, living or gone; waiting costs nothing there, so a busy machine disturbs the
figures little. /proc/PID/stat counts the same in ticks of 10 ms.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from qa.bench.messages import INITIALIZED, Era, opening

__all__ = ["InProcess", "Spent", "StdioServer", "cpu_seconds", "surroundings"]

_CHUNK = 1024 * 1024
_PATIENCE = 120.0
_CPUCLOCK_SCHED = 2


class Spent(NamedTuple):
    """What an exchange cost: CPU of the server, and time."""

    cpu: float
    wall: float


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED)


def surroundings(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment variables of a contestant."""
    # PYTHONUNBUFFERED slows whoever writes to stdout, PYTHONDONTWRITEBYTECODE whoever is not
    # compiled yet: what happens to be set here must not decide who wins.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONWARNINGS": "ignore", **(settings or {})}


class StdioServer:
    """A server on pipes, and a client that does as little as it can."""

    def __init__(
        self, command: Sequence[str], cwd: Path, settings: Mapping[str, str] | None = None
    ) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd=cwd,
            env=surroundings(settings),
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._out, selectors.EVENT_READ)
        self._held = b""
        self.next_id = 1

    def open(self, era: Era) -> Spent:
        """Say hello; the seconds since the process was started."""
        self.exchange([opening(era)], 1)
        spent = Spent(cpu_seconds(self._process.pid), time.perf_counter() - self.started)
        if era == "legacy":
            os.write(self._in, INITIALIZED + b"\n")
        return spent

    def claim_ids(self, count: int) -> int:
        """The first of `count` ids that this connection has not used."""
        first = self.next_id
        self.next_id += count
        return first

    def exchange(self, messages: Sequence[bytes], in_flight: int) -> list[bytes]:
        """The answers; never more than `in_flight` requests wait for theirs."""
        waiting = [message + b"\n" for message in messages]
        answers: list[bytes] = []
        sent = 0
        unsent = b""
        deadline = time.perf_counter() + _PATIENCE
        while len(answers) < len(messages):
            room = min(len(messages), len(answers) + in_flight)
            if room > sent:
                unsent += b"".join(waiting[sent:room])
                sent = room
            if unsent:
                unsent = self._send(unsent)
            if unsent:
                self._wait_for_both(deadline)
            elif not self._selector.select(max(0.0, deadline - time.perf_counter())):
                raise TimeoutError(f"{len(answers)} of {len(messages)} answers came")
            answers += self._receive()
        return answers

    def _send(self, data: bytes) -> bytes:
        try:
            return data[os.write(self._in, data) :]
        except BlockingIOError:
            return data

    def _wait_for_both(self, deadline: float) -> None:
        self._selector.register(self._in, selectors.EVENT_WRITE)
        try:
            if not self._selector.select(max(0.0, deadline - time.perf_counter())):
                raise TimeoutError("the server reads and writes nothing")
        finally:
            self._selector.unregister(self._in)

    def _receive(self) -> list[bytes]:
        try:
            data = os.read(self._out, _CHUNK)
        except BlockingIOError:
            return []
        if not data:
            raise ConnectionError(f"the server has ended: {self._process.args!r}")
        *lines, self._held = (self._held + data).split(b"\n")
        return [line for line in lines if b'"id"' in line]

    def measure(self, messages: Sequence[bytes], in_flight: int) -> tuple[Spent, list[bytes]]:
        """What the server spends on answering these."""
        cpu, wall = cpu_seconds(self._process.pid), time.perf_counter()
        answers = self.exchange(messages, in_flight)
        took = time.perf_counter() - wall
        return Spent(cpu_seconds(self._process.pid) - cpu, took), answers

    def memory(self, what: str = "VmRSS") -> float:
        """MiB, from /proc: VmRSS is what is resident now, VmHWM the most that ever was."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{what}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(what)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        self._selector.close()
        self._process.kill()
        self._process.communicate()


class InProcess:
    """A contestant that calls itself and reports what that took."""

    def __init__(self, command: Sequence[str], cwd: Path) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=surroundings(),
        )

    def measure(self, tool: str, era: Era, count: int) -> Spent:
        """What `count` calls took."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = json.dumps({"tool": tool, "era": era, "count": count})
        self._process.stdin.write(order.encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise ConnectionError(f"the contestant has ended: {self._process.args!r}")
        answer: dict[str, Any] = json.loads(line)
        return Spent(answer["cpu"], answer["wall"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
