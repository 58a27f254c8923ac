"""Real documents for tests: copies of the documentation in installed packages.

Python packages contain few Markdown files, so reStructuredText, plain text and docstrings of the
standard library are used too. The selection depends only on the interpreter and the installed
packages, so it is the same on every machine.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ENOUGH = 2_000
_SUFFIXES = {".md", ".rst", ".txt", ".py"}
_LARGEST = 12_000


def copy_corpus(target: Path, most: int) -> int:
    """Copy documents as notes into the same folders; return their number."""
    count = 0
    for folder, path in _documents():
        data = path.read_bytes()
        if b"\0" in data or not data or len(data) > _LARGEST:
            continue
        relative = path.relative_to(folder)
        parts = [part.strip(". ") or "x" for part in relative.parts]
        note = target.joinpath(*parts[:-1], f"{parts[-1]}.md")
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_bytes(data)
        count += 1
        if count == most:
            break
    return count


def _documents() -> Iterator[tuple[Path, Path]]:
    """Markdown files first, then other text files."""
    folders = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib"))]
    found = [
        (folder, Path(root, name))
        for folder in folders
        for root, _, names in sorted(os.walk(folder))
        for name in sorted(names)
        if os.path.splitext(name)[1] in _SUFFIXES
    ]
    found.sort(key=lambda pair: pair[1].suffix != ".md")
    return ((folder, path) for folder, path in found if not path.is_symlink())
