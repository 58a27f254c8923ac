"""The real server, `dovetail serve graph`, as a process of its own, and clients of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from dovetail.client import Client

PATIENCE = 15.0


def command(database: Path, *options: str) -> list[str]:
    """The command line that serves a graph; by spelling unless told, for a model takes time."""
    if "--embeddings" not in options:
        options = ("--embeddings", "ngrams", *options)
    return [sys.executable, "-m", "dovetail", "serve", "graph", "--db", str(database), *options]


@contextlib.asynccontextmanager
async def over_stdio(database: Path, *options: str, **client: Any) -> AsyncIterator[Client]:
    """A client of a server process on stdio."""
    async with Client(command(database, *options), timeout=PATIENCE, **client) as connected:
        yield connected


def entity(name: str, *observations: Any, kind: str = "thing", **more: Any) -> dict[str, Any]:
    """An entity as create_entities takes it."""
    return {"name": name, "entityType": kind, "observations": list(observations), **more}


def relation(source: str, target: str, kind: str = "knows", **more: Any) -> dict[str, Any]:
    """A relation as create_relations takes it."""
    return {"from": source, "to": target, "relationType": kind, **more}
