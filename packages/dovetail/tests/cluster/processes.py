"""A cluster of processes: `dovetail run` several times, and haproxy in front of them.

    with running_cluster(SHOP, cluster_url, folder, count=4) as cluster:
        ... Client(cluster.url) ...            # haproxy picks a process at random per request
        cluster.processes[0].kill()            # kill -9
        cluster.restart(0)                     # the same port; waits until it serves

The file finds the URL of the cluster in the environment variable CLUSTER_URL:

    server = Server("shop", options=Options(state=os.environ["CLUSTER_URL"]))

haproxy repeats a request on another process only if it could not connect; it does not stick to a
process and does not buffer streams.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.http_corpus.proxies import find_program, program_environment
from tests.patience import CAP, wait_until

__all__ = ["ClusterProcess", "ProcessCluster", "balanced", "free_port", "running_cluster"]


def free_port() -> int:
    """A port that nobody uses at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ClusterProcess:
    """One `dovetail run --http`."""

    def __init__(self, log: Path, port: int, words: Sequence[str], env: Mapping[str, str]) -> None:
        self.port = port
        self._log = log
        with log.open("wb") as stderr:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "dovetail", "run", *words, "--http", str(port)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, **env},
            )

    @property
    def log(self) -> str:
        """What the process has written to stderr."""
        return self._log.read_text(errors="replace")

    @property
    def url(self) -> str:
        """The URL of this process alone."""
        return f"http://127.0.0.1:{self.port}/mcp"

    def wait_until_serving(self) -> None:
        """Wait for the line that says so."""

        def find() -> re.Match[str] | None:
            assert self.popen.poll() is None, self.log
            return re.search(r"serving http://", self.log)

        wait_until(find)

    def kill(self) -> None:
        """End it at once."""
        self.popen.kill()
        self.popen.wait(CAP)

    def stop(self) -> None:
        """SIGTERM, and wait until it has ended."""
        self.popen.send_signal(signal.SIGTERM)
        self.popen.wait(CAP)


class ProcessCluster:
    """The processes and the URL of the balancer in front of them."""

    def __init__(
        self, folder: Path, words: Sequence[str], env: Mapping[str, str], count: int
    ) -> None:
        self._folder = folder
        self._words = words
        self._env = env
        self._starts = 0
        self.processes = [self._start(free_port()) for _ in range(count)]
        self.url = ""
        for process in self.processes:
            process.wait_until_serving()

    def _start(self, port: int) -> ClusterProcess:
        self._starts += 1
        log = self._folder / f"process-{self._starts}.log"
        return ClusterProcess(log, port, self._words, self._env)

    @property
    def ports(self) -> list[int]:
        """The port of each process."""
        return [process.port for process in self.processes]

    def restart(self, index: int) -> ClusterProcess:
        """Start a process that has ended again, at the same port."""
        process = self.processes[index] = self._start(self.processes[index].port)
        process.wait_until_serving()
        return process

    def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.kill()


def _haproxy(port: int, backends: Sequence[int]) -> str:
    servers = "\n".join(f"  server p{each} 127.0.0.1:{each} check inter 200" for each in backends)
    return f"""
global
  maxconn 4000
defaults
  mode http
  timeout connect 5s
  timeout client {CAP:.0f}s
  timeout server {CAP:.0f}s
  timeout http-keep-alive 60s
  option redispatch 1
  retries 3
  # The request was not sent yet, so another process may get it.
  retry-on conn-failure
frontend front
  bind 127.0.0.1:{port}
  default_backend cluster
backend cluster
  balance random(1)
  http-reuse always
{servers}
"""


@contextmanager
def balanced(folder: Path, backends: Sequence[int]) -> Iterator[str]:
    """haproxy in front of these ports; yields its URL."""
    port = free_port()
    config = folder / "haproxy.cfg"
    config.write_text(_haproxy(port, backends))
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen(
            [find_program("haproxy"), "-db", "-f", str(config)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=program_environment(),
        )
    try:
        wait_until(lambda: _is_listening(port) or process.poll() is not None)
        assert process.poll() is None, (folder / "haproxy.log").read_text()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(CAP)


def _is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running_cluster(
    file: str | Path,
    cluster_url: str,
    folder: Path,
    *words: str,
    count: int = 2,
    env: Mapping[str, str] | None = None,
) -> Iterator[ProcessCluster]:
    """`count` processes with the server of a file, and more words for `dovetail run`."""
    own = {**(env or {}), "CLUSTER_URL": cluster_url}
    cluster = ProcessCluster(folder, [str(file), *words], own, count)
    try:
        with balanced(folder, cluster.ports) as url:
            cluster.url = url
            yield cluster
    finally:
        cluster.close()
