"""Processes that listen on a port of 127.0.0.1."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from qa.bench.environments import ROOT
from qa.bench.processes import surroundings

__all__ = ["free_port", "listening"]

_PATIENCE = 30.0


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def listening(
    command: Sequence[str], port: int, env: Mapping[str, str], output: Path
) -> Iterator[int]:
    """Start a process and wait until it listens; its id. Its output goes to a file."""
    with (
        output.open("wb") as file,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
            env=surroundings(env),
            start_new_session=True,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + _PATIENCE
            while process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.05)
            else:
                raise ConnectionError(f"{command!r} does not listen:\n{output.read_text()}")
            yield process.pid
        finally:
            # With the processes that it has started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
