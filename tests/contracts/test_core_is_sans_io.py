"""The inner layers of `dovetail` do no I/O: no event loop, socket, file or thread.

So every branch of them can be tested without an event loop. Of `sys` they may use `sys.modules`
(to see whether pydantic is loaded) and `sys.maxsize`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contracts.source_tree import (
    FRAMEWORK,
    Module,
    assert_none,
    find_imports,
    is_within,
    load_packages,
    write_package,
)

LAYERS = frozenset({"errors", "wire", "spec", "core", "features"})
IO_MODULES = (
    "asyncio",
    "concurrent",
    "http",
    "io",
    "multiprocessing",
    "os",
    "pathlib",
    "select",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "urllib.request",
)
SYS_NAMES = frozenset({"modules", "maxsize"})
BUILTINS = frozenset({"open", "input", "print"})


def find_violations(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        if module.package != FRAMEWORK or module.layer not in LAYERS:
            continue
        for found in find_imports(module):
            name = found.target.removeprefix("sys.")
            if is_within(found.target, IO_MODULES) or (
                name != found.target and name not in SYS_NAMES
            ):
                yield str(found)
        for line, what in find_calls(module.tree):
            yield f"{module.at(line)}: {module.name} uses {what}"


def find_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name not in SYS_NAMES:
                yield node.lineno, f"sys.{name}"
            case ast.Call(func=ast.Name(id=name)) if name in BUILTINS:
                yield node.lineno, f"{name}()"


def test_the_inner_layers_do_no_io() -> None:
    assert_none(find_violations(load_packages()))


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "import concurrent.futures",
        "from os import path",
        "import os.path as p",
        "from urllib import request",
        "def f():\n    import threading",
        "if TYPE_CHECKING:\n    import asyncio",
        "import sys\nsys.stdout.write('')",
        "from sys import argv",
        "open('notes')",
    ],
)
def test_io_is_caught(tmp_path: Path, source: str) -> None:
    modules = write_package(tmp_path, {"core/leak.py": source, "transports/leak.py": source})
    assert len(list(find_violations(modules))) == 1


def test_pure_modules_pass(tmp_path: Path) -> None:
    source = (
        "import sys\nfrom sys import maxsize\nimport urllib.parse\nimport contextvars\n"
        "LOADED = 'pydantic' in sys.modules\nimport osmium\n"
    )
    assert not list(find_violations(write_package(tmp_path, {"wire/fine.py": source})))
