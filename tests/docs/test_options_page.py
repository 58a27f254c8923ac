"""Pages with options name every option there is, no other, and the default it really has."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import pytest

from dovetail import Options
from dovetail.transports.streamable_http.app import HttpOptions
from tests.contracts.source_tree import ROOT

_ROW = re.compile(r"^\| `(?P<name>\w+)` \| `(?P<default>[^`]+)` \| (?P<text>.+) \|$", re.M)

PAGES = pytest.mark.parametrize(
    ("page", "options"), [("options.md", Options), ("http.md", HttpOptions)]
)


def read_rows(page: str) -> dict[str, str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return {row["name"]: row["default"] for row in _ROW.finditer(text)}


@PAGES
def test_every_option_has_a_row_and_every_row_an_option(page: str, options: Any) -> None:
    assert sorted(read_rows(page)) == sorted(field.name for field in fields(options))


@PAGES
def test_every_row_shows_the_default(page: str, options: Any) -> None:
    shown = {name: eval(default, {}) for name, default in read_rows(page).items()}
    assert shown == {field.name: field.default for field in fields(options)}
