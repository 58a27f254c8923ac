"""Details of the page: what is shown where, in wide and narrow windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_command, serve_source
from tests.deep.console.browsing import Person, visit

SOURCE = '''
import asyncio
from dataclasses import dataclass
from typing import Literal

from dovetail import Context, Server, ToolAnnotations

server = Server("odd")
READS = ToolAnnotations(read_only_hint=True)


@dataclass
class Card:
    kind: Literal["card"]
    number: str = ""


@dataclass
class Cash:
    kind: Literal["cash"]
    note: str = ""


@server.tool(annotations=READS)
def pay(method: Card | Cash, memo: str = "") -> str:
    """See https://example.com/LONG."""
    return f"{method}"


@server.tool(annotations=READS)
def measure(data: bytes) -> str:
    return f"{len(data)} bytes"


@server.tool(annotations=READS, task="optional")
async def work(ctx: Context) -> str:
    for step in range(1000):
        await ctx.progress(step, 1000, "a step")
        await asyncio.sleep(0.01)
    return "done"


@server.tool(annotations=READS)
def divide() -> float:
    return 1 / 0


@server.tool(annotations=READS)
def long(FIELDS) -> str:
    return "done"


@server.prompt
def one() -> str:
    return "1"
'''
SOURCE = SOURCE.replace("LONG", "x" * 300).replace(
    "FIELDS", ", ".join(f'field{number}: str = ""' for number in range(20))
)
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(SOURCE, tmp_path_factory.mktemp("odd"), "--watch") as running:
        yield running


@pytest.fixture
def person(browser: Browser, odd: Served) -> Iterator[Person]:
    with visit(browser, odd.console, {"odd": "2025-11-25"}) as visitor:
        visitor.wait_until_connected()
        yield visitor


def show(person: Person, tool: str) -> None:
    person.go("odd", "tools", tool)
    expect(person.page.locator(f'article[data-tool="{tool}"] .sf')).to_be_visible()


@pytest.mark.parametrize("view", ["constructor", "__proto__", "toString"])
def test_names_of_every_object_are_no_views(person: Person, view: str) -> None:
    person.go("odd", view)
    expect(person.page.locator("nav.views a[aria-current]")).to_contain_text("Tools")


def test_the_empty_half_says_what_to_do_and_one_is_not_many(person: Person) -> None:
    person.go("odd", "prompts")
    expect(person.page.locator(".count")).to_have_text("1 prompt")
    expect(person.page.locator(".detail")).to_have_text("Choose one of the prompts.")
    person.go("odd", "overview")
    expect(person.page.locator(".page p").first).to_contain_text("supports 2026-07-28, 2025-11-25")


def test_a_long_word_does_not_widen_a_narrow_page(browser: Browser, odd: Served) -> None:
    with visit(browser, odd.console, viewport=NARROW) as person:
        show(person, "pay")
        width = person.page.evaluate("document.documentElement.scrollWidth")
        assert width == NARROW["width"]


@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_the_button_that_runs_a_tool_is_always_visible(
    browser: Browser, odd: Served, size: dict[str, int]
) -> None:
    with visit(browser, odd.console, viewport=size) as person:
        show(person, "long")
        expect(person.page.locator(".sf-node").nth(20)).to_be_attached()
        run = person.page.locator(".call-form").get_by_role("button", name="Run", exact=True)
        expect(run).to_be_in_viewport(ratio=1)
        person.press_run()
        expect(person.call.locator("pre")).to_have_text("done")
        if size is WIDE:
            form, call = (
                person.page.locator(".call-form").bounding_box(),
                person.call.bounding_box(),
            )
            assert form is not None
            assert call is not None
            assert call["x"] >= form["x"] + form["width"]


def test_the_kind_of_a_variant_is_asked_once(person: Person) -> None:
    show(person, "pay")
    expect(person.page.locator('[data-path="/method/number"]')).to_be_visible()
    expect(person.page.locator('[data-path="/method/kind"]')).to_have_count(0)
    person.page.get_by_label("Variant of method").select_option("kind: cash")
    expect(person.page.locator('[data-path="/method/note"]')).to_be_visible()
    person.press_run()
    expect(person.call.locator("pre")).to_contain_text("Cash(kind='cash'")


def test_a_file_becomes_base64(person: Person) -> None:
    show(person, "measure")
    person.page.get_by_label("File for data").set_input_files(
        {"name": "a.png", "mimeType": "image/png", "buffer": b"\x89PNG"}
    )
    expect(person.field("data").locator("xpath=../input[not(@type='file')]")).to_have_value(
        "iVBORw=="
    )
    person.press_run()
    expect(person.call.locator("pre")).to_have_text("4 bytes")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_task_shows_its_progress_and_only_its_tool_offers_one(
    person: Person, revision: str
) -> None:
    person.use(revision)
    show(person, "measure")
    expect(person.page.get_by_label("Run as a task")).to_have_count(0)
    show(person, "work")
    if revision == "2025-11-25":
        person.page.get_by_label("Run as a task").check()
    person.press_run()
    expect(person.call).to_contain_text("a step")
    expect(person.page.get_by_label("Run as a task")).to_be_checked()
    person.press("Cancel")
    expect(person.call.locator(".badge").first).to_have_text("Cancelled")


@pytest.mark.parametrize("source", ["All clients", "This page"])
def test_the_traffic_names_the_tools(person: Person, source: str) -> None:
    person.run("long")
    person.go("odd", "traffic")
    person.page.get_by_label("Show", exact=True).select_option(source)
    calls = person.page.locator(".frames li", has_text="tools/call long")
    for kind in ("request", "response"):
        expect(calls.filter(has_text=kind).first).to_be_visible()


def test_a_developer_sees_the_traceback(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "served.py"
    file.write_text(SOURCE)
    with (
        serve_command(["dev", str(file), "--http", "0", "--no-open"]) as served,
        visit(browser, served.console) as person,
    ):
        person.wait_until_connected()
        person.run("divide")
        text = person.call.get_by_role("region", name="Text")
        expect(text).to_contain_text("ZeroDivisionError")
        expect(text).to_contain_text("in divide")
        expect(text).not_to_contain_text("dispatch.py")


def test_the_page_says_why_there_is_no_server(person: Person) -> None:
    reason = "SyntaxError: line 3"
    person.page.route("**/mcp", lambda route: route.fulfill(status=503, json={"error": reason}))
    person.page.get_by_label("Protocol revision").select_option("2025-06-18")
    expect(person.page.locator("main .error-box")).to_contain_text(reason)
    expect(person.page.locator("header .status")).to_have_text("Not reachable")
    person.page.unroute("**/mcp")
    person.wait_until_connected()
