"""Every link between README.md, CONTRIBUTING.md and the pages in docs/ leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts.source_tree import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^```.*?^```", re.S | re.M)
_LINK = re.compile(r"\]\((?!\w+:)(?P<file>[^)#\s]*)(?:#(?P<place>[^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.+)$", re.M)


def read_places(text: str) -> set[str]:
    """The anchors that GitHub makes from headings."""
    headings = (heading.strip().lower() for heading in _HEADING.findall(_BLOCK.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings}


def find_broken(page: Path) -> Iterator[str]:
    for link in _LINK.finditer(_BLOCK.sub("", page.read_text("utf-8"))):
        target = (page.parent / link["file"]).resolve() if link["file"] else page
        if not target.exists():
            yield f"{link[0]}: there is no {link['file']}"
        elif link["place"] and link["place"] not in read_places(target.read_text("utf-8")):
            yield f"{link[0]}: {target.name} has no heading for it"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert list(find_broken(page)) == []


def test_every_page_is_on_the_map() -> None:
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md")}
    # A folder has a map of its own, which is a page of the map.
    maps = list(docs.rglob("index.md"))
    linked = {
        str((index.parent / link["file"]).relative_to(docs))
        for index in maps
        for link in _LINK.finditer(index.read_text("utf-8"))
        if link["file"] and (index.parent / link["file"]).is_relative_to(docs)
    }
    assert pages - linked == {"index.md"}


def test_a_broken_link_is_caught(tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("# A `thing`, named\n\n```\n# no heading\n```\n", "utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Top\n[a](other.md#a-thing-named) [b](#top) [c](https://example.org/x)\n"
        "[d](gone.md) [e](other.md#no-heading)\n",
        "utf-8",
    )
    assert list(find_broken(page)) == [
        "](gone.md): there is no gone.md",
        "](other.md#no-heading): other.md has no heading for it",
    ]
