"""Every module of the inner layers of `dovetail` has its test file at the matching path."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.contracts.source_tree import (
    FRAMEWORK,
    ROOT,
    Module,
    assert_none,
    load_packages,
    write_package,
)

LAYERS = frozenset({"wire", "spec", "core", "features", "eras", "runtime", "stores"})

# Module -> why it has no test file of its own.
EXCEPTIONS: dict[str, str] = {}


def find_missing(modules: Mapping[str, Module], tests: Path) -> Iterator[str]:
    for module in modules.values():
        if module.package != FRAMEWORK or module.layer not in LAYERS:
            continue
        if module.name in EXCEPTIONS or not defines_anything(module):
            continue
        _, *folders, leaf = module.name.split(".")
        mirror = tests.joinpath(*folders, f"test_{leaf}.py")
        if not mirror.exists():
            yield f"{module.name} has no {mirror.relative_to(tests.parents[1])}"


def defines_anything(module: Module) -> bool:
    """An `__init__` that only re-exports is tested through what it re-exports."""
    if not module.is_package:
        return True
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return any(isinstance(node, kinds) for node in ast.walk(module.tree))


def test_every_inner_module_has_its_test_file() -> None:
    assert_none(find_missing(load_packages(), ROOT / "packages" / FRAMEWORK / "tests" / "unit"))


def test_every_exception_names_a_module_and_a_reason() -> None:
    assert EXCEPTIONS.keys() <= load_packages().keys()
    assert all(EXCEPTIONS.values())


def test_a_module_without_a_test_file_is_caught(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "wire/__init__.py": "from dovetail.wire.codec import decode\n",
            "wire/codec.py": "",
            "eras/legacy/ping.py": "",
            "eras/__init__.py": "def choose(): ...\n",
            "transports/stdio.py": "",
        },
    )
    tests = tmp_path / "tests" / "unit"
    (tests / "wire").mkdir(parents=True)
    assert sorted(find_missing(modules, tests)) == [
        "dovetail.eras has no tests/unit/test_eras.py",
        "dovetail.eras.legacy.ping has no tests/unit/eras/legacy/test_ping.py",
        "dovetail.wire.codec has no tests/unit/wire/test_codec.py",
    ]
    (tests / "wire" / "test_codec.py").touch()
    assert "dovetail.wire.codec" not in " ".join(find_missing(modules, tests))
