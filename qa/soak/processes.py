"""Servers as processes of their own: started, watched from outside, ended."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from dovetail.transports.http_server import bind
from qa.soak.http_client import Connection
from qa.soak.messages import counts

__all__ = ["ROOT", "HttpServer"]

ROOT = Path(__file__).resolve().parents[2]

_CPUCLOCK_SCHED = 2
_PAGE = os.sysconf("SC_PAGE_SIZE")


class HttpServer:
    """A server that can be asked at once: its socket listens before it has started."""

    def __init__(
        self,
        module: str = "with_dovetail",
        *,
        python: Path | None = None,
        session_lifetime: float = 1800.0,
        settings: dict[str, str] | None = None,
    ) -> None:
        with bind("127.0.0.1", 0) as listener:
            self.port: int = listener.getsockname()[1]
            self._process = subprocess.Popen(
                [
                    str(python or sys.executable),
                    "-m",
                    f"qa.soak.servers.{module}",
                    str(listener.fileno()),
                    str(session_lifetime),
                ],
                cwd=ROOT,
                pass_fds=[listener.fileno()],
                env=None if settings is None else {**os.environ, **settings},
                stdout=subprocess.DEVNULL,
            )

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far, user and system (clock_getcpuclockid(3))."""
        return time.clock_gettime((~self._process.pid << 3) | _CPUCLOCK_SCHED)

    @property
    def rss(self) -> int:
        """Bytes resident now."""
        fields = Path(f"/proc/{self._process.pid}/statm").read_text().split()
        return int(fields[1]) * _PAGE

    async def counts(self, *, collect: bool = False) -> dict[str, int]:
        """What it says that it holds."""
        connection = await Connection.open(self.port)
        try:
            answer = await connection.exchange(counts(collect=collect))
        finally:
            await connection.close()
        found: dict[str, int] = json.loads(answer.body)
        return found

    async def counts_once(
        self, wanted: Callable[[dict[str, int]], bool], seconds: float
    ) -> dict[str, int]:
        """What it holds once `wanted` is true of it, or when so much time has passed."""
        deadline = time.monotonic() + seconds
        while True:
            found = await self.counts()
            if wanted(found) or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
