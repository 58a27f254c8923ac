"""Watches the Python files of a folder for `--reload`.

Polling, because file system events would need another dependency.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

__all__ = ["take_snapshot", "wait_for_change"]

# Seconds between two scans of a folder.
_SCAN_INTERVAL = 0.25
_IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})


async def wait_for_change(folder: Path, before: dict[str, int]) -> str:
    """Wait until the files differ from a snapshot; returns the name of one that does."""
    while (now := take_snapshot(folder)) == before:
        await asyncio.sleep(_SCAN_INTERVAL)
    return min(name for name, _ in now.items() ^ before.items())


def take_snapshot(folder: Path) -> dict[str, int]:
    """The modification times of all Python files below a folder, without hidden folders."""
    found: dict[str, int] = {}
    for place, folders, files in os.walk(folder):
        folders[:] = [
            name
            for name in folders
            if name not in _IGNORED
            and not name.startswith(".")
            # Skip virtual environments, whatever their name.
            and not os.path.exists(os.path.join(place, name, "pyvenv.cfg"))
        ]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                try:
                    found[path] = os.stat(path).st_mtime_ns
                except FileNotFoundError:
                    continue  # deleted since it was listed
    return found
