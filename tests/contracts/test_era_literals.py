"""Revision literals and orderings of revisions occur only in `dovetail.spec` and `dovetail.eras`.

Other code uses a property of the revision (`revision.batching`) or the method table. The checker
has rules per revision and is exempt. Docstrings and comments are not checked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.contracts.source_tree import (
    Module,
    assert_none,
    is_within,
    load_packages,
    write_package,
)

REVISIONS = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"})
CONSTANTS = frozenset(f"V{date.replace('-', '_')}" for date in REVISIONS)
HOMES = ("dovetail.spec", "dovetail.eras", "dovetail_check")

_DATE = re.compile(r"(?<!\d)20\d\d-\d\d-\d\d(?!\d)")
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def find_violations(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        if not is_within(module.name, HOMES):
            yield from (f"{module.at(line)}: {what}" for line, what in find_literals(module.tree))


def find_literals(tree: ast.Module) -> Iterator[tuple[int, str]]:
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str() | bytes() as value) if id(node) not in prose:
                text = value if isinstance(value, str) else value.decode("latin-1")
                for date in REVISIONS.intersection(_DATE.findall(text)):
                    yield node.lineno, f"the literal {date}"
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in CONSTANTS:
                yield node.lineno, f"the constant {name}"
            case ast.Compare(left=left, ops=ops, comparators=others):
                is_ordering = any(isinstance(op, _ORDER) for op in ops)
                if is_ordering and any(names_revision(side) for side in [left, *others]):
                    yield node.lineno, f"an ordering of revisions: {ast.unparse(node)}"


def names_revision(node: ast.expr) -> bool:
    """Whether an expression is a revision or an attribute of one: `call.revision.order`."""
    match node:
        case ast.Name(id=name):
            return is_revision(name)
        case ast.Attribute(value=value, attr=name):
            return is_revision(name) or names_revision(value)
    return False


def is_revision(name: str) -> bool:
    return name in ("revision", "protocol_version") or name.endswith("_revision")


def test_no_revision_is_spelled_or_ordered_outside_its_home() -> None:
    assert_none(find_violations(load_packages()))


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("NEWEST = '2026-07-28'", "the literal 2026-07-28"),
        ("def f(v):\n    return f'since 2025-06-18 {v}'", "the literal 2025-06-18"),
        ("HEADER = b'2025-03-26'", "the literal 2025-03-26"),
        ("if revision is revisions.V2025_11_25: ...", "the constant V2025_11_25"),
        ("x = revision >= y", "an ordering of revisions: revision >= y"),
        ("x = y < call.revision", "an ordering of revisions: y < call.revision"),
        ("x = a.revision.order > 3", "an ordering of revisions: a.revision.order > 3"),
    ],
)
def test_a_revision_elsewhere_is_caught(tmp_path: Path, source: str, what: str) -> None:
    modules = write_package(tmp_path, {"core/flow.py": source, "eras/flow.py": source})
    caught = [
        line.rpartition(f"{modules['dovetail.core.flow'].path}:")[2]
        for line in find_violations(modules)
    ]
    assert [line.partition(": ")[2] for line in caught] == [what]


def test_prose_other_dates_and_equality_pass(tmp_path: Path) -> None:
    source = (
        '"""Valid since 2025-11-25."""\n'
        "# 2024-11-05 had batching\n"
        "BORN = '2025-01-01'\n"
        "same = revision == other\n"
        "few = revision_count < 3\n"
    )
    assert not list(find_violations(write_package(tmp_path, {"core/flow.py": source})))
