"""`dovetail tasks FILE`: list and cancel the tasks of a server, for its operator.

The command reads and changes the task store directly, so the server need not run, and may run in
several processes. Over the protocol, a client sees only its own tasks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.loading import load_server
from dovetail.cli.output import print_json
from dovetail.errors import TransportError, UsageError
from dovetail.runtime.task_files import find_task_file
from dovetail.stores.tasks import FINAL, TaskRow
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.stores.tasks_sqlite import SqliteTaskStore

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
    store = _open_store(file)
    try:
        now = time.time()
        rows = [row for row in _read_all(store) if row.expires is None or row.expires > now]
        if ids:
            found = [_find(rows, id) for id in ids]
            rows = [_cancel(store, row) for row in found]
        elif not with_ended:
            rows = [row for row in rows if row.status not in FINAL]
    finally:
        store.close()
    if as_json:
        print_json([_describe(row) for row in rows])
    else:
        for line in _lines(rows):
            click.echo(line)


def _open_store(file: str) -> SqliteTaskStore:
    try:
        server = load_server(file)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None
    path = find_task_file(server.options.task_store, server.name)
    if path is None:
        text = (
            f"{server.name} keeps its tasks in memory; set Options.task_store to use this command"
        )
        raise Failure(text, WRONG_USAGE)
    if not path.exists():
        raise Failure(
            f"{server.name} has no tasks yet: there is no file {str(path)!r}", FAILED_CALL
        )
    from dovetail.stores.tasks_sqlite import SqliteTaskStore  # noqa: PLC0415 - only this command

    try:
        return SqliteTaskStore(path)
    except TransportError as error:
        raise Failure(str(error), COULD_NOT_START) from None


def _read_all(store: SqliteTaskStore) -> Iterator[TaskRow]:
    after = 0
    while page := store.page(None, None, after, _PAGE):
        yield from page
        after = page[-1].number


def _find(rows: list[TaskRow], id: str) -> TaskRow:
    found = [row for row in rows if row.id.startswith(id)]
    if len(found) != 1:
        text = f"{len(found)} tasks have an id that begins with {id!r}; expected exactly one"
        raise Failure(text, WRONG_USAGE)
    return found[0]


def _cancel(store: SqliteTaskStore, row: TaskRow) -> TaskRow:
    ended = replace(
        row,
        status="cancelled",
        message="The task was cancelled by the operator of the server.",
        updated=time.time(),
        asks=None,
        record=None,
    )
    if not store.save(ended):
        raise Failure(
            f"Task {row.id[:_SHOWN_ID]} has already ended: it is {row.status}", FAILED_CALL
        )
    # The process that runs the task stops it when it reads this.
    store.leave(row.id, b"")
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
    name = codec.decode_json(row.request).get("params", {}).get("name", "?")
    return str(name)


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
