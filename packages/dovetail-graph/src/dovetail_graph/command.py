"""`dovetail serve graph`: the command-line options, and the server built from them."""

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
from dovetail_serverkit.tool_sets import TOOLS_OPTION, ToolSet

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build", "check_namespace", "default_file"]

SUMMARY = "Memory as a knowledge graph with time and confidence, in one local file."

_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["file"], required=False, metavar="[FILE]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--db", "database"],
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Database file (default: dovetail/graph.db in your data directory).",
    ),
    click.Option(
        ["--namespace"], default="default", show_default=True, help="Graph within the file."
    ),
    click.Option(
        ["--embeddings"],
        default="auto",
        show_default=True,
        metavar="auto|off|NAME",
        help="Embedding model for semantic search; ngrams compares spelling only.",
    ),
    click.Option(
        ["--schema", "schema"],
        default="free",
        show_default=True,
        metavar="free|software|FILE",
        help="Allowed types and half-lives: a preset or a JSON file.",
    ),
    TOOLS_OPTION,
    click.Option(["--debug-tools"], is_flag=True, help="Add three tools that inspect embeddings."),
    click.Option(
        ["--purge-unasked"],
        is_flag=True,
        help="Allow purge without confirmation if the client cannot ask the user.",
    ),
)


def default_file() -> Path:
    """Return the default database file, in the user's data directory."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(home) / "dovetail" / "graph.db"


def check_namespace(namespace: str) -> None:
    """Raise UsageError if a namespace is not valid."""
    if not _NAMESPACE.fullmatch(namespace):
        raise UsageError(
            "--namespace must have 1 to 64 characters of A-Z a-z 0-9 _ . - and start with a letter "
            f"or digit, got {namespace[:100]!r}"
        )


def build(
    *,
    file: str | None = None,
    database: Path | None = None,
    namespace: str = "default",
    embeddings: str = "auto",
    schema: str = "free",
    tools: ToolSet = "default",
    debug_tools: bool = False,
    purge_unasked: bool = False,
    **_others: Any,
) -> Server:
    """Build the server from command-line options."""
    if file is not None and database is not None:
        raise UsageError("FILE and --db mean the same; pass only one of them")
    check_namespace(namespace)
    path = Path(file) if file is not None else database or default_file()
    options = GraphOptions(
        namespace=namespace,
        embeddings=embeddings,
        vocabulary=read_vocabulary(schema),
        tools=tools,
        debug_tools=debug_tools,
        purge_unasked=purge_unasked,
    )
    return build_server(path.expanduser().absolute(), options)
