"""Pages with options name every option there is, no other, and the default it really has."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import Any

import pytest

from dovetail import Options, Server
from dovetail.core.options import HTTP_DEFAULTS
from tests.contracts.source_tree import ROOT

_ROW = re.compile(r"^\| `(?P<name>\w+)` \| `(?P<default>[^`]+)` \| (?P<text>.+) \|$", re.M)

_PATH = inspect.signature(Server.http_app).parameters["path"]
PAGES = pytest.mark.parametrize(
    ("page", "options"),
    [
        ("options.md", {each.name: each.default for each in fields(Options)}),
        ("http.md", {"path": _PATH.default, **HTTP_DEFAULTS}),
    ],
)


def read_rows(page: str) -> dict[str, str]:
    text = (ROOT / "docs" / page).read_text("utf-8")
    return {row["name"]: row["default"] for row in _ROW.finditer(text)}


@PAGES
def test_every_option_has_a_row_and_every_row_an_option(page: str, options: dict[str, Any]) -> None:
    assert sorted(read_rows(page)) == sorted(options)


@PAGES
def test_every_row_shows_the_default(page: str, options: dict[str, Any]) -> None:
    shown = {name: eval(default, {}) for name, default in read_rows(page).items()}
    assert shown == options
