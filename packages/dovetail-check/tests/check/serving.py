"""Servers of other people, or our own, as processes that listen on a free port."""

from __future__ import annotations

import socket
import subprocess
import time

from tests.patience import CAP

__all__ = ["free_port", "wait_until_it_listens"]


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Return once somebody accepts connections; raises where the process ends before."""
    until = time.monotonic() + CAP
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with status {process.returncode}")
        with socket.socket() as attempt:
            attempt.settimeout(1)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"{process.args!r} does not listen on {port} after {CAP:g} s")
