"""`dovetail graph`: commands that work on a graph's file without a server."""

from __future__ import annotations

from pathlib import Path

import click

from dovetail.commands import or_fail

__all__ = ["graph"]


@click.group()
def graph() -> None:
    """Inspect the database of `dovetail serve graph`."""


@graph.command()
@click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Database file (default: dovetail/graph.db in your data directory).",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="HTML file to write (default: NAME.html in the current folder).",
)
@click.option("--namespace", default="default", show_default=True, help="Graph within the file.")
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=2_000,
    show_default=True,
    help="Maximum number of entities to draw; the last changed are kept.",
)
def show(database: Path | None, output: Path | None, namespace: str, most: int) -> None:
    """Write the graph as one HTML page with a time slider and search. It needs no network."""
    from dovetail_graph.show_command import write_page  # noqa: PLC0415 - numpy is slow to import

    click.echo(or_fail(lambda: write_page(database, output, namespace, most)))
