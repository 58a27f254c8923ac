"""Every clause that the source cites is in the checker's inventory.

A citation is a clause id in a comment or docstring:

    # http.origin.403 (2025-11-25 basic/transports): a foreign Origin is refused
    # tasks.notify, tasks.notify-no-related-meta
    The token is not passed on (auth.no-passthrough).

That is a dotted word whose first part is an area of the inventory, at the start of a line, after
an opening bracket, in a list after another citation, or before `(<revision> <page>)`. Words in
backticks and words in the middle of a sentence (`completion.values`) are not citations.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping

import pytest

from tests.contracts.source_tree import ROOT, assert_none, load_packages
from tests.contracts.test_era_literals import REVISIONS

INVENTORY = ROOT / "packages/dovetail-check/src/dovetail_check/inventory.json"

# `mrtr.state-*` stands for all clauses that start so.
_WORD = r"[a-z0-9]+(?:\.[a-z0-9-]+)+(?:\.?\*)?"
_LIST = rf"{_WORD}(?:(?:,\s+|\s+and\s+){_WORD})*"
_CITATION = re.compile(rf"(?:^#?\s*|\()(?P<ids>{_LIST})(?P<after>\s\([^)]*\))?", re.M)
_WITH_REVISION = re.compile(rf"(?<!\S)(?P<ids>{_LIST})(?P<after>\s\(20\d\d-[^)]*\))")
_PLACE = re.compile(r"\((20\d\d-\d\d-\d\d) [\w./#-]+\)")

Clauses = Mapping[str, Collection[str]]


def read_clauses() -> dict[str, list[str]]:
    """The ids of the inventory, each with the revisions it applies to."""
    return {row["id"]: row["versions"] for row in json.loads(INVENTORY.read_text("utf-8"))}


def read_prose(source: str) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a module, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str(text)) as first), *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str(text)) as first), *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str(text)) as first), *_])
                | ast.AsyncFunctionDef(
                    body=[ast.Expr(value=ast.Constant(value=str(text)) as first), *_]
                )
            ):
                yield first.lineno, text


def find_citations(source: str, areas: Collection[str]) -> Iterator[tuple[int, list[str], str]]:
    """The cited ids, with their line and what follows them in brackets."""
    for line, text in read_prose(source):
        seen = set()
        for found in (*_CITATION.finditer(text), *_WITH_REVISION.finditer(text)):
            ids = re.split(r",\s+|\s+and\s+", found["ids"])
            after = (found["after"] or "").strip()
            is_citation = ids[0].partition(".")[0] in areas or after.startswith("(20")
            if is_citation and found.start("ids") not in seen:
                seen.add(found.start("ids"))
                yield line + text.count("\n", 0, found.start("ids")), ids, after


def find_violations(source: str, clauses: Clauses) -> Iterator[tuple[int, str]]:
    areas = {clause.partition(".")[0] for clause in clauses}
    for line, ids, after in find_citations(source, areas):
        place = _PLACE.fullmatch(after)
        if after and place is None:
            yield line, f"expected '{ids[-1]} (<revision> <page>)', got '{ids[-1]} {after}'"
        elif place and place[1] not in REVISIONS:
            yield line, f"{place[1]} is not a revision of the protocol"
        for clause in ids:
            matching = find_matching(clause, clauses)
            if not matching:
                yield line, f"the inventory has no clause {clause}"
            elif place and place[1] in REVISIONS and not any(place[1] in row for row in matching):
                yield line, f"{clause} does not apply to {place[1]}"


def find_matching(clause: str, clauses: Clauses) -> list[Collection[str]]:
    if clause.endswith("*"):
        return [row for name, row in clauses.items() if name.startswith(clause[:-1])]
    return [clauses[clause]] if clause in clauses else []


def test_every_cited_clause_is_in_the_inventory() -> None:
    clauses = read_clauses()
    assert_none(
        f"{module.at(line)}: {what}"
        for module in load_packages().values()
        for line, what in find_violations(module.path.read_text("utf-8"), clauses)
    )


KNOWN = {"http.origin.403": ["2025-11-25"], "http.origin.validate": ["2025-11-25"]}


@pytest.mark.parametrize(
    ("prose", "what"),
    [
        ("# http.origin.404 (2025-11-25 basic/transports): no", "the inventory has no clause"),
        ("# http.origin.404: no", "the inventory has no clause http.origin.404"),
        ("# http.origin.404", "the inventory has no clause http.origin.404"),
        ("# http.origin.403, http.origin.404", "the inventory has no clause http.origin.404"),
        ("# http.origin.403 and http.no", "the inventory has no clause http.no"),
        ("# 192 bits (http.origin.404)", "the inventory has no clause http.origin.404"),
        ("# This. http.no (2025-11-25 schema): x", "the inventory has no clause http.no"),
        ("# ghost.clause (2025-11-25 basic/transports): no", "the inventory has no clause"),
        ("# http.x-*", "the inventory has no clause http.x-*"),
        ('"""http.no: the first line."""', "the inventory has no clause http.no"),
        ("# http.origin.403 (basic/transports): no", "expected 'http.origin.403 (<revision>"),
        ("# http.origin.403 (2025-11-25): no", "expected 'http.origin.403 (<revision>"),
        ("# http.origin.403 (2025-11-26 basic/transports): no", "2025-11-26 is not a revision"),
        ("# http.origin.403 (2024-11-05 basic/transports)", "http.origin.403 does not apply"),
    ],
)
def test_a_wrong_citation_is_caught(prose: str, what: str) -> None:
    [(line, said)] = find_violations(f"def f():\n    {prose}\n    x = 1\n", KNOWN)
    assert line == 2
    assert said.startswith(what)


def test_a_citation_in_a_docstring_is_found_at_its_line() -> None:
    source = '"""Title.\n\nhttp.no (2025-11-25 basic/transports): x.\n"""\n'
    assert list(find_violations(source, KNOWN)) == [(3, "the inventory has no clause http.no")]


def test_right_citations_and_other_prose_pass() -> None:
    source = (
        '"""Checks the origin (http.origin.403, http.origin.validate). `http.client` is code."""\n'
        "# http.origin.403 (2025-11-25 basic/transports): a foreign Origin is refused\n"
        "# http.origin.validate, http.origin.403\n"
        "# http.origin.*: all of them\n"
        "# Like http.client in the middle, and os.path (the module)\n"
        "# os.path joins\n"
        "x = '# http.none (2025-11-25 a): b'\n"
    )
    assert not list(find_violations(source, KNOWN))
