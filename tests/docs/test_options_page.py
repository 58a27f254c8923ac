"""docs/options.md names every option there is, no other, and the default it really has."""

from __future__ import annotations

import re
from dataclasses import fields

from dovetail import Options
from tests.contracts.source_tree import ROOT

_ROW = re.compile(r"^\| `(?P<name>\w+)` \| `(?P<default>[^`]+)` \| (?P<text>.+) \|$", re.M)


def read_rows() -> dict[str, str]:
    page = (ROOT / "docs" / "options.md").read_text("utf-8")
    return {row["name"]: row["default"] for row in _ROW.finditer(page)}


def test_every_option_has_a_row_and_every_row_an_option() -> None:
    assert sorted(read_rows()) == sorted(field.name for field in fields(Options))


def test_every_row_shows_the_default() -> None:
    shown = {name: eval(default, {}) for name, default in read_rows().items()}
    assert shown == {field.name: field.default for field in fields(Options)}
