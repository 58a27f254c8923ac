"""`dovetail serve vault`: the options of the command line and the server they describe."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from dovetail import Server, UsageError
from dovetail_vault.server import VaultOptions, build_server

__all__ = ["ARGUMENTS", "OPTIONS", "SUMMARY", "build"]

SUMMARY = "Notes in folders of Markdown files: Obsidian, Logseq, Foam."

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

# What `dovetail serve vault` takes; `dovetail serve all` takes the options.
ARGUMENTS: Sequence[click.Parameter] = (click.Argument(["path"], required=False, metavar="[PATH]"),)
OPTIONS: Sequence[click.Parameter] = (
    click.Option(
        ["--vault", "vaults"],
        multiple=True,
        metavar="[NAME=]PATH",
        help="A folder with notes; may be given several times.",
    ),
    click.Option(["--name", "name"], default="vault", show_default=True, help="Name it goes by."),
    click.Option(["--read-only"], is_flag=True, help="Offer nothing that changes notes."),
    click.Option(
        ["--index-dir"],
        type=click.Path(file_okay=False, path_type=Path),
        help="Where the index is kept; by default in your cache directory.",
    ),
    click.Option(
        ["--embeddings"],
        default="auto",
        show_default=True,
        metavar="auto|off|NAME",
        help="What compares meanings: an installed model.",
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
    **_others: Any,
) -> Server | None:
    """The server that the options describe; None where no vault was named."""
    folders = dict(map(_read_vault, [*([path] if path is not None else []), *vaults]))
    given = len(vaults) + (path is not None)
    if given == 0:
        return None
    if len(folders) != given:
        raise UsageError("two vaults have the same name; give each its own by NAME=PATH")
    options = VaultOptions(
        name=name, read_only=read_only, index_dir=index_dir, embeddings=embeddings
    )
    return build_server(folders, options)


def _read_vault(text: str) -> tuple[str, Path]:
    name, sign, folder = text.partition("=")
    if sign and _NAME.fullmatch(name):
        return name, _folder(folder)
    path = _folder(text)
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-_")[:64] or "vault"
    return plain, path


def _folder(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_dir():
        raise UsageError(f"There is no folder {text!r}; expected the folder of a vault")
    return path.resolve()
