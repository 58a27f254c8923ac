"""The folder of a test decides its tier: what is fast does not depend on what is deep."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT, assert_none
from tests.matrix import choose

PLACES = ["cluster", "http", "http-h11", "memory", "sse", "stdio"]


def find_deep_imports(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if "deep" in path.relative_to(folder).parts:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            for name in names:
                if f"{name}.".startswith("tests.deep."):
                    yield f"{path.relative_to(folder.parent)}:{node.lineno} imports {name}"


@pytest.mark.parametrize(
    "folder", [ROOT / "tests", *sorted(ROOT.glob("packages/*/tests"))], ids=str
)
def test_no_fast_test_imports_from_a_deep_one(folder: Path) -> None:
    assert_none(find_deep_imports(folder))


def test_a_fast_test_that_imports_from_a_deep_one_is_found(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "test_a.py").write_text("import tests.deep.a\n")
    (tmp_path / "test_b.py").write_text("import tests.deeper\nfrom tests.deep.a import b\n")
    (tmp_path / "test_c.py").write_text("import tests.deep.a.b\n")
    name = tmp_path.name
    assert list(find_deep_imports(tmp_path)) == [
        f"{name}/test_b.py:2 imports tests.deep.a",
        f"{name}/test_c.py:1 imports tests.deep.a.b",
    ]


def test_every_name_gets_memory_and_one_more_place_without_a_process() -> None:
    chosen = [choose(f"test_{number}", PLACES) for number in range(100)]
    assert all("memory" in places and len(places) == 2 for places in chosen)
    assert set.union(*chosen) == {"memory", "http", "http-h11", "sse"}


def test_a_name_gets_the_same_place_on_every_machine() -> None:
    assert choose("test_1", PLACES) == {"memory", "sse"}
    assert choose("test_1", ["memory", "redis"]) == {"memory"}
    assert choose("test_1", ["redis", "stdio"]) == set()
