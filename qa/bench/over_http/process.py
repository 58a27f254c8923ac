"""A server process on a core of its own, and what that core did besides."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from qa.bench.environments import ROOT
from qa.bench.listening import free_port
from qa.bench.over_http.field import Launch
from qa.bench.processes import cpu_seconds, surroundings

__all__ = ["SERVER_CORE", "CoreTime", "HttpServer", "core_time"]

SERVER_CORE = 0
_PATIENCE = 30.0


class CoreTime(NamedTuple):
    """Seconds since boot that a core was at work for processes, or was not ours to use."""

    busy: float
    stolen: float


def core_time(core: int = SERVER_CORE) -> CoreTime:
    """From /proc/stat; time in interrupts is left out, most of it is our own network traffic."""
    tick = os.sysconf("SC_CLK_TCK")
    for line in Path("/proc/stat").read_text().splitlines():
        name, *fields = line.split()
        if name == f"cpu{core}":
            user, nice, system, _, _, _, _, stolen, *_ = (int(field) / tick for field in fields)
            return CoreTime(user + nice + system, stolen)
    raise LookupError(f"no core {core}")


class HttpServer:
    """A contestant that listens."""

    def __init__(self, launch: Launch, more: dict[str, Any] | None = None) -> None:
        self.port = free_port()
        options = {**dict(launch.options), **(more or {})}
        # A file and not a pipe: nobody reads while a turn is on.
        self._said = os.memfd_create("stderr")
        self._process = subprocess.Popen(
            ["taskset", "-c", str(SERVER_CORE), *launch.command(self.port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._said,
            cwd=ROOT,
            env=surroundings(
                {"BENCH_HTTP_OPTIONS": json.dumps(options), "FASTMCP_LOG_LEVEL": "ERROR"}
            ),
        )
        try:
            self._await_readiness()
        except BaseException:
            self.end()
            raise

    def _await_readiness(self) -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                said = os.pread(self._said, 100_000, 0).decode(errors="replace")
                raise ConnectionError(f"{self._process.args!r} has ended:\n{said}")
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            time.sleep(0.05)
        raise TimeoutError(f"{self._process.args!r} does not listen")

    def check_stack(self) -> None:
        """After the first answer: uvloop and httptools are in C; who uses them has them mapped."""
        mapped = Path(f"/proc/{self._process.pid}/maps").read_text()
        for library in ("uvloop/loop", "httptools/parser"):
            if library not in mapped:
                raise AssertionError(f"{self._process.args!r} runs without {library}")

    def cpu(self) -> float:
        """CPU seconds so far."""
        return cpu_seconds(self._process.pid)

    def end(self) -> None:
        """Stop it."""
        self._process.kill()
        self._process.wait()
        os.close(self._said)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        self.end()
