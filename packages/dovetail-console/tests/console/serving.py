"""Servers with the console, each in a process of its own on a free port of 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.patience import CAP, wait_until

__all__ = ["Served", "serve_command", "serve_console", "serve_file", "serve_source"]

_URL = re.compile(r"serving (http://\S+);")
_CONSOLE = re.compile(r"Console: (http://\S+)")


@dataclass
class Served:
    """A running server process."""

    process: subprocess.Popen[bytes]
    # The URLs of the MCP endpoints.
    urls: list[str] = field(default_factory=list)
    # What the process has written to stderr, line by line.
    lines: list[str] = field(default_factory=list)

    @property
    def base(self) -> str:
        """The origin, such as http://127.0.0.1:8000, without a slash at the end."""
        return "/".join(self.urls[0].split("/")[:3])

    @property
    def console(self) -> str:
        """The URL of the console."""
        return f"{self.base}/console/"

    def stop(self) -> None:
        """End the process and wait for it."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(CAP)


@contextlib.contextmanager
def serve_command(
    words: Sequence[str], *, count: int = 1, env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Run `dovetail WORDS` until it serves `count` endpoints (or a console for a target)."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dovetail", *words],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    served = Served(process)

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            text = line.decode(errors="replace").rstrip("\n")
            served.lines.append(text)
            served.urls += _URL.findall(text)
            if words[0] == "console":
                served.urls += _CONSOLE.findall(text)

    # It reads until the end, so that the process never waits for a full pipe.
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        wait_until(lambda: len(served.urls) >= count or process.poll() is not None)
        assert len(served.urls) >= count, "\n".join(served.lines)
        yield served
    finally:
        served.stop()
        reader.join(CAP)
        assert process.stderr is not None
        process.stderr.close()


def serve_file(
    file: str | Path, *options: str, port: int | str = 0, env: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[Served]:
    """Serve a server file with the console: `dovetail run FILE --http 0 OPTIONS`."""
    return serve_command(["run", str(file), "--http", str(port), *options], env=env)


@contextlib.contextmanager
def serve_source(
    source: str, folder: Path, *options: str, env: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Serve a server whose source is given; the file is written into the folder."""
    file = folder / "served.py"
    file.write_text(source)
    with serve_file(file, *options, env=env) as served:
        yield served


def serve_console(
    *words: str, env: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[Served]:
    """Run `dovetail console WORDS` without a browser, for a URL or `"--", *COMMAND`."""
    return serve_command(["console", "--no-open", *words], env=env)
