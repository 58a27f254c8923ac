"""The HTML page in a browser: filters, frames, and no console errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dovetail_check.reports import render
from tests.check.unit.made_reports import CRASH, DIFFERENCE, FAULT, ROWS, make_report
from tests.deep.chromium_launch import chromium_launch


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(**chromium_launch())
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page of a report with hostile text; fails on console messages and requests."""
    report = make_report(crashes=(CRASH,), differences=(DIFFERENCE,), faults=(FAULT,))
    path = tmp_path / "report.html"
    path.write_text(render(report, "html"), "utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    errors: list[str] = []
    urls: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("request", lambda request: urls.append(request.url))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert errors == []
    assert [url for url in urls if not url.startswith(("file:", "data:"))] == []


def shown(page: Page) -> list[str]:
    return [row.get_attribute("id") or "" for row in page.locator(".row:visible").all()]


def test_all_requirements_are_listed_findings_first(page: Page) -> None:
    assert len(shown(page)) == len(ROWS)
    assert shown(page)[:3] == ["ping.empty-result", "tools.name.charset", "base.error.parse-error"]
    assert page.locator("#shown").inner_text() == f"{len(ROWS)} requirements"


def test_filters_are_applied_and_reset(page: Page) -> None:
    page.select_option("#level", "should")
    assert shown(page) == ["tools.name.charset"]
    page.select_option("#era", "legacy")
    assert shown(page) == []
    assert page.locator("#none").is_visible()
    page.click("#reset")
    assert len(shown(page)) == len(ROWS)
    page.select_option("#area", "tools")
    assert shown(page) == ["tools.name.charset", "tools.capability"]
    page.select_option("#verdict", "not applicable")
    assert shown(page) == ["tools.capability"]
    assert page.locator("#shown").inner_text() == f"1 of {len(ROWS)} requirements"


def test_a_search_covers_ids_and_observations(page: Page) -> None:
    page.fill("#q", "MEMBERS extra")
    assert shown(page) == ["ping.empty-result"]
    page.fill("#q", "tools.")
    assert shown(page) == ["tools.name.charset", "tools.capability"]


def test_a_tile_toggles_a_filter_by_verdict(page: Page) -> None:
    tile = page.locator(".tile", has_text="failed")
    tile.click()
    assert shown(page) == ["ping.empty-result"]
    assert tile.get_attribute("aria-pressed") == "true"
    tile.click()
    assert len(shown(page)) == len(ROWS)


def test_filters_are_stored_in_the_url(page: Page) -> None:
    page.select_option("#verdict", "fail")
    assert page.url.endswith("#verdict=fail")
    page.reload()
    assert shown(page) == ["ping.empty-result"]


def test_a_requirement_opens_with_its_clause_and_frames(page: Page) -> None:
    row = page.locator("details.row").first
    row.locator("summary").click()
    frames = row.locator(".frame")
    expect(frames).to_have_count(2)
    assert "POST http://127.0.0.1:8000/mcp" in frames.nth(0).inner_text()
    assert "Accept: application/json" in frames.nth(0).inner_text()
    assert '"extra": true' in frames.nth(1).inner_text()
    assert "HTTP 200" in frames.nth(1).inner_text()
    link = row.locator("a").get_attribute("href") or ""
    assert link.startswith("https://modelcontextprotocol.io/specification/")


def test_a_url_with_an_id_opens_the_requirement(page: Page) -> None:
    page.goto(f"{page.url}#tools.name.charset")
    expect(page.locator("details.row[open]")).to_have_attribute("id", "tools.name.charset")


def test_text_of_the_server_is_escaped(page: Page) -> None:
    assert page.locator("img").count() == 0
    assert "<img src=x" in page.locator("details.row").first.inner_text()


def test_crashes_differences_and_internal_errors_are_shown(page: Page) -> None:
    text = page.locator("main").inner_text()
    for part in ("errors/truncated", "tools: add", "KeyError: 'x'"):
        assert part in text


def test_the_theme_can_be_switched(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    before = background()
    page.click("#theme")
    assert background() != before
    page.click("#theme")
    assert background() == before


@pytest.mark.parametrize("width", [320, 390, 768])
def test_the_page_fits_a_small_screen(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    row = page.locator("details.row").first
    row.locator("summary").click()
    expect(row.locator(".frame")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
