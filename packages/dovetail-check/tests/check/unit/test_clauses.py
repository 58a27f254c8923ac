"""Addresses of clauses."""

from __future__ import annotations

import re

import pytest

from dovetail_check.clauses import area_title, clause_url
from dovetail_check.inventory import by_id, load

SITE = "https://modelcontextprotocol.io/specification"


@pytest.mark.parametrize(
    ("id", "url"),
    [
        ("base.jsonrpc.valid", f"{SITE}/2025-11-25/basic#messages"),
        ("base.resmeta.serverinfo", f"{SITE}/2026-07-28/basic#meta"),
        ("ping.removed", f"{SITE}/2026-07-28/changelog"),
        ("base.error.method-not-found", "https://www.jsonrpc.org/specification"),
    ],
)
def test_a_clause_is_linked_to_its_page(id: str, url: str) -> None:
    assert clause_url(by_id()[id]).partition("#")[0] == url.partition("#")[0]


def test_every_row_has_an_address_without_spaces() -> None:
    wrong = [row.id for row in load() if not re.fullmatch(r"https://[^\s]+", clause_url(row))]
    assert wrong == []


def test_no_area_is_shown_with_the_letters_of_the_inventory() -> None:
    lettered = re.compile(r"\b[A-E](-[A-E])?\b")
    assert [row.area for row in load() if lettered.search(area_title(row.area))] == []
