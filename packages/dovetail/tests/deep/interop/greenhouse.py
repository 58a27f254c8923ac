"""Where the example server is, and how a client reaches it: as its own process, or at a URL."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from dovetail.cli.loading import load_server
from dovetail.server import Server
from tests.patience import CAP, wait_until

__all__ = [
    "ARGUMENTS",
    "COMMAND",
    "EXAMPLE",
    "LEGACY",
    "MODERN",
    "ROOT",
    "WAYS",
    "Greenhouses",
    "Served",
    "Way",
    "load_greenhouse",
    "serve",
]

ROOT = Path(__file__).parents[5]
EXAMPLE = ROOT / "examples" / "everything.py"
COMMAND = sys.executable
ARGUMENTS = ["-m", "dovetail", "run", str(EXAMPLE)]
# An interpreter on a busy machine takes its time to start.


@dataclass(frozen=True, slots=True)
class Way:
    """How a client talks to the server: over what, and in which era."""

    transport: str
    era: str

    def __str__(self) -> str:
        return f"{self.transport}-{self.era}"


LEGACY = (Way("stdio", "legacy"), Way("http", "legacy"))
MODERN = (Way("stdio", "modern"), Way("http", "modern"))
WAYS = (*LEGACY, *MODERN)


def load_greenhouse() -> Server:
    """The example in this process, fresh: what it learned in another test is gone."""
    return load_server(str(EXAMPLE))


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers at a URL, in a process of its own."""

    url: str
    process: subprocess.Popen[str]


@contextmanager
def serve(file: Path, log: Path, port: int = 0) -> Iterator[Served]:
    """`dovetail run FILE --http`, from when it says where it is until the block ends."""
    command = [COMMAND, "-m", "dovetail", "run", str(file), "--http", f"127.0.0.1:{port}"]
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=stderr, text=True
        )
    try:
        yield Served(_wait_for_url(process, log), process)
    finally:
        process.terminate()
        try:
            process.wait(CAP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(CAP)
            raise


def _wait_for_url(process: subprocess.Popen[str], log: Path) -> str:
    # A file cannot be waited for; it says so only once it answers, so nobody connects in vain.
    def find() -> re.Match[str] | None:
        found = re.search(r"serving (http://\S+);", log.read_text())
        assert found or process.poll() is None, f"the server did not start:\n{log.read_text()}"
        return found

    found = wait_until(find)
    assert found is not None
    return found[1]


class Greenhouses:
    """The servers of one test module: one per way, so that no client hears of another's doings."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._served: dict[Way, Served] = {}

    def log(self, way: Way) -> Path:
        """Where the server's stderr goes."""
        return self._folder / f"{way}.txt"

    def open_log(self, way: Way) -> TextIO:
        """The same as a file, for clients that start the server themselves."""
        return self._open.enter_context(self.log(way).open("a"))

    def url(self, way: Way) -> str:
        """Where the server of this way answers; it is started when it is first asked for."""
        if way not in self._served:
            self._served[way] = self._open.enter_context(serve(EXAMPLE, self.log(way)))
        return self._served[way].url

    def close(self) -> None:
        """End them all."""
        self._open.close()
