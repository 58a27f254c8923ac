"""A clause cited in the source exists: `# <id> (<revision> <page>): our words`.

The ids come from the checker's inventory, or from the list beside this file as long as the
inventory is not in the tree.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.contracts.source_tree import PACKAGE, ROOT, assert_none
from tests.contracts.test_era_literals import REVISIONS

INVENTORY = PACKAGE / "check" / "requirements.yaml"
LIST = Path(__file__).with_name("clause_ids.txt")

_ROW = re.compile(r"""^\s*(?:-\s+)?id:\s*['"]?([\w.-]+)['"]?\s*$""", re.MULTILINE)
# A dotted word and an opening bracket; whether a citation is meant, the rest decides.
_CANDIDATE = re.compile(r"#\s*([a-z0-9_-]+(?:\.[a-z0-9_-]+)+)\s*\((.*)")
_PLACE = re.compile(r"(20\d\d-\d\d-\d\d) [\w./#-]+\)")


def read_ids(inventory: Path, fallback: Path) -> frozenset[str]:
    if inventory.exists():
        return frozenset(_ROW.findall(inventory.read_text("utf-8")))
    return frozenset(fallback.read_text("utf-8").split())


def find_violations(source: str, ids: Collection[str]) -> Iterator[tuple[int, str]]:
    areas = {clause.partition(".")[0] for clause in ids}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        found = _CANDIDATE.match(token.string) if token.type == tokenize.COMMENT else None
        if found is None:
            continue
        clause, rest = found.groups()
        place = _PLACE.match(rest)
        if clause.partition(".")[0] not in areas and not rest.startswith("20"):
            continue
        if clause not in ids:
            yield token.start[0], f"the inventory has no clause {clause}"
        elif place is None:
            yield token.start[0], f"expected '# {clause} (<revision> <page>)'"
        elif place[1] not in REVISIONS:
            yield token.start[0], f"{place[1]} is no revision of the protocol"


def test_every_cited_clause_is_in_the_inventory() -> None:
    ids = read_ids(INVENTORY, LIST)
    assert_none(
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, what in find_violations(path.read_text("utf-8"), ids)
    )


def test_the_inventory_is_complete() -> None:
    assert len(read_ids(INVENTORY, LIST)) >= 582


def test_the_inventory_wins_over_the_list(tmp_path: Path) -> None:
    listed = tmp_path / "ids.txt"
    listed.write_text("base.one\nbase.two\n", "utf-8")
    inventory = tmp_path / "requirements.yaml"
    assert read_ids(inventory, listed) == {"base.one", "base.two"}
    inventory.write_text("rows:\n- id: http.origin.403\n  area: http\n- id: 'x.y'\n", "utf-8")
    assert read_ids(inventory, listed) == {"http.origin.403", "x.y"}


@pytest.mark.parametrize(
    ("comment", "what"),
    [
        ("# http.origin.404 (2025-11-25 basic/transports): no", "the inventory has no clause"),
        ("# ghost.clause (2025-11-25 basic/transports): no", "the inventory has no clause"),
        ("# http.origin.403 (basic/transports): no", "expected '# http.origin.403"),
        ("# http.origin.403 (2025-11-25): no", "expected '# http.origin.403"),
        ("# http.origin.403 (2025-11-26 basic/transports): no", "2025-11-26 is no revision"),
    ],
)
def test_a_wrong_citation_is_caught(comment: str, what: str) -> None:
    [(line, said)] = find_violations(f"x = 1\n{comment}\n", {"http.origin.403"})
    assert line == 2
    assert said.startswith(what)


def test_right_citations_and_other_comments_pass() -> None:
    source = (
        "# http.origin.403 (2025-11-25 basic/transports): a foreign Origin is refused\n"
        "# os.path (the module) joins\n"
        "x = '# http.none (2025-11-25 a): b'\n"
        "y = 1  # plain\n"
    )
    assert not list(find_violations(source, {"http.origin.403"}))
