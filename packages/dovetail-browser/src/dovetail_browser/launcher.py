"""Records its process id, then executes the browser.

    python -I -S launcher.py FOLDER PROGRAM ARGUMENT...

Runs as a script with the standard library only, as a child of Playwright's driver. The launcher
writes its entry before it checks for the `ended` file, and the watchdog creates that file before
it reads the entries. So in any order one sees the other, and no browser starts unnoticed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1


def main(folder: str, command: list[str]) -> None:
    """Record this process in the folder, then execute the command."""
    parent = os.getppid()
    _die_with_parent()
    open(os.path.join(folder, "processes", f"{os.getpid()}-{_started()}"), "x").close()
    # If the parent ended before prctl took effect, this process has another parent now.
    if os.path.exists(os.path.join(folder, "ended")) or os.getppid() != parent:
        raise SystemExit(1)
    os.execvp(command[0], command)


def _die_with_parent() -> None:
    """On Linux, have the kernel kill this process when the driver ends."""
    try:
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    except (AttributeError, OSError):
        return


def _started() -> str:
    """Start time of this process in kernel ticks, which makes a reused pid detectable."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return "0"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
