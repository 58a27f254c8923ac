"""nginx and haproxy in front of a server, each with a log of what it has forwarded.

`make test` unpacks the programs into `.proxies`, so that no service is started on this machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.patience import CAP, wait_until

__all__ = ["PROXIES", "Proxy", "find_program", "program_environment", "proxying"]

_PROGRAMS = Path(__file__).parents[4] / ".proxies" / "usr"
# After this time without input the connection is closed. A test never waits for less.
_SECONDS = 3


class Proxy(NamedTuple):
    """A running proxy."""

    socket: Path
    log: Path

    def count_forwarded(self, start: int) -> int:
        """How many requests the server has answered with 200 since this place of the log."""
        lines = self.log.read_bytes()[start:].splitlines()
        return sum(line.split() == [b"forwarded", b"200"] for line in lines)


def _nginx(folder: Path, port: int, *, buffers: str) -> str:
    paths = " ".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""
daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;
events {{}}
http {{
  {paths}
  log_format forwarded "forwarded $upstream_status";
  access_log {folder}/log forwarded;
  client_header_timeout {_SECONDS}s; client_body_timeout {_SECONDS}s; keepalive_timeout {_SECONDS}s;
  upstream app {{ server 127.0.0.1:{port}; keepalive 8; }}
  server {{
    listen unix:{folder}/socket;
    location / {{
      proxy_pass http://app; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Host 127.0.0.1;
      proxy_request_buffering {buffers};
    }}
  }}
}}
"""


def _haproxy(folder: Path, port: int) -> str:
    # %s is the server that got the request, or <NOSRV>.
    return f"""
global
  log stdout format raw local0
defaults
  mode http
  log global
  log-format "%s %ST"
  timeout connect {CAP:.0f}s
  timeout server {CAP:.0f}s
  timeout client {_SECONDS}s
  timeout http-request {_SECONDS}s
frontend front
  bind unix@{folder}/socket
  default_backend app
backend app
  http-reuse always
  server forwarded 127.0.0.1:{port}
"""


PROXIES: dict[str, tuple[str, Callable[[Path, int], str]]] = {
    "nginx": ("nginx", lambda folder, port: _nginx(folder, port, buffers="on")),
    "nginx, unbuffered": ("nginx", lambda folder, port: _nginx(folder, port, buffers="off")),
    "haproxy": ("haproxy", _haproxy),
}


def find_program(program: str) -> str:
    """The path of nginx or haproxy."""
    found = shutil.which(program, path=f"{_PROGRAMS}/sbin:{os.environ['PATH']}:/usr/sbin")
    assert found is not None, f"{program} is missing; `make test` installs it"
    return found


def program_environment() -> dict[str, str]:
    """The environment in which unpacked programs find their libraries."""
    return {**os.environ, "LD_LIBRARY_PATH": f"{_PROGRAMS}/lib/x86_64-linux-gnu"}


def _is_listening(path: Path) -> bool:
    # The file is there a moment before connections are accepted.
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


@contextmanager
def proxying(name: str, folder: Path, port: int) -> Iterator[Proxy]:
    """A proxy in front of the server at this port."""
    program, configure = PROXIES[name]
    config = folder / "config"
    config.write_text(configure(folder, port))
    log = folder / "log"
    log.touch()
    words = [find_program(program), *(["-db", "-f"] if program == "haproxy" else ["-c"])]
    with (
        (folder / "printed").open("wb") as printed,
        log.open("ab") as lines,
        subprocess.Popen(
            [*words, str(config)],
            stdin=subprocess.DEVNULL,
            stdout=lines if program == "haproxy" else printed,
            stderr=printed,
            env=program_environment(),
        ) as process,
    ):
        try:
            wait_until(lambda: _is_listening(folder / "socket") or process.poll() is not None)
            assert process.poll() is None, (folder / "printed").read_text()
            yield Proxy(folder / "socket", log)
        finally:
            process.terminate()
            process.wait(CAP)
