"""Ends the browser and removes its folder when the server is gone, however it went.

    python -I -S watchdog.py FOLDER

Runs as a file of its own, with the standard library only, in a session of its own. It makes the
folder, says "ready", and then reads its input, whose other end only the server holds: lines name
further processes to end (PID-START), and the end of the input is the end of the server. Then

1. a mark in the folder keeps `launcher.py` from starting another browser there;
2. every process that was started in the folder is killed: those entered there, whatever shares
   their session, and whatever carries the folder's name in its environment;
3. the folder is removed.

Signals meant for the terminal's group do not end it: it has nothing to do but to be the last.
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

# Carried by everything that is started in the folder; its value is the folder.
_VARIABLE = "DOVETAIL_BROWSER_FOLDER"

_PATIENCE = 10.0
_PAUSE = 0.02
_DEAD = (b"Z", b"X")


class Running(NamedTuple):
    """A process, as the kernel lists it."""

    pid: int
    session: int
    started: str


def main(folder: str) -> None:
    """Guard the folder until the input ends."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.mkdir(folder, 0o700)
    deadline = time.monotonic()
    try:
        os.mkdir(os.path.join(folder, "processes"))
        # The server may be gone already, and then the input has ended as well.
        with contextlib.suppress(BrokenPipeError):
            os.write(1, b"ready\n")
        # A line that was cut in the middle names somebody else.
        named = [line.decode().strip() for line in sys.stdin.buffer if line.endswith(b"\n")]
        deadline = time.monotonic() + _PATIENCE
        open(os.path.join(folder, "ended"), "x").close()
        while kill_all(folder, named) and time.monotonic() < deadline:
            time.sleep(_PAUSE)
    finally:
        remove(folder, deadline)


def kill_all(folder: str, named: list[str]) -> bool:
    """Kill what belongs to the folder and what was named; whether there was anything."""
    entered = os.listdir(os.path.join(folder, "processes"))
    if not os.path.isdir("/proc/self"):
        return kill_by_number(entered, named)
    running = {process.pid: process for process in list_processes()}
    leaders = set(map(parse, entered))
    singles = set(map(parse, named))
    # A session keeps its number while it has members; a number with another start is another's.
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
    """Where the kernel does not list processes: groups and numbers, as they were given."""
    groups = [-pid for pid, _ in map(parse, entered)]
    alive = [kill(pid) for pid in (*groups, *(pid for pid, _ in map(parse, named)))]
    return any(alive)


def kill(pid: int) -> bool:
    """Whether there was such a process, or group, that may be killed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def parse(entry: str) -> tuple[int, str]:
    """PID-START as its two parts."""
    pid, _, started = entry.partition("-")
    return int(pid), started


def list_processes() -> Iterator[Running]:
    """All that live, but this one."""
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
    """Whether a process was started with the folder in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{_VARIABLE}={folder}".encode() in file.read().split(b"\0")
    except OSError:
        return False


def remove(folder: str, deadline: float) -> None:
    """Remove the folder, again while something that dies still writes into it."""
    shutil.rmtree(folder, ignore_errors=True)
    while os.path.isdir(folder) and time.monotonic() < deadline:
        time.sleep(_PAUSE)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
