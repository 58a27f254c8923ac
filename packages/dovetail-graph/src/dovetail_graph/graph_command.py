"""`dovetail graph`: what can be done with a graph's file without serving it."""

from __future__ import annotations

from pathlib import Path

import click

from dovetail.commands import or_fail

__all__ = ["graph"]


@click.group()
def graph() -> None:
    """Look at a memory that `dovetail serve graph` keeps."""


@graph.command()
@click.option(
    "--db",
    "database",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The graph's file; by default in your data directory.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The page; by default NAME.html in this folder.",
)
@click.option("--namespace", default="default", show_default=True, help="Which graph of the file.")
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=2_000,
    show_default=True,
    help="Draw so many entities, those that changed last.",
)
def show(database: Path | None, output: Path | None, namespace: str, most: int) -> None:
    """Write one HTML page with the graph, a time slider and search; it needs no network."""
    from dovetail_graph.show_command import write_page  # noqa: PLC0415 - numpy is slow to import

    click.echo(or_fail(lambda: write_page(database, output, namespace, most)))
