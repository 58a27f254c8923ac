"""The packages as syntax trees: their modules and the imports between them.

The contracts parse the source and never import it, so they also work on code that does not run
and on the small fixture packages of their own tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORK = "dovetail"


class Kind(Enum):
    """When an import happens."""

    RUNTIME = "runtime"
    LAZY = "lazy"
    TYPING = "typing"


@dataclass(frozen=True)
class Module:
    """One source file of a package."""

    name: str
    path: Path
    tree: ast.Module
    is_package: bool

    @property
    def package(self) -> str:
        """The import package: `dovetail_vault` for `dovetail_vault.note`."""
        return self.name.partition(".")[0]

    @property
    def layer(self) -> str:
        """The folder or module directly below the package; the package's own name for its root."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else parts[0]

    @property
    def folder(self) -> str:
        """The dotted name of the folder; a module directly below the package is its own."""
        parts = self.name.split(".")
        return self.name if self.is_package or len(parts) == 2 else ".".join(parts[:-1])

    def at(self, line: int) -> str:
        """`path:line`, relative to the repository where possible."""
        inside = self.path.is_relative_to(ROOT)
        return f"{self.path.relative_to(ROOT) if inside else self.path}:{line}"


@dataclass(frozen=True)
class Import:
    """One imported name; `target` is the dotted path as the source spells it."""

    importer: Module
    target: str
    line: int
    kind: Kind

    def __str__(self) -> str:
        when = "" if self.kind is Kind.RUNTIME else f" ({self.kind.value})"
        return f"{self.importer.at(self.line)}: {self.importer.name} imports {self.target}{when}"


def load_package(folder: Path) -> dict[str, Module]:
    """Every module under `folder`, by dotted name."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = [folder.name, *path.relative_to(folder).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        modules[name] = Module(name, path, ast.parse(path.read_text("utf-8")), is_package)
    return modules


@cache
def load_packages() -> Mapping[str, Module]:
    """Every module of every package of the repository, by dotted name."""
    modules: dict[str, Module] = {}
    for marker in sorted(ROOT.glob("packages/*/src/*/__init__.py")):
        modules.update(load_package(marker.parent))
    return modules


def write_package(
    folder: Path, sources: Mapping[str, str], name: str = FRAMEWORK
) -> dict[str, Module]:
    """Write a fixture package (file name to source) and load it."""
    for file_name, source in sources.items():
        path = folder / name / file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    return load_package(folder / name)


@cache
def find_imports(module: Module) -> Sequence[Import]:
    """Every import of a module: at the top, in functions, and for type checkers only."""
    return [
        Import(module, target, getattr(node, "lineno", 0), kind)
        for node, kind in _walk(module.tree, Kind.RUNTIME)
        for target in _targets(node, module)
    ]


def find_internal_imports(modules: Mapping[str, Module]) -> Iterator[tuple[Import, Module]]:
    """The imports between two of `modules`, each with the module it leads to."""
    for module in modules.values():
        for found in find_imports(module):
            target = resolve(found.target, modules)
            if target is not None and target is not module:
                yield found, target


def resolve(target: str, modules: Mapping[str, Module]) -> Module | None:
    """The module that `target` names or is defined in; None if it is not one of `modules`."""
    while target not in modules:
        target, dot, _ = target.rpartition(".")
        if not dot:
            return None
    return modules[target]


def assert_none(violations: Iterable[str]) -> None:
    """Fail with one violation per line; a plain assert on the list would truncate it."""
    if found := list(violations):
        raise AssertionError("\n".join(["", *found]))


def is_within(target: str, places: Iterable[str]) -> bool:
    """Whether `target` is one of `places` or lies below one of them."""
    return any(target == place or target.startswith(f"{place}.") for place in places)


def _walk(node: ast.AST, kind: Kind) -> Iterator[tuple[ast.AST, Kind]]:
    for child in ast.iter_child_nodes(node):
        inner = kind
        if kind is Kind.RUNTIME and isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            inner = Kind.LAZY
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for part in child.body:
                yield part, Kind.TYPING
                yield from _walk(part, Kind.TYPING)
            for part in child.orelse:
                yield part, kind
                yield from _walk(part, kind)
            continue
        yield child, inner
        yield from _walk(child, inner)


def _targets(node: ast.AST, module: Module) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=base, names=names, level=level):
            start = _anchor(module, level) if level else []
            parent = ".".join([*start, *([base] if base else [])])
            return [parent if alias.name == "*" else f"{parent}.{alias.name}" for alias in names]
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module" | "__import__"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
    return []


def _anchor(module: Module, level: int) -> list[str]:
    parts = module.name.split(".")
    package = parts if module.is_package else parts[:-1]
    return package[: len(package) - level + 1]
