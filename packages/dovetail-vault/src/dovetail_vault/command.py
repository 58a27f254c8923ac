"""`dovetail serve vault`: the command-line options, and the server built from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dovetail import Server, UsageError
from dovetail_serverkit.tool_sets import TOOLS_OPTION
from dovetail_vault.server import VaultOptions, build_server

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build"]

SUMMARY = "Notes in folders of Markdown files: Obsidian, Logseq, Foam."

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

# Arguments of `dovetail serve vault`; `dovetail serve all` accepts only the options.
ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["path"], required=False, metavar="[PATH]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--vault", "vaults"],
        multiple=True,
        metavar="[NAME=]PATH",
        help="Folder with notes (repeatable).",
    ),
    click.Option(["--name", "name"], default="vault", show_default=True, help="Server name."),
    click.Option(["--read-only"], is_flag=True, help="Do not add tools that change notes."),
    TOOLS_OPTION,
    click.Option(
        ["--index-dir"],
        type=click.Path(file_okay=False, path_type=Path),
        help="Directory for the search index (default: in your cache directory).",
    ),
    click.Option(
        ["--embeddings"],
        default="auto",
        show_default=True,
        metavar="auto|off|NAME",
        help="Embedding model for semantic search.",
    ),
)


def build(
    *,
    path: str | None = None,
    vaults: Sequence[str] = (),
    name: str = "vault",
    read_only: bool = False,
    index_dir: Path | None = None,
    embeddings: str = "auto",
    tools: str = "default",
    **_others: Any,
) -> Server | None:
    """Build the server from command-line options; None if no vault is given."""
    folders = dict(map(_parse_vault, [*([path] if path is not None else []), *vaults]))
    given = len(vaults) + (path is not None)
    if given == 0:
        return None
    if len(folders) != given:
        raise UsageError("Two vaults have the same name; name each one with --vault NAME=PATH")
    options = VaultOptions(
        name=name,
        read_only=read_only,
        index_dir=index_dir,
        embeddings=embeddings,
        tools=tools,
    )
    return build_server(folders, options)


def _parse_vault(text: str) -> tuple[str, Path]:
    name, sign, folder = text.partition("=")
    if sign and _NAME.fullmatch(name):
        return name, _folder(folder)
    path = _folder(text)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-_")[:64] or "vault"
    return plain, path


def _folder(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_dir():
        raise UsageError(f"There is no folder {text!r}; pass the folder that contains your notes")
    return path.resolve()
