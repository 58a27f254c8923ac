"""The ways in which an application is served, each in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.patience import CAP, wait_until

__all__ = ["STACKS", "serving"]

_SERVER = Path(__file__).with_name("server.py")
_RUN = ["-m", "dovetail", "run", str(_SERVER), "--http", "0"]
_UVICORN = [
    "-m",
    "uvicorn",
    "tests.deep.http_corpus.server:app",
    "--port",
    "0",
    "--no-access-log",
    "--http",
]

# Requests are logged, or take the fast path.
STACKS: dict[str, list[str]] = {
    "run, fast path": [*_RUN, "--http-parser", "httptools"],
    "run, usual path": [*_RUN, "--http-parser", "httptools", "--access-log"],
    "run, h11": [*_RUN, "--http-parser", "h11"],
    "uvicorn, httptools": [*_UVICORN, "httptools"],
    "uvicorn, h11": [*_UVICORN, "h11"],
}


@contextmanager
def serving(words: list[str], log: Path) -> Iterator[int]:
    """The port of a server."""
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [sys.executable, *words], stderr=stderr, stdin=subprocess.DEVNULL
        ) as process,
    ):
        try:
            found = wait_until(lambda: re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text()))
            assert found is not None
            yield int(found[1])
        finally:
            process.terminate()
            process.wait(CAP)
            process.kill()
