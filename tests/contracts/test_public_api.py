"""The public API is the reviewed one: `__all__`, the namespace and public_api.txt agree."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.contracts.source_tree import assert_none
from tools.public_api import (
    COMMAND,
    PUBLIC_MODULES,
    REVIEWED,
    describe_api,
    describe_module,
    find_undeclared,
)

SOURCE = """
from __future__ import annotations
import enum
from dataclasses import dataclass

__all__ = ["LIMIT", "Color", "Point", "Thing", "fetch"]

LIMIT = 3

class Color(enum.Enum):
    RED = 1

@dataclass(frozen=True)
class Point:
    x: int = 0

class _Base:
    def shared(self) -> None: ...

class Thing(_Base):
    token = object()
    def __init__(self, name: str, *, size: int | None = None) -> None: ...
    @property
    def size(self) -> int: ...
    @classmethod
    def parse(cls, text: str = "a") -> Thing: ...
    @staticmethod
    def check(text: str) -> bool: ...
    async def run(self, *args: int) -> list[str]: ...
    def _hidden(self) -> None: ...

async def fetch(url: str, marker: object = Thing.token) -> bytes: ...

def _private() -> None: ...
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The path of a module that tests write and import as `sample_module`."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path / "sample_module.py"
    sys.modules.pop("sample_module", None)


def load(path: Path, source: str) -> ModuleType:
    path.parent.mkdir(exist_ok=True)
    path.write_text(source, "utf-8")
    return importlib.import_module("sample_module")


def test_the_public_api_is_the_reviewed_one() -> None:
    reviewed = REVIEWED.read_text("utf-8").splitlines()
    now = describe_api().splitlines()
    diff = list(difflib.unified_diff(reviewed, now, "reviewed", "now", n=0, lineterm=""))
    assert_none([*diff, f"If the change is intended: {COMMAND}"] if diff else [])


@pytest.mark.parametrize("name", [n for n in PUBLIC_MODULES if importlib.util.find_spec(n)])
def test_all_is_the_public_namespace(name: str) -> None:
    assert not find_undeclared(importlib.import_module(name))


def test_every_kind_of_name_is_described_with_its_signature(path: Path) -> None:
    assert list(describe_module(load(path, SOURCE))) == [
        "sample_module.Color  class of Enum",
        "sample_module.Color.RED  attribute",
        "sample_module.LIMIT  value: int",
        "sample_module.Point  class (x: int = 0) -> None",
        "sample_module.Point.x  attribute: int",
        "sample_module.Thing  class of _Base (name: str, *, size: int | None = None) -> None",
        "sample_module.Thing.check  staticmethod(text: str) -> bool",
        "sample_module.Thing.parse  classmethod(text: str = 'a') -> Thing",
        "sample_module.Thing.run  async def(self, *args: int) -> list[str]",
        "sample_module.Thing.shared  def(self) -> None",
        "sample_module.Thing.size  property(self) -> int",
        "sample_module.Thing.token  attribute",
        "sample_module.fetch  async def(url: str, marker: object = <object object>) -> bytes",
    ]


def test_a_name_missing_from_all_is_caught(path: Path) -> None:
    source = SOURCE.replace('"Color", ', "").replace('"LIMIT", ', '"GONE", ')
    assert find_undeclared(load(path, source.replace("fetch(url", "fetch_all(url"))) == [
        "Color is public but not in __all__",
        "LIMIT is public but not in __all__",
        "fetch_all is public but not in __all__",
        "GONE is in __all__ only",
        "fetch is in __all__ only",
    ]


def test_an_import_is_a_public_name_of_a_package_but_not_of_a_module(path: Path) -> None:
    source = "import os\nfrom json import dumps as dump\n__all__ = []\n"
    assert find_undeclared(load(path, source)) == []
    del sys.modules["sample_module"]
    path.unlink()
    assert find_undeclared(load(path.with_suffix("") / "__init__.py", source)) == [
        "dump is public but not in __all__",
        "os is public but not in __all__",
    ]
