"""A server process on pipes and a client of a few lines: one request at a time, any server."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from qa.bench.processes import cpu_seconds

__all__ = ["PipedServer"]

_REVISION = "2025-06-18"
_PATIENCE = 60


class PipedServer:
    """Started, greeted, asked and ended."""

    def __init__(
        self,
        command: Sequence[str],
        settings: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.begun = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(settings or {})},
            cwd=folder,
        )
        self._id = 0
        # Characters of the texts of the last answer, and of all.
        self.answered = self.answered_in_all = 0
        client = {"name": "bench", "version": "0"}
        params = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": client}
        self.request("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request; notifications on the way are skipped."""
        assert self._process.stdout is not None
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise ConnectionError(f"the server has ended: {self._process.args!r}")
            answer = json.loads(line)
            if answer.get("id") == self._id:
                return answer["result"]

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The whole result of a tool that must succeed."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        texts = [part["text"] for part in result["content"] if part["type"] == "text"]
        self.answered = sum(map(len, texts))
        self.answered_in_all += self.answered
        return result

    def data(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The data of a tool's answer."""
        result = self.call(tool, arguments)
        return result.get("structuredContent") or json.loads(result["content"][0]["text"])

    @property
    def cpu(self) -> float:
        """CPU seconds of the process so far."""
        return cpu_seconds(self._process.pid)

    def memory(self) -> tuple[float, float]:
        """Megabytes resident now, and at most since the start."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        now, most = (int(found[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        return now, most
