"""Measures the CPU of a call: one process or several, with and without Redis.

CPU is that of the serving processes alone. What the processes of a cluster do without calls, such
as reporting that they are alive, is measured as well and subtracted: it does not grow with calls.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import NamedTuple

from qa.bench.cluster.exchange import Caller, Session
from qa.bench.environments import ROOT, python_of
from qa.bench.listening import free_port
from qa.bench.processes import cpu_seconds, surroundings

__all__ = ["ClusterResults", "measure_cluster"]

_SERVER = Path(__file__).with_name("server.py")
_PATIENCE = 60.0
_IDLE_SECONDS = 2.0


class ClusterResults(NamedTuple):
    """CPU of a call in microseconds, by way; the best round counts."""

    calls: int
    cpu: dict[str, float]
    # CPU of a process without calls, in microseconds per second.
    idle: float
    # CPU per call with one and with two workers, and by how much the busier one exceeds the mean.
    workers: dict[int, float]
    spread: float

    def added(self, way: str, base: str) -> float:
        """What one way costs more than another one."""
        return self.cpu[way] - self.cpu[base]


class _Process:
    """A server, or a supervisor with its workers."""

    def __init__(self, folder: Path, env: Mapping[str, str], *words: str) -> None:
        self.port = free_port()
        log = folder / f"{self.port}.log"
        with log.open("wb") as stderr:
            self.popen = subprocess.Popen(
                [
                    *(str(python_of("bench-dovetail")), "-m", "dovetail", "run"),
                    *(f"{_SERVER}:server", "--http", str(self.port), *words),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                cwd=ROOT,
                env=surroundings(env),
            )
        deadline = time.monotonic() + _PATIENCE
        while "serving http://" not in log.read_text():
            if self.popen.poll() is not None or time.monotonic() > deadline:
                raise ConnectionError(f"the server does not start:\n{log.read_text()}")
            time.sleep(0.05)

    def pids(self) -> list[int]:
        """The processes that serve."""
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children").read_text()
        return [int(pid) for pid in children.split()] or [self.popen.pid]

    def cpu(self) -> list[float]:
        """CPU seconds of each."""
        return [cpu_seconds(pid) for pid in self.pids()]

    def end(self) -> None:
        """Stop it."""
        self.popen.terminate()
        self.popen.wait(_PATIENCE)


@contextmanager
def _running(folder: Path, env: Mapping[str, str], *words: str) -> Iterator[_Process]:
    process = _Process(folder, env, *words)
    try:
        yield process
    finally:
        process.end()


def measure_cluster(rounds: int, calls: int) -> ClusterResults:
    """All ways in turns."""
    # The tests know how to run a redis-server.
    sys.path.append(str(ROOT / "packages" / "dovetail"))
    from tests.cluster.redis_server import running_redis  # noqa: PLC0415 - the other parts need no tests

    with TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        redis = stack.enter_context(running_redis(folder / "redis"))
        shared = {"BENCH_CLUSTER": redis.url}

        def start(env: Mapping[str, str]) -> tuple[_Process, Caller]:
            process = stack.enter_context(_running(folder, env))
            caller = Caller(process.port)
            stack.callback(caller.close)
            return process, caller

        ways = _Ways(
            alone=start({}),
            limited=start({"BENCH_LIMITS": "1"}),
            first=start(shared),
            second=start(shared),
            limited_shared=start({**shared, "BENCH_LIMITS": "1"}),
        )
        idle = _measure_idle(ways.first[0])
        cpu: dict[str, float] = {}
        for _ in range(rounds):
            for way, measure in ways.measures(calls, idle).items():
                cpu[way] = min(cpu.get(way, 1e9), measure())
        workers, spread = {}, 0.0
        for count in (1, 2):
            workers[count], spread = _measure_workers(count, rounds, redis.url, folder)
    return ClusterResults(calls, cpu, idle, workers, spread)


class _Ways(NamedTuple):
    """The processes, each with a connection to it."""

    alone: tuple[_Process, Caller]
    limited: tuple[_Process, Caller]
    first: tuple[_Process, Caller]
    second: tuple[_Process, Caller]
    limited_shared: tuple[_Process, Caller]

    def measures(self, calls: int, idle: float) -> dict[str, Callable[[], float]]:
        """Each way with what measures it."""
        ways: dict[str, Callable[[], float]] = {
            name: partial(_load, way[0], Caller.modern, idle if is_shared else 0)
            for name, way, is_shared in (
                ("modern", self.alone, False),
                ("modern, cluster", self.first, True),
                ("modern, limits", self.limited, False),
                ("modern, limits, cluster", self.limited_shared, True),
            )
        }
        return {
            **ways,
            "legacy": lambda: _load(self.alone[0], self.alone[1].start_session().call, 0),
            "legacy, known session": lambda: _load(
                self.first[0], self.first[1].start_session().call, idle
            ),
            "legacy, one at a time": lambda: _spend(
                self.alone, [self.alone[1].start_session().call] * calls, 0
            ),
            "legacy, processes in turn": lambda: self._alternate(calls, idle),
            "legacy, first call": lambda: _spend(
                self.second, [each.call for each in self._sessions(calls // 10)], idle
            ),
        }

    def _alternate(self, calls: int, idle: float) -> float:
        """Microseconds of both processes per call."""
        session = self.first[1].start_session()
        ways = (self.first, self.second)
        began, before = time.monotonic(), sum(sum(process.cpu()) for process, _ in ways)
        for number in range(calls):
            ways[number % 2][1].send(session.call)
        used = (sum(sum(process.cpu()) for process, _ in ways) - before) * 1e6
        return (used - 2 * idle * (time.monotonic() - began)) / calls

    def _sessions(self, count: int) -> list[Session]:
        return [self.first[1].start_session() for _ in range(count)]


def _spend(way: tuple[_Process, Caller], requests: list[bytes], idle: float) -> float:
    """Microseconds of CPU per request."""
    process, caller = way
    caller.send(Caller.modern)
    began, before = time.monotonic(), sum(process.cpu())
    for request in requests:
        caller.send(request)
    used = (sum(process.cpu()) - before) * 1e6
    return (used - idle * (time.monotonic() - began)) / len(requests)


def _measure_idle(process: _Process) -> float:
    before = sum(process.cpu())
    time.sleep(_IDLE_SECONDS)
    return (sum(process.cpu()) - before) * 1e6 / _IDLE_SECONDS


# -- with calls in flight -------------------------------------------------------------------------

_REQUESTS = re.compile(r"(\d+) requests in")
_IN_FLIGHT = 32


def _run_wrk(port: int, request: bytes, in_flight: int = _IN_FLIGHT) -> int:
    """The number of calls in a second, all of which succeeded."""
    with NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(_lua(request))
        script.flush()
        done = subprocess.run(
            [
                *("wrk", "-t1", f"-c{in_flight}", "-d1s", "-s", script.name),
                f"http://127.0.0.1:{port}/mcp",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
    found = _REQUESTS.search(done.stdout)
    assert found is not None and "Non-2xx" not in done.stdout, done.stdout
    return int(found[1])


def _load(process: _Process, request: bytes, idle: float) -> float:
    """Microseconds of CPU per call."""
    began, before = time.monotonic(), sum(process.cpu())
    calls = _run_wrk(process.port, request)
    used = (sum(process.cpu()) - before) * 1e6
    return (used - idle * (time.monotonic() - began)) / calls


def _measure_workers(count: int, rounds: int, url: str, folder: Path) -> tuple[float, float]:
    """CPU per call over all workers, and by how much the busiest exceeds the mean."""
    best = 1e9
    # A process that has fewer calls in flight is woken more often for the same work.
    in_flight = count * _IN_FLIGHT
    words = ("--workers", str(count), "--cluster", url) if count > 1 else ()
    env = {"BENCH_CLUSTER": url, "DOVETAIL_STATE_KEYS": "62656e6368" * 8}
    with _running(folder, env, *words) as process:
        # The first calls may come before all workers have started.
        _run_wrk(process.port, Caller.modern, in_flight)
        begin = process.cpu()
        for _ in range(rounds):
            before = sum(process.cpu())
            calls = _run_wrk(process.port, Caller.modern, in_flight)
            best = min(best, (sum(process.cpu()) - before) * 1e6 / calls)
        used = [now - then for now, then in zip(process.cpu(), begin, strict=True)]
    return best, max(used) * len(used) / sum(used) - 1


def _lua(request: bytes) -> str:
    head, _, body = request.decode().partition("\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.split("\r\n")[1:]]
    headers = "\n".join(
        f"wrk.headers[{name!r}] = {value!r}"
        for name, value in lines
        if name not in ("Host", "Content-Length")
    )
    return f'wrk.method = "POST"\nwrk.body = [[{body}]]\n{headers}\n'
