"""The official server-everything, a legacy server from npm, through `dovetail console`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_console
from tests.deep.console.browsing import Person, visit

MAIN = (
    Path(__file__).parents[5]
    / ".conformance/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
)
pytestmark = pytest.mark.skipif(
    not MAIN.exists() or shutil.which("node") is None,
    reason="needs node and server-everything: make conformance-setup",
)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_console("--", "node", str(MAIN), "stdio") as running:
        yield running


@pytest.fixture
def person(browser: Browser, served: Served) -> Iterator[Person]:
    with visit(browser, served.console) as visitor:
        visitor.use("2025-11-25")
        yield visitor


def test_a_tool_is_called(person: Person) -> None:
    call = person.run("echo", {"message": "Hello"})
    expect(call.locator("pre")).to_have_text("Echo: Hello")


def test_structured_content_is_a_tree(person: Person) -> None:
    person.choose("get-structured-content")
    person.field("location").select_option(index=1)
    person.press_run()
    expect(person.call.locator(".tree")).to_contain_text("temperature")


def test_a_picture_is_shown(person: Person) -> None:
    call = person.run("get-tiny-image")
    expect(call.locator("img")).to_be_visible()


def test_a_long_call_shows_progress(person: Person) -> None:
    call = person.run("trigger-long-running-operation", {"duration": "2", "steps": "4"})
    expect(call.locator("progress")).to_be_visible()
    expect(call).to_contain_text("completed")


def test_resource_links_lead_to_the_resource(person: Person) -> None:
    call = person.run("get-resource-links", {"count": "2"})
    call.get_by_role("link").first.click()
    expect(person.page.locator(".resource")).to_be_visible()


def test_elicitation_and_sampling_are_answered_by_hand(person: Person) -> None:
    call = person.run("trigger-sampling-request", {"prompt": "Say hi"})
    person.dialog.get_by_label("Your answer as the model").fill("Hi there")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call).to_contain_text("Hi there")
    person.choose("trigger-elicitation-request")
    person.press_run()
    asked = person.page.get_by_role("dialog").filter(has_text="Decline")
    asked.get_by_role("button", name="Decline").click()
    expect(person.call.locator(".badge").first).to_have_text("Done")


def test_prompts_are_completed(person: Person) -> None:
    person.page.get_by_role("link", name="Prompts").click()
    person.choose("completable-prompt")
    person.page.get_by_role("textbox", name="department").press_sequentially("E")
    expect(person.page.get_by_role("button", name="Engineering")).to_be_visible()


def test_a_resource_is_subscribed(person: Person) -> None:
    person.page.locator("nav.views").get_by_role("link", name="Resources").click()
    person.page.locator(".list-pane li a").first.click()
    expect(person.page.locator(".resource")).to_be_visible()
    person.press("Subscribe")
    expect(person.page.get_by_text("Live,")).to_be_visible()


def test_a_revision_that_it_does_not_have_is_refused_with_a_reason(person: Person) -> None:
    person.page.get_by_label("Protocol revision").select_option("2026-07-28")
    expect(person.page.locator("main .error-box").first).to_be_visible()
    person.page.get_by_label("Protocol revision").select_option("auto")
    person.wait_until_connected()
