"""The Django example of docs/openapi.md runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.contracts.documents import find_missing_lines, read_blocks, read_commands
from tests.contracts.source_tree import ROOT
from tests.patience import CAP


def test_the_django_example_runs(tmp_path: Path) -> None:
    blocks = read_blocks((ROOT / "docs" / "openapi.md").read_text("utf-8"))
    index, source = next(
        (n, block.text) for n, block in enumerate(blocks) if block.text.startswith("# library.py")
    )
    (tmp_path / "library.py").write_text(source, "utf-8")
    [command] = read_commands(blocks[index + 1])
    arguments = ["call", "library.py", "add_book"]
    for book, status in (('{"title": "Emma", "year": 1815}', 0), ('{"title": "Emma"}', 1)):
        done = subprocess.run(
            [sys.executable, "-m", "dovetail", *arguments, f"body:={book}"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=CAP,
            check=False,
        )
        assert done.returncode == status, done.stderr
        if status == 0:
            assert not find_missing_lines(command.expected, done.stdout)
        else:
            assert "body.year" in done.stderr + done.stdout
