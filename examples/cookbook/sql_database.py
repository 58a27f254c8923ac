"""Let a model query an SQLite database: read only, with limits on rows and time.

DATABASE is the path of the file, SECONDS the time that a query may take.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from dovetail import Server, ToolAnnotations, ToolError

DATABASE = Path(os.environ.get("DATABASE", "shop.sqlite3"))
SECONDS = float(os.environ.get("SECONDS", "5"))

server = Server(
    "database",
    version="1.0.0",
    instructions="Call `tables` first. Queries are SQL of SQLite and can only read.",
)
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass
class Rows:
    """The result of a query.

    Attributes:
        truncated: Whether there are more rows than the limit.
    """

    columns: list[str]
    rows: list[list[Any]]
    truncated: bool


@contextmanager
def connect() -> Iterator[sqlite3.Connection]:
    """A connection that can neither write nor take longer than SECONDS."""
    # mode=ro opens the file for reading, so a statement that writes fails in SQLite itself.
    uri = f"{DATABASE.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            # No other files of this machine, and no values that fill the memory.
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
            deadline = time.monotonic() + SECONDS
            connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
            yield connection
    except sqlite3.Error as error:
        if "interrupted" in str(error):
            message = f"The query took longer than {SECONDS:g} seconds. Ask for less."
            raise ToolError(message) from error
        raise ToolError(f"SQLite: {error}") from error


@server.tool(annotations=READ_ONLY)
def tables() -> dict[str, str]:
    """Return the tables of the database, each with the statement that created it."""
    with connect() as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
        return dict(rows.fetchall())


@server.tool(annotations=READ_ONLY)
def query(
    sql: str,
    parameters: list[str | int | float | None] | None = None,
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100,
) -> Rows:
    """Run one SELECT statement.

    Args:
        sql: The statement, with a `?` for each parameter.
        parameters: The values for the `?`.
        limit: How many rows to return at most.
    """
    with connect() as connection:
        cursor = connection.execute(sql, parameters or [])
        rows = cursor.fetchmany(limit + 1)
        columns = [column[0] for column in cursor.description or ()]
    return Rows(columns, [list(row) for row in rows[:limit]], len(rows) > limit)


if __name__ == "__main__":
    server.run()
