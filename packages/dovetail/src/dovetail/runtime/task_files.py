"""Which store the tasks of a server are kept in, and where its file is."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from dovetail.errors import TransportError
from dovetail.stores.tasks import TaskStore
from dovetail.stores.tasks_memory import MemoryTaskStore

__all__ = ["find_task_file", "open_task_store"]

logger = logging.getLogger("dovetail")

MEMORY = "memory"


def find_task_file(chosen: str | None, server: str) -> Path | None:
    """The file of a server's tasks; None where they are kept in memory."""
    if chosen == MEMORY:
        return None
    if chosen is not None:
        return Path(chosen)
    # The XDG Base Directory Specification: what should outlive a restart and is no document.
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "dovetail" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', server)}.tasks.sqlite3"


def open_task_store(chosen: str | None, server: str) -> TaskStore:
    """The store; raises TransportError where the chosen file cannot be used."""
    try:
        file = find_task_file(chosen, server)
        if file is None:
            return MemoryTaskStore()
        # 4 ms that a server without tasks must not cost.
        from dovetail.stores.tasks_sqlite import SqliteTaskStore  # noqa: PLC0415

        return SqliteTaskStore(file)
    except (TransportError, RuntimeError) as error:
        if chosen is not None:
            raise
        # Nobody chose a file, and many a container has no home that can be written to.
        logger.warning("%s; they are kept in memory and lost with this process", error)
        return MemoryTaskStore()
