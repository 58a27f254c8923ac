"""Server processes that tests start and stop."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.patience import CAP

HERE = Path(__file__).parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def write_key(path: Path) -> rsa.RSAPrivateKey:
    key = rsa.generate_private_key(65537, 2048)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return key


class Running:
    """A process that has said that it is ready."""

    def __init__(self, script: str, words: list[str], log: Path) -> None:
        self.log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(HERE / script), *words],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONWARNINGS": "ignore"},
            )
        assert self._process.stdout is not None
        # A process that hangs at its start must not hang the tests.
        watch = threading.Timer(CAP, self._process.kill)
        watch.start()
        line = self._process.stdout.readline()
        watch.cancel()
        assert line, f"{script} did not start: {log.read_text()[-2000:]}"
        self.ready = json.loads(line)["ready"]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(CAP)
        assert self._process.stdout is not None
        self._process.stdout.close()


class Provider:
    """The authorization server; it can go away and come back, with the same key or another."""

    def __init__(self, folder: Path, *, opaque: bool = False) -> None:
        self.port = free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        self._folder = folder
        self._opaque = ["opaque"] if opaque else []
        self._running: Running | None = None
        self.key = write_key(folder / "key.pem")

    def start(self) -> None:
        words = [str(self.port), str(self._folder / "key.pem"), str(self._folder / "idp.db")]
        log = self._folder / "idp.log"
        self._running = Running("identity_provider.py", [*words, *self._opaque], log)

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def change_key(self) -> None:
        self.stop()
        self.key = write_key(self._folder / "key.pem")
        self.start()


@contextlib.contextmanager
def notes_server(folder: Path, **setup: Any) -> Iterator[Running]:
    folder.mkdir(exist_ok=True)
    running = Running("notes_server.py", [json.dumps(setup)], folder / "server.log")
    try:
        yield running
    finally:
        running.stop()
