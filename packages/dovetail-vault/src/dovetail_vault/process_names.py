"""Names of temporary files that tell whether the process that created them still runs.

A killed server cannot delete its temporary files; the next one does. The name has the process id,
its start time, and a key of the system and namespace in which both are valid: a vault may be shared
between machines or containers.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import cache
from pathlib import Path

__all__ = ["is_of_ended_process", "own_process_name"]

_NAME = re.compile(r"p([0-9a-f]{8})-([0-9]+)-([0-9]+)-")


@cache
def _system() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    space = os.stat("/proc/self/ns/pid").st_ino
    return hashlib.blake2b(f"{boot} {space}".encode(), digest_size=4).hexdigest()


def _start_of(process: int) -> str | None:
    """Return when a process started, in clock ticks; None if it does not run."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name of the program, in parentheses, may contain spaces.
    return status.rpartition(")")[2].split()[19]


def own_process_name() -> str:
    """Return a part of a file name that identifies this process; empty without /proc."""
    try:
        return f"p{_system()}-{os.getpid()}-{_start_of(os.getpid())}-"
    except OSError:
        return ""


def is_of_ended_process(name: str) -> bool:
    """Whether a file name has the part of a process of this system that no longer runs."""
    match = _NAME.search(name)
    try:
        return match is not None and match[1] == _system() and _start_of(int(match[2])) != match[3]
    except OSError:
        return False
