"""Becomes the browser, after writing down which process that is.

    python -I -S launcher.py FOLDER PROGRAM ARGUMENT...

Runs as a file of its own, with the standard library only, as a child of Playwright's driver. The
entry is written before the look at the mark of the end, and the watchdog sets the mark before it
reads the entries: whoever comes second sees the other, so no browser starts unseen.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1


def main(folder: str, command: list[str]) -> None:
    """Enter this process in the folder and turn into the command."""
    parent = os.getppid()
    _die_with_parent()
    open(os.path.join(folder, "processes", f"{os.getpid()}-{_started()}"), "x").close()
    # A parent that ended before it could be tied to leaves an orphan with another one.
    if os.path.exists(os.path.join(folder, "ended")) or os.getppid() != parent:
        raise SystemExit(1)
    os.execvp(command[0], command)


def _die_with_parent() -> None:
    """The second belt, where the system has it: the kernel kills us when the driver ends."""
    try:
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    except (AttributeError, OSError):
        return


def _started() -> str:
    """When this process began, in the kernel's count: with it a number is never mistaken."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return "0"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
