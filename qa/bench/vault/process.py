"""The notes server on pipes, and how to see that its first pass is over."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from qa.bench.piped_server import PipedServer

__all__ = ["VaultProcess"]


class VaultProcess(PipedServer):
    """`dovetail serve vault` on pipes."""

    def __init__(self, vault: Path, index: Path) -> None:
        words = ["-m", "dovetail", "serve", "vault", str(vault), "--index-dir", str(index)]
        # A model would be at work beside everything that is measured, if one is installed.
        super().__init__([sys.executable, *words, "--embeddings", "off"])

    def wait_until_complete(self) -> float:
        """Seconds from the start of the process until all notes are in the index."""
        while not self._is_complete():
            time.sleep(0.1)
        return time.perf_counter() - self.begun

    def _is_complete(self) -> bool:
        # The cheapest question that tells: asking costs time that the first pass has not.
        asked = {"directory": "folder000", "limit": 1}
        return "indexing" not in self.data("list-notes", asked)

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
