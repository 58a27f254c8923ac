"""Every tool that shows a page omits hidden text and keeps visible text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deep.browser.driving import BrowserHarness, desk
from tests.deep.browser.hidden_kinds import KINDS_PER_PAGE, TABLES, word_of
from tests.deep.browser.pixel_kinds import SCRIPTS

FORMATS = ["snapshot", "text", "markdown", "html"]
HIDDEN = [("hidden", kind) for kind in TABLES["hidden"]] + [
    ("tricks", kind) for kind in TABLES["tricks"]
]
VISIBLE = [("visible", kind) for kind in TABLES["visible"]] + [
    ("honest", kind) for kind in TABLES["honest"]
]
# These formats do not have the attribute or the element.
LEFT_OUT = {
    ("label of a button", "text"),
    ("label of a button", "markdown"),
    ("placeholder", "text"),
    ("placeholder", "markdown"),
    ("other option", "text"),
    ("other option", "markdown"),
    ("list of options", "text"),
    ("list of options", "markdown"),
}


class Kinds:
    """The pages of all tables in all formats."""

    def __init__(self, browser: BrowserHarness) -> None:
        self._browser = browser
        self._texts: dict[tuple[str, int], dict[str, str]] = {}

    def read(self, table: str, kind: str) -> dict[str, str]:
        """Return the page with a kind in each format."""
        first = list(TABLES[table]).index(kind) // KINDS_PER_PAGE * KINDS_PER_PAGE
        if (table, first) not in self._texts:
            self._browser.fetch(f"/kinds?of={table}&from={first}", format="text")
            self._texts[table, first] = read_formats(self._browser)
        return self._texts[table, first]


def read_formats(browser: BrowserHarness) -> dict[str, str]:
    """Return the page of the current tab in each format."""
    common = {"maxChars": 80_000}
    texts = {
        format: browser.good("get_current_html", format=format, **common)
        for format in ("text", "markdown", "html")
    }
    texts["snapshot"] = browser.good("page_snapshot", **common)
    # Nothing was left out for lack of time.
    assert not any("took longer" in str(found) for found in texts.values())
    return {name: str(found.get("content", found.get("html"))) for name, found in texts.items()}


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk() as opened:
        yield opened


@pytest.fixture(scope="module")
def kinds(browser: BrowserHarness) -> Kinds:
    return Kinds(browser)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("table", "kind"), HIDDEN)
def test_hidden_text_is_omitted(kinds: Kinds, table: str, kind: str, format: str) -> None:
    assert word_of(kind) not in kinds.read(table, kind)[format]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("table", "kind"), VISIBLE)
def test_visible_text_is_kept(kinds: Kinds, table: str, kind: str, format: str) -> None:
    is_kept = (kind, format) not in LEFT_OUT
    assert (word_of(kind) in kinds.read(table, kind)[format]) == is_kept


def test_text_of_other_scripts_and_symbols_is_kept(browser: BrowserHarness) -> None:
    browser.fetch("/scripts", format="text")
    for format, text in read_formats(browser).items():
        shown = " ".join(text.split())
        assert [name for name, words in SCRIPTS.items() if words not in shown] == [], format
