"""One server process and a client of a few lines: requests and answers, one at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["VaultProcess"]

_REVISION = "2025-11-25"


class VaultProcess:
    """`dovetail serve vault` on pipes."""

    def __init__(self, vault: Path, index: Path) -> None:
        words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(index)]
        # A model would be at work beside everything that is measured, if one is installed.
        words += ["--embeddings", "off"]
        self.begun = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._id = 0
        client = {"name": "bench", "version": "0"}
        params = {"protocolVersion": _REVISION, "capabilities": {}, "clientInfo": client}
        self.request("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> VaultProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

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
            answer = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._id:
                return answer["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """The data of a tool's answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert not result.get("isError"), result
        return result["structuredContent"]

    def wait_until_complete(self) -> float:
        """Seconds from the start of the process until all notes are in the index."""
        while not self._is_complete():
            time.sleep(0.1)
        return time.perf_counter() - self.begun

    def _is_complete(self) -> bool:
        # The cheapest question that tells: asking costs time that the first pass has not.
        return not self.call("list-notes", directory="folder000", limit=1)["indexing"]

    def list_everything(self) -> tuple[int, float]:
        """How many resources there are, and how long it takes to list them, page by page."""
        begun, count = time.perf_counter(), 0
        params: dict[str, Any] = {}
        while True:
            page = self.request("resources/list", params)
            count += len(page["resources"])
            if "nextCursor" not in page:
                return count, time.perf_counter() - begun
            params = {"cursor": page["nextCursor"]}

    def memory(self) -> tuple[float, float]:
        """Megabytes resident now, and at most since the start."""
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        now, most = (int(found[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))
        return now, most
