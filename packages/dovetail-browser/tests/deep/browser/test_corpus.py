"""Real pages become small, and every interactive element can still be addressed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from dovetail_browser.html_cleaner import clean_html
from dovetail_browser.markdown import to_markdown
from dovetail_browser.page_source import read_source
from dovetail_browser.plain_text import to_text
from tests.deep.browser.chromium import Chromium
from tests.deep.browser.saved_pages import SavedPage, saved_pages, serving

# Packages that are missing are downloaded.

INTERACTIVE = (
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [role=button], "
    "[role=link], [role=tab], [role=menuitem], [role=checkbox], [contenteditable=true], [onclick]"
)
# Visible text and interactive elements, as reported by the browser, not by the code under test.
NUMBER_VISIBLE = """selector => {
  const found = [];
  for (const element of document.querySelectorAll(selector)) {
    const box = element.getBoundingClientRect();
    const isSeen = element.checkVisibility({checkOpacity: true, checkVisibilityCSS: true});
    if (!isSeen || box.width < 1 || box.height < 1) continue;
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0) continue;
    element.numberInTest = found.length;
    found.push({tag: element.localName, href: element.getAttribute("href") && element.href,
                html: element.outerHTML.slice(0, 200)});
  }
  return found;
}"""
_PER_CONTROL = 40
NUMBERS = "elements => elements.map(element => element.numberInTest ?? null)"


class Measured(NamedTuple):
    """One page, and the length of its formats."""

    name: str
    package: str
    original: int
    cleaned: int
    markdown: int
    # The minimum: the text, the URLs of links, and the selectors of other elements.
    needed: int
    lost: list[str]


@pytest.fixture(scope="module")
def measured(request: pytest.FixtureRequest) -> Iterator[list[Measured]]:
    pages = saved_pages(request.config.cache.mkdir("saved-pages"))
    with Chromium() as chromium:
        yield [measure(chromium, page) for page in pages]


def measure(chromium: Chromium, page: SavedPage) -> Measured:
    with serving(page) as url:
        return chromium.run(_measure(chromium, page, url))


async def _measure(chromium: Chromium, page: SavedPage, url: str) -> Measured:
    await chromium.page.goto(url)
    source = await read_source(chromium.page)
    assert source.note == ""
    cleaned = clean_html(source.html, source.url)
    tree = LexborHTMLParser(cleaned)
    links = sum(len(node.attributes["href"] or "") for node in tree.css("a[href]"))
    controls = len(tree.css("button, input, select, textarea, summary, option, [selector]"))
    return Measured(
        name=page.path.name,
        package=page.package,
        original=len(page.original),
        cleaned=len(cleaned),
        markdown=len(to_markdown(source.html, source.url)),
        needed=len(to_text(source.html, source.url)) + links + _PER_CONTROL * controls,
        lost=await _find_lost(chromium, cleaned, source.url),
    )


def _links(cleaned: str) -> list[str]:
    return [node.attributes["href"] or "" for node in LexborHTMLParser(cleaned).css("a[href]")]


async def _find_lost(chromium: Chromium, cleaned: str, url: str) -> list[str]:
    """Return the HTML of interactive elements that the cleaned page does not address."""
    seen: list[dict[str, Any]] = await chromium.page.evaluate(NUMBER_VISIBLE, INTERACTIVE)
    address = url.partition("#")[0]
    leads = {address + link if link.startswith("#") else link for link in _links(cleaned)}
    reached: set[int | None] = set()
    for node in LexborHTMLParser(cleaned).css(f"{INTERACTIVE}, [clickable]"):
        if node.tag == "a" and "href" in node.attributes:
            continue
        found = await _address(chromium, node).evaluate_all(NUMBERS)
        if len(found) == 1:
            reached.update(found)
    return [
        element["html"]
        for number, element in enumerate(seen)
        if number not in reached and not (element["tag"] == "a" and element["href"] in leads)
    ]


def _address(chromium: Chromium, node: LexborNode) -> Any:
    """Yield the targets that a reader of the cleaned page could use."""
    page, given = chromium.page, node.attributes
    if given.get("selector"):
        return page.locator(str(given["selector"]))
    for name in ("id", "data-testid", "name"):
        if given.get(name):
            return page.locator(f'{node.tag}[{name}="{given[name]}"]')
    words = " ".join(node.text().split())
    if given.get("aria-label"):
        return page.locator(f'{node.tag}[aria-label="{given["aria-label"]}"]')
    if words and node.tag not in ("select", "textarea"):
        spaced = r"\s+".join(map(re.escape, words.split()))
        exact = re.compile(rf"^\s*{spaced}\s*$")
        return page.locator(str(node.tag)).filter(has_text=exact)
    kind = f"[type={given['type']}]" if given.get("type") else ""
    return page.locator(f"{node.tag}{kind}")


def test_every_interactive_element_can_still_be_addressed(measured: list[Measured]) -> None:
    assert {page.name: page.lost for page in measured if page.lost} == {}


def test_pages_with_much_navigation_become_much_smaller(
    measured: list[Measured],
) -> None:
    pages = [page for page in measured if page.package == "python-pandas-doc"]
    original = sum(page.original for page in pages)
    assert sum(page.cleaned for page in pages) <= 0.15 * original
    assert sum(page.markdown for page in pages) <= 0.10 * original


def test_no_page_is_much_longer_than_its_text_and_links(measured: list[Measured]) -> None:
    for page in measured:
        assert page.cleaned <= max(0.15 * page.original, 1.6 * page.needed), page
        assert page.markdown <= max(0.10 * page.original, 1.2 * page.needed), page
