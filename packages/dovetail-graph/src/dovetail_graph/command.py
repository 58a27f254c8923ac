"""`dovetail serve graph`: the options of the command line and the server they describe."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dovetail import Server, UsageError
from dovetail_graph.server import GraphOptions, build_server
from dovetail_graph.vocabulary import read_vocabulary

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build", "check_namespace", "default_file"]

SUMMARY = "A memory of entities and relations that knows when and how sure, in one local file."

_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["file"], required=False, metavar="[FILE]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--db", "database"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="The file; by default in your data directory.",
    ),
    click.Option(
        ["--namespace"], default="default", show_default=True, help="Which graph of the file."
    ),
    click.Option(
        ["--embeddings"],
        default="auto",
        show_default=True,
        metavar="auto|off|NAME",
        help="What compares texts: an installed model, or ngrams for their spelling.",
    ),
    click.Option(
        ["--schema", "schema"],
        default="free",
        show_default=True,
        metavar="free|software|FILE",
        help="Allowed types and half-lives.",
    ),
    click.Option(["--debug-tools"], is_flag=True, help="Offer three tools to look inside."),
    click.Option(
        ["--purge-unasked"], is_flag=True, help="Let purge go ahead if the client cannot ask."
    ),
)


def default_file() -> Path:
    """Where the graph is kept unless told: in the user's data directory."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "dovetail" / "graph.db"


def check_namespace(namespace: str) -> None:
    """Refuse what is no name of a graph."""
    if not _NAMESPACE.fullmatch(namespace):
        raise UsageError(f"--namespace is 1 to 64 of A-Z a-z 0-9 _ . -, got {namespace[:100]!r}")


def build(
    *,
    file: str | None = None,
    database: Path | None = None,
    namespace: str = "default",
    embeddings: str = "auto",
    schema: str = "free",
    debug_tools: bool = False,
    purge_unasked: bool = False,
    **_others: Any,
) -> Server:
    """The server that the options describe; its file is the default one unless told."""
    if file is not None and database is not None:
        raise UsageError("FILE and --db are the same; give one of them")
    check_namespace(namespace)
    path = Path(file) if file is not None else database or default_file()
    options = GraphOptions(
        namespace=namespace,
        embeddings=embeddings,
        vocabulary=read_vocabulary(schema),
        debug_tools=debug_tools,
        purge_unasked=purge_unasked,
    )
    return build_server(path.expanduser().absolute(), options)
