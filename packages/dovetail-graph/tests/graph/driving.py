"""Start `dovetail serve graph` as a process and connect clients to it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dovetail.client import Client
from tests.patience import CAP


def command(database: Path, *options: str) -> list[str]:
    """Return the command line of a server, by default with n-grams, which load faster."""
    if "--embeddings" not in options:
        options = ("--embeddings", "ngrams", *options)
    return [sys.executable, "-m", "dovetail", "serve", "graph", "--db", str(database), *options]


@contextlib.asynccontextmanager
async def over_stdio(database: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """Connect a client to a server process on stdio."""
    async with Client(command(database, *options), timeout=CAP, **client) as connected:
        yield connected


def children() -> list[str]:
    """Return the ids of the servers that this process started."""
    tasks = Path("/proc/self/task").glob("*/children")
    started = [pid for task in tasks for pid in task.read_text().split()]
    # Other tests may have left processes that they share.
    return [
        pid for pid in started if b"\0serve\0graph\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def entity(name: str, *observations: Any, kind: str = "thing", **more: Any) -> dict[str, Any]:
    """Return an entity for create_entities."""
    return {"name": name, "entityType": kind, "observations": list(observations), **more}


def relation(source: str, target: str, kind: str = "knows", **more: Any) -> dict[str, Any]:
    """Return a relation for create_relations."""
    return {"from": source, "to": target, "relationType": kind, **more}
