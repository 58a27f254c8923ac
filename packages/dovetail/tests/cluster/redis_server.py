"""A real redis-server for tests, on a free port of this machine.

`make test` unpacks the program into `.proxies`, so that no service is started on this machine.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import CAP, wait_until

__all__ = ["RedisServer", "cluster_url", "redis_server", "running_redis"]

_PROGRAMS = Path(__file__).parents[4] / ".proxies" / "usr"


class RedisServer:
    """A redis-server; it keeps its port when it is started again, and loses its contents."""

    def __init__(self, folder: Path, *settings: str) -> None:
        self._folder = folder
        self._settings = settings
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL for `Options.state`."""
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start the server and wait until it answers."""
        program = shutil.which("redis-server", path=f"{_PROGRAMS}/bin:{os.environ['PATH']}")
        assert program is not None, "redis-server is missing; `make test` unpacks it"
        # fmt: off
        command = [
            program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
            "--appendonly", "no", "--dir", str(self._folder), *self._settings,
        ]
        # fmt: on
        with (self._folder / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "LD_LIBRARY_PATH": f"{_PROGRAMS}/lib/x86_64-linux-gnu"},
            )
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None and self._process.poll() is None, self.log
        try:
            return self.command("PING")[:1] in (b"+", b"-")
        except OSError:
            return False

    @property
    def log(self) -> str:
        """What the server has printed."""
        return (self._folder / "redis.log").read_text()

    def command(self, *words: str) -> bytes:
        """Send a command on a connection of its own; the first line of the answer."""
        parts = [word.encode() for word in words]
        data = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(p), p) for p in parts)
        with socket.create_connection(("127.0.0.1", self.port), CAP) as connection:
            connection.sendall(data)
            with connection.makefile("rb") as answer:
                return answer.readline()

    def kill(self) -> None:
        """End the server at once, without a farewell."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(CAP)

    def pause(self) -> None:
        """Let the server hang: connections stay open, nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End the pause."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End the server if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.resume()
            self.kill()


@contextmanager
def running_redis(folder: Path, *settings: str) -> Iterator[RedisServer]:
    """A redis-server with these settings (`--requirepass`, `secret`) until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    server = RedisServer(folder, *settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One redis-server for the tests of a worker; a conftest.py imports it."""
    with running_redis(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def cluster_url(redis_server: RedisServer) -> str:
    """The URL of a cluster that no other test uses."""
    return f"{redis_server.url}?name={secrets.token_hex(6)}"
