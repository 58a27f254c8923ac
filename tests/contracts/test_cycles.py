"""No module imports itself by a detour, and no two rooms import each other."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.contracts.source_tree import (
    PACKAGE,
    Kind,
    Module,
    find_doors,
    load_package,
    write_package,
)
from tests.contracts.test_layers import is_delegate


def find_cycle(modules: Mapping[str, Module]) -> list[str]:
    """One cycle of imports that run when a module is loaded; empty where there is none."""
    graph: dict[str, set[str]] = {name: set() for name in modules}
    for door, target in find_doors(modules):
        if door.kind is Kind.RUNTIME:
            graph[door.importer.name].add(target.name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        # graphlib walks from the imported to the importer.
        return cycle[::-1]
    return []


def find_two_way_doors(modules: Mapping[str, Module]) -> set[tuple[str, str]]:
    """Pairs of rooms with imports in both directions, lazy and typing ones included."""
    doors = {
        (door.importer.room, target.room)
        for door, target in find_doors(modules)
        if not is_delegate(door, target)
    }
    return {(a, b) for a, b in doors if a < b and (b, a) in doors}


def test_no_module_imports_itself_by_a_detour() -> None:
    cycle = find_cycle(load_package(PACKAGE))
    assert not cycle, " -> ".join(cycle)


def test_no_two_rooms_import_each_other() -> None:
    assert not find_two_way_doors(load_package(PACKAGE))


def test_a_cycle_is_caught_and_a_lazy_import_is_none(tmp_path: Path) -> None:
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


def test_a_two_way_door_is_caught_even_when_lazy(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "core/a.py": "from dovetail.wire import b\n",
            "wire/b.py": "",
            "wire/c.py": "def run():\n    from dovetail.core.a import x\n",
            "spec/d.py": "from dovetail.wire import b\n",
        },
    )
    assert find_two_way_doors(modules) == {("core", "wire")}
