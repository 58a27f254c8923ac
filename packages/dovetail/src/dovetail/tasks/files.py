"""Selects the task store of a server and the path of its file."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path

from dovetail.errors import TransportError
from dovetail.stores.shared_stores import SharedStores
from dovetail.stores.tasks import TaskStore
from dovetail.stores.tasks_memory import MemoryTaskStore
from dovetail.tasks.rows import LocalTaskRows, TaskRows
from dovetail.tasks.shared_rows import SharedTaskRows

__all__ = ["find_task_file", "make_task_rows", "open_task_store"]

logger = logging.getLogger("dovetail")

MEMORY = "memory"


def find_task_file(chosen: str | None, server: str) -> Path | None:
    """Return the path of a server's task file; None if tasks are kept in memory."""
    if chosen == MEMORY:
        return None
    if chosen is not None:
        return Path(chosen)
    # XDG Base Directory Specification: state that should survive restarts belongs here.
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "dovetail" / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', server)}.tasks.sqlite3"


def open_task_store(chosen: str | None, server: str) -> TaskStore:
    """Open the task store; raises TransportError if the chosen file cannot be used.

    If no file was chosen and the default one cannot be used, tasks are kept in memory.
    """
    try:
        file = find_task_file(chosen, server)
        if file is None:
            return MemoryTaskStore()
        # Imported late: it takes 4 ms, which servers without tasks should not pay.
        from dovetail.stores.tasks_sqlite import SqliteTaskStore  # noqa: PLC0415

        return SqliteTaskStore(file)
    except (TransportError, RuntimeError) as error:
        if chosen is not None:
            raise
        # The file is only a default, and many containers have no writable home directory.
        logger.warning("%s; they are kept in memory and lost with this process", error)
        return MemoryTaskStore()


def make_task_rows(chosen: str | None, server: str, shared: SharedStores | None) -> TaskRows:
    """Return the task store of a server: the one of its cluster, unless another was chosen."""
    if shared is not None and chosen is None:
        return SharedTaskRows(shared.tasks)
    return LocalTaskRows(lambda: open_task_store(chosen, server))
