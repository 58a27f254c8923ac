"""The processes below this one, as the kernel lists them."""

from __future__ import annotations

import os
from pathlib import Path


def descendants() -> dict[int, str]:
    """Process ids and command lines of everything that this process has started, and theirs."""
    children: dict[int, list[int]] = {}
    lines: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            # It ended while it was looked at.
            continue
        children.setdefault(parent, []).append(int(entry.name))
        lines[int(entry.name)] = line
    found: dict[int, str] = {}
    todo = [os.getpid()]
    while todo:
        for child in children.get(todo.pop(), []):
            todo.append(child)
            found[child] = lines[child]
    return found
