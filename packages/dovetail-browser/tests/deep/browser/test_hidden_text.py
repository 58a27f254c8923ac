"""Every tool that shows a page omits hidden text and keeps visible text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deep.browser.driving import BrowserHarness, desk
from tests.deep.browser.hidden_kinds import HIDDEN, VISIBLE, word_of

FORMATS = ["snapshot", "text", "markdown", "html"]
# These formats do not have the attribute.
LEFT_OUT = {
    ("label of a button", "text"),
    ("label of a button", "markdown"),
}


class Kinds:
    """The page of a table in all formats."""

    def __init__(self, browser: BrowserHarness, table: str) -> None:
        browser.fetch(f"/kinds?of={table}", format="text")
        common = {"maxChars": 80_000}
        self.texts = {
            format: browser.good("get_current_html", format=format, **common)["content"]
            for format in ("text", "markdown")
        }
        self.texts["html"] = browser.good("get_current_html", **common)["html"]
        self.texts["snapshot"] = browser.good("page_snapshot", **common)["content"]


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk() as opened:
        yield opened


@pytest.fixture(scope="module")
def hidden(browser: BrowserHarness) -> Kinds:
    return Kinds(browser, "hidden")


@pytest.fixture(scope="module")
def visible(browser: BrowserHarness) -> Kinds:
    return Kinds(browser, "visible")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", HIDDEN)
def test_hidden_text_is_omitted(hidden: Kinds, kind: str, format: str) -> None:
    assert word_of(kind) not in hidden.texts[format]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", VISIBLE)
def test_visible_text_is_kept(visible: Kinds, kind: str, format: str) -> None:
    assert (word_of(kind) in visible.texts[format]) == ((kind, format) not in LEFT_OUT)
