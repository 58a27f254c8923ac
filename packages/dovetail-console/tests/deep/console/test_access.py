"""Accessibility of every view, the keyboard, narrow windows, and the size of the files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from dovetail_console.app import find_assets
from tests.console.serving import Served
from tests.deep.console.browsing import Person, visit

ROOT = Path(__file__).parents[5]
AXE = ROOT / ".console/node_modules/axe-core/axe.min.js"
MAX_BYTES = 154_000

VIEWS = [
    "overview",
    "tools",
    "tools/json_schema_2020_12_tool",
    "tools/greet",
    "resources",
    "resources/test%3A%2F%2Fstatic-text",
    "resources/test%3A%2F%2Ftemplate%2F%7Bid%7D%2Fdata",
    "prompts",
    "prompts/test_prompt_with_arguments",
    "tasks",
    "traffic",
    "revisions",
    "check",
    "sign-in",
]


def find_violations(person: Person) -> list[str]:
    """What axe finds on the page as it is now."""
    if not person.page.evaluate("'axe' in window"):
        # Evaluated by the debugger, so the Content-Security-Policy of the page does not apply.
        person.page.evaluate(AXE.read_text())
    found: dict[str, Any] = person.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_view(browser: Browser, served: Served, scheme: Any) -> None:
    with visit(browser, served.console, color_scheme=scheme) as person:
        person.wait_until_connected()
        for view in VIEWS:
            person.page.goto(f"{served.console}#/conformance/{view}")
            expect(person.page.locator("nav.views a[aria-current]")).to_be_visible()
            expect(person.page.locator("main > *").nth(1)).to_be_visible()
            assert find_violations(person) == [], view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_results_and_dialogs(
    browser: Browser, served: Served, scheme: Any
) -> None:
    with visit(browser, served.console, color_scheme=scheme) as person:
        person.use("2026-07-28")
        for tool in (
            "test_multiple_content_types",
            "test_error_handling",
            "test_tool_with_logging",
        ):
            call = person.run(tool)
            expect(call.locator(".result")).to_be_visible()
            assert find_violations(person) == [], tool
        person.choose("test_elicitation_sep1330_enums")
        person.page.locator(".call-form button.primary").click()
        expect(person.dialog).to_be_visible()
        assert find_violations(person) == [], "confirmation"
        person.dialog.get_by_role("button", name="Run", exact=True).click()
        expect(person.dialog.locator('[data-path="/titledMulti"]')).to_be_visible()
        assert find_violations(person) == [], "elicitation"
        person.dialog.get_by_role("button", name="Cancel", exact=True).click()
        person.run("test_sampling", {"prompt": "Hi"})
        expect(person.page.get_by_label("Your answer as the model")).to_be_visible()
        assert find_violations(person) == [], "sampling"
        person.dialog.get_by_role("button", name="Decline").click()
        person.run("test_input_required_result_list_roots")
        expect(person.page.get_by_label("Folders")).to_be_visible()
        assert find_violations(person) == [], "roots"


def test_a_tool_is_found_and_run_with_the_keyboard_alone(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.wait_until_connected()
        keyboard = person.page.keyboard
        keyboard.press("/")
        expect(person.page.get_by_role("searchbox")).to_be_focused()
        keyboard.type("greet")
        expect(person.page.locator(".list-pane li")).to_have_count(1)
        keyboard.press("ArrowDown")
        keyboard.press("Enter")
        expect(person.page.locator("article h2")).to_have_text("greet")
        field = person.field("name")
        _tab_to(person, field)
        keyboard.type("Ada")
        keyboard.press("Enter")
        expect(person.dialog).to_be_visible()
        expect(person.dialog.get_by_role("button", name="Run", exact=True)).to_be_focused()
        keyboard.press("Enter")
        expect(person.call.locator("pre")).to_have_text("Hello, Ada!")
        assert person.page.evaluate("document.activeElement !== document.body")


def _tab_to(person: Person, target: Any) -> None:
    for _ in range(60):
        person.page.keyboard.press("Tab")
        if target.evaluate("element => element === document.activeElement"):
            return
    raise AssertionError("it cannot be reached with the Tab key")


def test_everything_can_be_reached_with_the_tab_key(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.wait_until_connected()
        person.page.goto(f"{served.console}#/conformance/tools/greet")
        expect(person.page.locator("article h2")).to_have_text("greet")
        # Lists and tabs have one element in the tab order; arrow keys reach the others.
        wanted = person.page.evaluate(
            """() => [...document.querySelectorAll(
                "a[href], button, input, select, textarea, summary")]
                .filter((e) => e.tabIndex >= 0 && e.checkVisibility()).length"""
        )
        seen = set()
        for _ in range(wanted + 20):
            person.page.keyboard.press("Tab")
            seen.add(
                person.page.evaluate(
                    """() => {
                        const all = [...document.querySelectorAll("*")];
                        const outline = getComputedStyle(document.activeElement).outlineStyle;
                        return [all.indexOf(document.activeElement), outline].join(" ");
                    }"""
                )
            )
        assert len({each.split()[0] for each in seen}) >= wanted
        # A visible focus everywhere.
        bodies = {each for each in seen if each.endswith("none")}
        assert len(bodies) <= 1, bodies


def test_no_view_is_wider_than_a_narrow_window(browser: Browser, served: Served) -> None:
    with visit(browser, served.console, viewport={"width": 360, "height": 740}) as person:
        person.wait_until_connected()
        for view in VIEWS:
            person.page.goto(f"{served.console}#/conformance/{view}")
            expect(person.page.locator("main > *").nth(1)).to_be_visible()
            assert person.page.evaluate("document.documentElement.scrollWidth") <= 360, view


def test_the_files_are_small(capsys: pytest.CaptureFixture[str]) -> None:
    contents = [asset.read() for asset in find_assets().values()]
    files = sum(len(content.body) for content in contents)
    loaded = sum(len(content.compressed) for content in contents)
    with capsys.disabled():
        sys.stdout.write(
            f"\nconsole: {files / 1000:.1f} kB of files, {loaded / 1000:.1f} kB loaded\n"
        )
    assert files <= MAX_BYTES
