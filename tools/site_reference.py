"""Compares the reference with the public API: every name has a docstring and a place.

usage: python -m tools.site_reference site

With a built site it checks that the reference has an anchor for every name in public_api.txt. The
tests use the other functions, which need no site.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.public_api import REVIEWED
from tools.site_links import read_page

__all__ = ["find_unanchored", "find_undocumented", "find_unplaced", "main", "read_places"]

# `::: name` inserts the docstring; a heading with an anchor is for names that have none.
_PLACE = re.compile(r"^(?:::: |#+ .*\{#)([\w.]+)\}?$", re.M)
_ALIAS = "alias of "


def read_places(pages: Iterable[str]) -> list[str]:
    """The names that the reference documents, one for each `::: name` or `## Title {#name}`."""
    return [name for page in pages for name in _PLACE.findall(page)]


def find_unplaced(public_api: str, places: Iterable[str]) -> Iterator[str]:
    """Public names without a place in the reference, places twice, and places of no name."""
    known = {}
    for line in public_api.splitlines():
        name, _, description = line.partition("  ")
        if name.rpartition(".")[0] not in known:  # members are shown with their class
            known[name] = description
    seen: set[str] = set()
    for place in places:
        if place in seen:
            yield f"{place} is in the reference twice"
        if place not in known:
            yield f"{place} is in the reference but not in public_api.txt"
        seen.add(place)
    # Of a class that two modules export, one place is enough.
    shown = {_identity(place) for place in seen if place in known}
    for name in known:
        if name not in seen and _identity(name) not in shown:
            yield f"{name} has no place in the reference; add '::: {name}' to a page"


def find_undocumented(module: ModuleType) -> Iterator[str]:
    """Names in `__all__` of a module, and public members of its classes, without a docstring."""
    if not inspect.getdoc(module):
        yield f"{module.__name__} has no docstring"
    for name in module.__all__:
        value = getattr(module, name)
        path = f"{module.__name__}.{name}"
        if inspect.isclass(value):
            yield from _undocumented_class(path, value)
        elif inspect.isroutine(value):
            if not inspect.getdoc(value):
                yield f"{path} has no docstring"
        elif f"`{name}`" not in (module.__doc__ or "") and name not in _values(module, value):
            yield f"{path} has no docstring: write a string below its assignment"


def find_unanchored(public_api: str, anchors: set[str]) -> Iterator[str]:
    """Names in public_api.txt that have no anchor in the built reference."""
    lines = [line.partition("  ")[::2] for line in public_api.splitlines()]
    # Of a class that two modules export, the anchors of one are enough.
    shown = {(name.rpartition(".")[2], text) for name, text in lines if name in anchors}
    for name, text in lines:
        kind, _, original = text.partition(_ALIAS)
        is_shown = original in anchors if kind != text else False
        if name not in anchors and not is_shown and (name.rpartition(".")[2], text) not in shown:
            yield f"{name} has no anchor in the reference"


def main(argv: Sequence[str]) -> int:
    """Check the built site in the given folder and print the names that are missing."""
    pages = sorted((Path(argv[0]) / "reference").rglob("*.html"))
    anchors = set().union(*(read_page(page.read_text("utf-8")).anchors for page in pages))
    missing = list(find_unanchored(REVIEWED.read_text("utf-8"), anchors))
    for problem in missing:
        print(problem, file=sys.stderr)
    return 1 if missing else 0


def _identity(path: str) -> int:
    module, _, name = path.rpartition(".")
    return id(getattr(importlib.import_module(module), name))


def _undocumented_class(path: str, cls: type) -> Iterator[str]:
    written = cls.__dict__.get("__doc__") or ""
    # dataclasses, NamedTuple and Enum write a docstring of their own where there is none.
    if not written or written.startswith(f"{cls.__name__}("):
        yield f"{path} has no docstring"
    if issubclass(cls, Enum):
        return
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_") or not _has_code(member):
            continue
        if not inspect.getdoc(getattr(cls, name)):
            yield f"{path}.{name} has no docstring"


def _has_code(member: Any) -> bool:
    kinds = (property, classmethod, staticmethod)
    return isinstance(member, kinds) or inspect.isfunction(member)


def _values(module: ModuleType, value: Any) -> set[str]:
    """The constants with a string below their assignment, where the package defines them."""
    package = module.__name__.partition(".")[0]
    names = set()
    for name, candidate in sorted(sys.modules.items()):
        if name.partition(".")[0] != package or not getattr(candidate, "__file__", None):
            continue
        if any(member is value for member in vars(candidate).values()):
            names |= _strings_below(Path(str(candidate.__file__)))
    return names


def _strings_below(file: Path) -> set[str]:
    body = ast.parse(file.read_text("utf-8")).body
    names = set()
    for statement, following in itertools.pairwise(body):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if not is_text:
            continue
        if isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
