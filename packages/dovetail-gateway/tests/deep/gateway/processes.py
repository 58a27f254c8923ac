"""Starts upstreams and gateways in their own processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.patience import CAP, wait_until

__all__ = ["OLD_SHOP", "Process", "start_notes"]

HERE = Path(__file__).parent
OLD_SHOP = HERE.parents[1] / "gateway" / "old_shop.py"
NOTES = HERE / "notes.py"


class Process:
    """A `dovetail` command that serves over HTTP, and what it writes to stderr."""

    def __init__(self, log: Path, *words: str) -> None:
        self._log = log
        with log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "dovetail", *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    @property
    def log(self) -> str:
        """Everything that was written to stderr."""
        return self._log.read_text()

    @property
    def url(self) -> str:
        """The URL, as soon as it is served."""

        def find() -> re.Match[str] | None:
            assert self._process.poll() is None, self.log
            return re.search(r"serving (http://\S+);", self.log)

        return wait_until(find)[1]  # type: ignore[index]

    def stop(self) -> None:
        """End it, and wait until it has ended."""
        self._process.terminate()
        self._process.wait(CAP)


def start_notes(folder: Path, port: str = "0") -> Process:
    """Start the upstream over HTTP."""
    log = folder / "notes.log"
    log.unlink(missing_ok=True)
    return Process(log, "run", f"{NOTES}:server", "--http", port)
