"""The reference memory server: installed from npm, pinned, and started on a file of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qa.bench.npm_packages import NpmHome

__all__ = ["PACKAGE", "REFERENCE", "command", "write_file"]

PACKAGE = "@modelcontextprotocol/server-memory"
REFERENCE = NpmHome("memory", Path(__file__).with_name("package.json"))


def command(file: Path) -> tuple[list[str], dict[str, str]]:
    """What starts it, and the variable that names its file."""
    words = [REFERENCE.node, REFERENCE.file(PACKAGE, "dist/index.js")]
    return words, {"MEMORY_FILE_PATH": str(file)}


def write_file(
    file: Path, entities: Iterable[dict[str, Any]], relations: Iterable[dict[str, Any]]
) -> None:
    """The file as it writes it itself; by calls it would take hours at 100,000."""
    with file.open("w", encoding="utf-8") as out:
        for entity in entities:
            out.write(json.dumps({"type": "entity", **entity}) + "\n")
        for relation in relations:
            out.write(json.dumps({"type": "relation", **relation}) + "\n")
