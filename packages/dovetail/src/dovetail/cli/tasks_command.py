"""`dovetail tasks FILE`: list and cancel the tasks of a server, for its operator.

The command reads and changes the task store directly, so the server need not run, and may run in
several processes or as a cluster. Over the protocol, a client sees only its own tasks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.loading import load_server
from dovetail.cli.printing import print_json
from dovetail.errors import StoreError, TransportError, UsageError
from dovetail.stores.tasks import FINAL, TaskRow
from dovetail.tasks.files import find_task_file, make_task_rows
from dovetail.tasks.rows import TaskRows
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.server import Server

__all__ = ["tasks"]

_PAGE = 500
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
        now = time.time()
        rows = [row async for row in _read_all(store) if row.expires is None or row.expires > now]
        if ids:
            rows = [await _cancel(store, _find(rows, id)) for id in ids]
        elif not with_ended:
            rows = [row for row in rows if row.status not in FINAL]
        # Pages of a cluster do not contain the requests.
        return [row if row.request else await store.get(row.id) or row for row in rows]


async def _open_store(server: Server, stack: AsyncExitStack) -> TaskRows:
    chosen, shared = server.options.task_store, server.engine.shared
    if shared is not None and chosen is None:
        await stack.enter_async_context(shared.opened())
    else:
        path = find_task_file(chosen, server.name)
        if path is None:
            text = (
                f"{server.name} keeps its tasks in memory; set Options.task_store to use this "
                "command"
            )
            raise Failure(text, WRONG_USAGE)
        if not path.exists():
            raise Failure(
                f"{server.name} has no tasks yet: there is no file {str(path)!r}", FAILED_CALL
            )
        chosen = str(path)
    store = make_task_rows(chosen, server.name, shared)
    await store.open()
    stack.push_async_callback(store.close)
    return store


async def _read_all(store: TaskRows) -> AsyncIterator[TaskRow]:
    after = 0
    while page := await store.page(None, None, after, _PAGE):
        for row in page:
            yield row
        after = page[-1].number


def _find(rows: list[TaskRow], id: str) -> TaskRow:
    found = [row for row in rows if row.id.startswith(id)]
    if len(found) != 1:
        text = f"{len(found)} tasks have an id that begins with {id!r}; expected exactly one"
        raise Failure(text, WRONG_USAGE)
    return found[0]


async def _cancel(store: TaskRows, row: TaskRow) -> TaskRow:
    ended = replace(
        row,
        status="cancelled",
        message="The task was cancelled by the operator of the server.",
        updated=time.time(),
        asks=None,
        record=None,
    )
    if not await store.save(ended):
        raise Failure(
            f"Task {row.id[:_SHOWN_ID]} has already ended: it is {row.status}", FAILED_CALL
        )
    # The process that runs the task stops it.
    await store.tell_cancelled(row.id)
    return ended


def _describe(row: TaskRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "tool": _tool(row),
        "status": row.status,
        "message": row.message,
        "owner": row.owner,
        "revision": row.revision,
        "created": row.created,
        "updated": row.updated,
        "expires": row.expires,
    }


def _tool(row: TaskRow) -> str:
    request = codec.decode_json(row.request) if row.request else {}
    return str(request.get("params", {}).get("name", "?"))


def _lines(rows: list[TaskRow]) -> Iterator[str]:
    if not rows:
        yield "No tasks."
        return
    cells = [("ID", "TOOL", "STATUS", "AGE", "OWNER", "")]
    now = time.time()
    for row in rows:
        age = f"{now - row.created:.0f} s"
        owner, message = row.owner or "-", row.message or ""
        cells.append((row.id[:_SHOWN_ID], _tool(row), row.status, age, owner, message))
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        yield "  ".join([*padded, _one_line(line[5])]).rstrip()


def _one_line(text: str) -> str:
    # The text comes from tools: remove control characters, which could move the cursor.
    return "".join(character if character.isprintable() else " " for character in text)
