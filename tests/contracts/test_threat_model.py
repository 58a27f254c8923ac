"""Every promise of the threat model names tests that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.contracts.source_tree import ROOT, assert_none

PAGE = ROOT / "docs" / "threat-model.md"

_TEST = re.compile(r"`([^`\s]+\.py)::(\w+)`")


def read_promises(text: str) -> list[str]:
    """The rows of the tables below the heading "Promises"."""
    _, _, promises = text.partition("\n## Promises\n")
    rows = [line for line in promises.splitlines() if line.startswith("|")]
    return [row for row in rows if not row.startswith(("| promise |", "|---"))]


def find_unproven(text: str, packages: Path) -> Iterator[str]:
    for row in read_promises(text):
        tests = _TEST.findall(row.rstrip("| ").rpartition("|")[2])
        if not tests:
            yield f"no test is named: {row}"
        for path, name in tests:
            if name not in find_tests(packages / path):
                yield f"there is no {path}::{name}"


def find_tests(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = ast.parse(path.read_text("utf-8")).body
    return {node.name for node in body if isinstance(node, kinds) and node.name[:5] == "test_"}


def test_every_promise_names_tests_that_exist() -> None:
    text = PAGE.read_text("utf-8")
    assert len(read_promises(text)) > 40
    assert_none(find_unproven(text, ROOT / "packages"))


def test_a_promise_without_a_test_is_caught(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("def test_b(): ...\n\ndef helper(): ...\n", "utf-8")
    text = "\n## Promises\n\n| promise | against | test |\n|---|---|---|\n"
    text += (
        "| one | x | `test_a.py::test_b` |\n| two | x | |\n| `test_a.py::test_b` | x | later |\n"
    )
    text += (
        "| four | x | `test_a.py::test_b`, `test_a.py::helper` |\n| five | x | `b.py::test_b` |\n"
    )
    assert list(find_unproven(text, tmp_path)) == [
        "no test is named: | two | x | |",
        "no test is named: | `test_a.py::test_b` | x | later |",
        "there is no test_a.py::helper",
        "there is no b.py::test_b",
    ]
