"""No import cycles between modules, and no two-way imports between folders, in any package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.contracts.source_tree import (
    Import,
    Kind,
    Module,
    find_internal_imports,
    is_within,
    load_packages,
    write_package,
)
from tests.contracts.test_layers import is_delegate


def find_cycle(modules: Mapping[str, Module]) -> list[str]:
    """One cycle of imports that run when a module is loaded; empty if there is none."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for found, target in find_internal_imports(modules):
        if found.kind is Kind.RUNTIME:
            graph[found.importer.name].add(target.name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        # graphlib lists the imported module before its importer.
        return cycle[::-1]
    return []


def find_two_way_imports(modules: Mapping[str, Module]) -> set[tuple[str, str]]:
    """Pairs of folders that import each other; lazy and typing imports count as well."""
    edges = set(find_folder_edges(modules))
    return {(a, b) for a, b in edges if a < b and (b, a) in edges}


def find_folder_edges(modules: Mapping[str, Module]) -> Iterator[tuple[str, str]]:
    for found, target in find_internal_imports(modules):
        is_counted = not is_delegate(found, target) and not is_reexport(found, target)
        if is_counted and found.importer.folder != target.folder:
            yield found.importer.folder, target.folder


def is_reexport(found: Import, target: Module) -> bool:
    """Whether an `__init__` imports from below its own package."""
    return found.importer.is_package and is_within(target.name, [found.importer.name])


def test_no_module_imports_itself_indirectly() -> None:
    cycle = find_cycle(load_packages())
    assert not cycle, " -> ".join(cycle)


def test_no_two_folders_import_each_other() -> None:
    assert find_two_way_imports(load_packages()) == set()


def test_a_cycle_is_caught_and_a_lazy_import_is_not_a_cycle(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "core/a.py": "from dovetail.core.b import x\n",
            "core/b.py": "try:\n    from .c import x\nexcept ImportError:\n    pass\n",
            "core/c.py": "import dovetail.core.a\n",
            "core/d.py": "def run():\n    import dovetail.core.e\n",
            "core/e.py": "import dovetail.core.d\n",
        },
    )
    cycle = find_cycle(modules)
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"dovetail.core.a", "dovetail.core.b", "dovetail.core.c"}
    del modules["dovetail.core.c"]
    assert find_cycle(modules) == []


def test_a_two_way_import_is_caught_even_when_lazy(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "__init__.py": "from dovetail.server import Server\n",
            "server.py": "",
            "core/__init__.py": "from dovetail.core.schema.d import x\n",
            "core/a.py": "from dovetail.wire import b\n",
            "core/schema/d.py": "from dovetail.core.a import x\n",
            "wire/b.py": "",
            "wire/c.py": "def run():\n    from dovetail.core.a import x\n",
            "spec/d.py": "from dovetail.wire import b\n",
        },
    )
    assert find_two_way_imports(modules) == {("dovetail.core", "dovetail.wire")}
