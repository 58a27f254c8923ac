"""`dovetail tasks FILE`: list and cancel the tasks of a server, for its operator.

The command reads and changes the task store directly, so the server need not run, and may run in
several processes or as a cluster. Over the protocol, a client sees only its own tasks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.loading import load_server
from dovetail.cli.printing import print_json
from dovetail.errors import StoreError, TransportError, UsageError
from dovetail.tasks.rows import cancelled_row
from dovetail.tasks.store import (
    FINAL,
    Stored,
    TaskRow,
    TaskStore,
    enter_default_state,
    find_default_file,
    is_chosen,
)

if TYPE_CHECKING:
    from dovetail.server import Server

__all__ = ["tasks"]

# The start of the URL of a file, before its path.
_SQLITE = "sqlite:///"
_SHOWN_ID = 12


@click.command()
@click.argument("file", metavar="FILE[:NAME]")
@click.option(
    "--cancel",
    "ids",
    multiple=True,
    metavar="ID",
    help="Cancel this task; the start of the id is enough (repeatable).",
)
@click.option("--all", "with_ended", is_flag=True, help="Also show tasks that have ended.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def tasks(file: str, ids: tuple[str, ...], with_ended: bool, as_json: bool) -> None:
    """List the tasks of the Server in FILE, or cancel some."""
    try:
        rows = asyncio.run(_list_or_cancel(_load(file), ids, with_ended=with_ended))
    except (StoreError, TransportError) as error:
        raise Failure(str(error), COULD_NOT_START) from None
    if as_json:
        print_json([_describe(row) for row in rows])
    else:
        for line in _lines(rows):
            click.echo(line)


def _load(file: str) -> Server:
    try:
        return load_server(file)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None


async def _list_or_cancel(
    server: Server, ids: tuple[str, ...], *, with_ended: bool
) -> list[TaskRow]:
    async with AsyncExitStack() as stack:
        store = await _open_store(server, stack)
        found = [stored async for stored in store.scan()]
        found.sort(key=lambda stored: stored.row.created)
        if ids:
            return [await _cancel(store, _find(found, id)) for id in ids]
        rows = [stored.row for stored in found]
        return rows if with_ended else [row for row in rows if row.status not in FINAL]


async def _open_store(server: Server, stack: AsyncExitStack) -> TaskStore:
    state, given = server.engine.state, server.options.state
    path: Path | None = None
    if not is_chosen(server.options):
        path = find_default_file(server.name)
    elif not state.is_shared:
        text = f"{server.name} keeps its tasks in memory; set Options.state to use this command"
        raise Failure(text, WRONG_USAGE)
    elif isinstance(given, str) and given.startswith(_SQLITE):
        path = Path(given.removeprefix(_SQLITE))
    # Opening the file would create it.
    if path is not None and not path.exists():
        raise Failure(
            f"{server.name} has no tasks yet: there is no file {str(path)!r}", FAILED_CALL
        )
    if not is_chosen(server.options):
        state = await enter_default_state(server.name, stack)
    else:
        await stack.enter_async_context(state.backend.opened())
    return TaskStore(state)


def _find(found: list[Stored], id: str) -> Stored:
    matching = [stored for stored in found if stored.row.id.startswith(id)]
    if len(matching) != 1:
        text = f"{len(matching)} tasks have an id that begins with {id!r}; expected exactly one"
        raise Failure(text, WRONG_USAGE)
    return matching[0]


async def _cancel(store: TaskStore, stored: Stored) -> TaskRow:
    row = stored.row
    ended = await store.end(stored, lambda row: cancelled_row(row, "the operator of the server"))
    if ended is None:
        raise Failure(
            f"Task {row.id[:_SHOWN_ID]} has already ended: it is {row.status}", FAILED_CALL
        )
    # The process that runs the task stops it.
    await store.tell_changed(ended.row)
    return ended.row


def _describe(row: TaskRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "tool": row.tool,
        "status": row.status,
        "message": row.message,
        "owner": row.owner,
        "revision": row.revision,
        "created": row.created,
        "updated": row.updated,
        "expires": row.expires,
    }


def _lines(rows: list[TaskRow]) -> Iterator[str]:
    if not rows:
        yield "No tasks."
        return
    cells = [("ID", "TOOL", "STATUS", "AGE", "OWNER", "")]
    now = time.time()
    for row in rows:
        age = f"{now - row.created:.0f} s"
        owner, message = row.owner or "-", row.message or ""
        cells.append((row.id[:_SHOWN_ID], row.tool, row.status, age, owner, message))
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        yield "  ".join([*padded, _one_line(line[5])]).rstrip()


def _one_line(text: str) -> str:
    # The text comes from tools: remove control characters, which could move the cursor.
    return "".join(character if character.isprintable() else " " for character in text)
