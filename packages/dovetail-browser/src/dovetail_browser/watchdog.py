"""Kills the browser and removes its folder when the server has ended or crashed.

    python -I -S watchdog.py FOLDER

Runs as a script with the standard library only, in its own session. It creates the folder, prints
"ready", and then reads its standard input, a pipe that only the server holds open. Lines on the
pipe add processes to kill (PID-START). When the pipe closes, the server has ended. Then

1. it creates a file in the folder that stops `launcher.py` from starting another browser;
2. it kills every process of the folder: those recorded there, all processes in their sessions, and
   all processes with the folder in their environment;
3. it removes the folder.

It ignores terminal signals, because it must outlive the server.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

# Environment variable of all processes started for the folder; its value is the folder.
_VARIABLE = "DOVETAIL_BROWSER_FOLDER"

_PATIENCE = 10.0
_PAUSE = 0.02
_DEAD = (b"Z", b"X")


class Running(NamedTuple):
    """A process in /proc."""

    pid: int
    session: int
    started: str


def main(folder: str) -> None:
    """Wait until standard input closes, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.mkdir(folder, 0o700)
    deadline = time.monotonic()
    try:
        os.mkdir(os.path.join(folder, "processes"))
        # The server may have ended already; then standard input is closed as well.
        with contextlib.suppress(BrokenPipeError):
            os.write(1, b"ready\n")
        # An incomplete line could name another process.
        named = [line.decode().strip() for line in sys.stdin.buffer if line.endswith(b"\n")]
        deadline = time.monotonic() + _PATIENCE
        open(os.path.join(folder, "ended"), "x").close()
        while kill_all(folder, named) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
    finally:
        remove(folder, deadline)


def kill_all(folder: str, named: list[str]) -> bool:
    """Kill the processes of the folder and the named ones; return whether there were any."""
    entered = os.listdir(os.path.join(folder, "processes"))
    if not os.path.isdir("/proc/self"):
        return kill_by_number(entered, named)
    running = {process.pid: process for process in list_processes()}
    leaders = set(map(parse, entered))
    singles = set(map(parse, named))
    # A session id stays in use while it has members; a pid with another start time was reused.
    sessions = {
        pid for pid, started in leaders if pid not in running or running[pid].started == started
    }
    victims = [
        pid
        for pid, process in running.items()
        if process.session in sessions
        or (pid, process.started) in singles
        or (pid, process.started) in leaders
        or is_marked(pid, folder)
    ]
    for pid in victims:
        kill(pid)
    return bool(victims)


def kill_by_number(entered: list[str], named: list[str]) -> bool:
    """Without /proc: kill the process groups and pids as given."""
    groups = [-pid for pid, _ in map(parse, entered)]
    alive = [kill(pid) for pid in (*groups, *(pid for pid, _ in map(parse, named)))]
    return any(alive)


def kill(pid: int) -> bool:
    """Kill a process or group; return whether it existed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def parse(entry: str) -> tuple[int, str]:
    """Split PID-START."""
    pid, _, started = entry.partition("-")
    return int(pid), started


def list_processes() -> Iterator[Running]:
    """Yield all running processes except this one."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields and fields[0] not in _DEAD:
            yield Running(int(name), int(fields[3]), fields[19].decode())


def is_marked(pid: int, folder: str) -> bool:
    """Whether a process has the folder in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{_VARIABLE}={folder}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def remove(folder: str, deadline: float) -> None:
    """Remove the folder; retry while a dying process still writes into it."""
    shutil.rmtree(folder, ignore_errors=True)
    while os.path.isdir(folder) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
