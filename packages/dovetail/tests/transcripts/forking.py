"""Starts servers on stdio as copies of one process that has imported everything.

usage: python -m tests.transcripts.forking SOCKET (the descriptor of a connected socket)

A request is the environment and arguments of a server, and the descriptors that it gets as
standard input, output and error; the response is its process id. Most of the time of a short
transcript would otherwise be spent on starting the interpreter.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from functools import cache

from tests.transcripts.server import run

__all__ = ["start_server"]

_MAX_REQUEST = 1 << 16
_ID_BYTES = 4


def start_server(arguments: list[str], stdin: int, stdout: int, stderr: int) -> int:
    """The id of a new process that serves on these descriptors."""
    request = json.dumps([dict(os.environ), arguments]).encode()
    connection = _start_parent()
    socket.send_fds(connection, [request], [stdin, stdout, stderr])
    return int.from_bytes(connection.recv(_ID_BYTES), "big")


@cache
def _start_parent() -> socket.socket:
    """A connection to the process that is copied; it ends with this process."""
    ours, theirs = socket.socketpair()
    with theirs:
        parent = subprocess.Popen(
            [sys.executable, "-m", "tests.transcripts.forking", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def stop() -> None:
        ours.close()
        parent.wait()

    atexit.register(stop)
    return ours


def _reap(*_: object) -> None:
    """Collect the copies that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main(descriptor: int) -> None:
    """Serve requests until the other end is closed."""
    signal.signal(signal.SIGCHLD, _reap)
    with socket.socket(fileno=descriptor) as connection:
        while True:
            request, given, _, _ = socket.recv_fds(connection, _MAX_REQUEST, 3)
            if not request:
                return
            id = os.fork()
            if id == 0:
                break
            for each in given:
                os.close(each)
            connection.sendall(id.to_bytes(_ID_BYTES, "big"))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for target, each in enumerate(given):
        os.dup2(each, target)
        os.close(each)
    environment, arguments = json.loads(request)
    os.environ.update(environment)
    run(arguments)


if __name__ == "__main__":
    main(int(sys.argv[1]))
