"""`dovetail graph show`: the page in a real browser, cut off from any network."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from playwright.sync_api import Page, sync_playwright

from dovetail.cli.app import app
from dovetail_graph.records import (
    EntityRecord,
    ObservationRecord,
    RelationKey,
    RelationRecord,
)
from dovetail_graph.sqlite_store import SqliteStore
from dovetail_graph.timestamps import Span
from tests.deep.chromium_launch import chromium_launch

HOSTILE = "</script><script>document.title='taken'</script><!-- {{data}}"
DAY = 86_400_000_000


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Changes on three days: two entities; a third and a relation; one is deleted."""
    store = SqliteStore(tmp_path / "memory.db", "default")

    def at(day: int) -> None:
        monkeypatch.setattr("dovetail_graph.sqlite_store.clock", lambda: day * DAY)

    at(20_000)
    with store.writing() as writer:
        for name in ("Ada", "Acme"):
            writer.put_entity(EntityRecord(name, "person"), Span(writer.now()))
        writer.put_observation(ObservationRecord("Ada", "likes sailing"), Span(writer.now()))
    at(20_010)
    with store.writing() as writer:
        writer.put_entity(EntityRecord(HOSTILE, "odd"), Span(writer.now()))
        writer.put_observation(ObservationRecord(HOSTILE, HOSTILE), Span(writer.now()))
        key = RelationKey("Ada", "Acme", "works_at")
        writer.put_relation(RelationRecord(key, 0.9, 0.8), Span(writer.now()))
    at(20_020)
    with store.writing() as writer:
        writer.drop_entity("Acme", Span(writer.now()))
    store.close()
    return tmp_path / "memory.db"


def show(*words: str) -> Result:
    return CliRunner().invoke(app, ["graph", "show", *words], obj=[])


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(**chromium_launch())
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Any, database: Path) -> Iterator[Page]:
    target = database.with_name("page.html")
    assert show("--db", str(database), "-o", str(target)).exit_code == 0
    opened = browser.new_page(color_scheme="dark")
    told: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: told.append(message.text))
    opened.on("pageerror", lambda error: told.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(target.as_uri())
    yield opened
    # No errors, and no request except for the file itself.
    assert told == [] and asked == [target.as_uri()]
    opened.close()


def move_time(page: Page, moment: int) -> str:
    page.evaluate(
        "at => { const slider = document.getElementById('time'); slider.value = at;"
        " slider.dispatchEvent(new Event('input')); }",
        moment,
    )
    return page.inner_text("#counts")


@pytest.mark.slow
def test_the_page_shows_now_and_goes_back_in_time(page: Page) -> None:
    assert page.inner_text("#counts") == "2 entities, 0 relations"
    assert page.title() == "memory"
    # The end of the line is now, years after; the three days are its beginning.
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#counts") == "2 entities, 0 relations"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#counts") == "3 entities, 1 relations"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#counts") == "2 entities, 0 relations"
    assert move_time(page, 0) == "0 entities, 0 relations"
    assert page.is_visible("#empty")
    assert move_time(page, 1000) == "2 entities, 0 relations"


@pytest.mark.slow
def test_both_time_axes_can_be_selected(page: Page) -> None:
    page.check("input[value=recorded]")
    for _ in range(2):
        page.keyboard.press("Escape")
    page.click("#back")
    page.click("#back")
    assert page.inner_text("#counts") == "3 entities, 1 relations"


@pytest.mark.slow
def test_search_details_and_types(page: Page) -> None:
    page.fill("#search", "SAIL")
    assert page.inner_text("#panel h2") == "1 found"
    assert page.inner_text("#panel mark") == "sail"
    page.click("#panel button.go")
    assert page.inner_text("#panel h2") == "Ada"
    assert "likes sailing" in page.inner_text("#panel")
    page.fill("#search", "")
    page.click("#legend button:has-text('odd')")
    assert page.inner_text("#counts") == "1 entities, 0 relations"


@pytest.mark.slow
def test_texts_of_the_graph_cannot_run(page: Page) -> None:
    page.fill("#search", "taken")
    assert page.inner_text("#panel button.go") == HOSTILE
    assert page.title() == "memory"


@pytest.mark.slow
def test_the_theme_follows_the_system_and_can_be_changed(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    light = page.evaluate(ground)
    assert dark == "rgb(20, 24, 29)" and light == "rgb(247, 247, 244)"


def test_the_page_contains_every_version_and_no_url(database: Path) -> None:
    target = database.with_name("page.html")
    done = show("--db", str(database), "-o", str(target))
    assert done.exit_code == 0 and done.output.endswith("page.html: 3 entities\n")
    text = target.read_text("utf-8")
    assert not re.search(r"(?:https?:)?//[a-z]", text)
    [data] = re.findall(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    record = json.loads(data)
    assert set(record["names"]) == {"Ada", "Acme", HOSTILE} and record["total"] == 3
    assert len(record["relations"]) == 2


def test_the_last_changed_entities_of_a_large_graph_are_drawn(database: Path) -> None:
    target = database.with_name("page.html")
    done = show("--db", str(database), "-o", str(target), "--most", "1")
    assert "1 entities of 3 (the last changed)" in done.output


def test_errors_of_graph_show(tmp_path: Path, database: Path) -> None:
    missing = show("--db", str(tmp_path / "none.db"))
    assert missing.exit_code == 2 and "There is no graph file" in missing.output
    assert not (tmp_path / "none.db").exists()
    place = show("--db", str(database), "-o", str(tmp_path / "no" / "page.html"))
    assert place.exit_code == 2 and "Cannot write" in place.output
    name = show("--db", str(database), "--namespace", "a b")
    assert name.exit_code == 2 and "--namespace" in name.output
    with sqlite3.connect(tmp_path / "other.db") as file:
        file.execute("CREATE TABLE bookmarks(url TEXT)")
    file.close()
    other = show("--db", str(tmp_path / "other.db"))
    assert other.exit_code == 2 and "another program" in other.output
