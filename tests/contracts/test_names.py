"""Module names are specific, and private names stay in their module, in every package.

In the framework, a class name means one thing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.contracts.source_tree import (
    Module,
    assert_none,
    find_imports,
    find_internal_imports,
    load_packages,
    resolve,
    write_package,
)

# Names that say nothing about the content.
VAGUE_NAMES = frozenset(
    {"common", "helper", "helpers", "manager", "managers", "misc", "shared", "utilities", "utils"}
)

# Module -> why it may have the name of a stdlib module. Python started in its folder would import
# it instead of the stdlib's.
STDLIB_EXCEPTIONS: dict[str, str] = {
    "dovetail.eras.select": "the module that selects the era",
}

# Class -> why two modules of the framework define it.
SHARED_CLASS_NAMES: dict[str, str] = {
    "EmbeddedResource": "what a handler returns, and its model on the wire",
    "OAuth": "the settings of clients, and those of servers",
    "Request": "what middleware sees, and the message on the wire",
    "SamplingMessage": "what a server sends, and what a client receives",
}


def find_bad_names(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        leaf = module.name.rpartition(".")[2]
        if leaf.lstrip("_") in VAGUE_NAMES:
            yield f"{module.at(1)}: {leaf!r} says nothing; name it after what it does"
        elif (
            leaf in sys.stdlib_module_names
            and leaf != "__main__"
            and module.name not in STDLIB_EXCEPTIONS
        ):
            yield f"{module.at(1)}: {leaf!r} is a module of the standard library"


def find_repeated_classes(modules: Mapping[str, Module]) -> Iterator[str]:
    """Public classes of the framework whose name another module uses for another class."""
    first: dict[str, str] = {}
    for module in modules.values():
        if module.name.partition(".")[0] != "dovetail":
            continue
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef) or is_private(node.name):
                continue
            other = first.setdefault(node.name, module.name)
            if other != module.name and node.name not in SHARED_CLASS_NAMES:
                yield f"{module.at(node.lineno)}: {other} has a class {node.name!r}, too"


def find_private_use(modules: Mapping[str, Module]) -> Iterator[str]:
    """Private names that another module uses, by import or by attribute."""
    for found, target in find_internal_imports(modules):
        inside = found.target.removeprefix(target.name).split(".")
        if any(map(is_private, [*target.name.split("."), *inside])):
            yield f"{found}, which is private"
    for module in modules.values():
        yield from find_private_attributes(module, modules)


def find_private_attributes(module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    imported = {
        found.target.rpartition(".")[2]
        for found in find_imports(module)
        if resolve(found.target, modules) not in (None, module)
    }
    for node in ast.walk(module.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner in imported and is_private(name)
            ):
                yield f"{module.at(node.lineno)}: {module.name} uses {owner}.{name}"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def test_no_module_has_a_vague_name_or_one_of_the_standard_library() -> None:
    assert_none(find_bad_names(load_packages()))


def test_a_class_name_means_one_thing_in_the_framework() -> None:
    assert_none(find_repeated_classes(load_packages()))


def test_no_private_name_is_used_by_another_module() -> None:
    assert_none(find_private_use(load_packages()))


def test_bad_names_are_caught(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "types.py": "",
            "http/app.py": "",
            "http/__init__.py": "",
            "core/_utils.py": "",
            "core/select.py": "",
            "eras/select.py": "",
            "__main__.py": "",
            "core/registry.py": "",
        },
    )
    caught = [line.partition(": ")[2] for line in find_bad_names(modules)]
    assert sorted(caught) == [
        "'_utils' says nothing; name it after what it does",
        "'http' is a module of the standard library",
        "'select' is a module of the standard library",
        "'types' is a module of the standard library",
    ]


def test_a_repeated_class_name_is_caught(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "wire/a.py": "class Page: ...\nclass _Inner: ...\nclass Request: ...\n",
            "core/b.py": "class Page: ...\nclass _Inner: ...\nclass Request: ...\n",
        },
    )
    [caught] = find_repeated_classes(modules)
    assert caught.endswith("has a class 'Page', too")


def test_a_private_name_used_elsewhere_is_caught(tmp_path: Path) -> None:
    modules = write_package(
        tmp_path,
        {
            "wire/codec.py": "_encoder = 1\nclass Codec:\n    def _go(self): ...\n",
            "wire/_inner.py": "",
            "core/a.py": "from dovetail.wire.codec import _encoder\n",
            "core/b.py": "from dovetail.wire import codec\ncodec._encoder\n",
            "core/c.py": "from dovetail.wire._inner import x\n",
            "core/d.py": "from dovetail.wire.codec import Codec\nCodec._go\nCodec.__name__\n",
            "core/e.py": "import dovetail.wire.codec\n_mine = 1\n",
        },
    )
    caught = [line.partition(": ")[2] for line in find_private_use(modules)]
    assert caught == [
        "dovetail.core.a imports dovetail.wire.codec._encoder, which is private",
        "dovetail.core.c imports dovetail.wire._inner.x, which is private",
        "dovetail.core.b uses codec._encoder",
        "dovetail.core.d uses Codec._go",
    ]
