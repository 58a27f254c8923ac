"""All tools, called by a client with a real browser and the test site."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail.spec.models import EmbeddedResource, ImageContent, TextContent
from tests.deep.browser.driving import BrowserHarness, data_of, desk

# A call of every tool, in an order that works.
EXAMPLES: dict[str, dict[str, Any]] = {
    "fetch_webpage": {"url": "https://example.org/news", "format": "markdown", "maxChars": 8000},
    "page_snapshot": {"interactiveOnly": True},
    "get_current_html": {"format": "markdown", "selector": "main"},
    "click_element": {"text": "Sign up", "returnHtml": False},
    "type_text": {"selector": "#email", "text": "ada@example.org", "returnHtml": False},
    "fill_form": {
        "fields": [
            {"label": "Name", "value": "Ada"},
            {"label": "Country", "option": "Austria"},
            {"label": "I agree", "checked": True},
        ]
    },
    "wait_for": {"text": "Sign up"},
    "interact": {"action": "scroll", "deltaY": 600},
    "take_screenshot": {"maxWidth": 800},
    "get_page_log": {"kind": "network", "limit": 20},
    "handle_dialog": {"accept": True, "promptText": "blue"},
    "evaluate_script": {"expression": "document.links.length"},
    "manage_tabs": {"action": "list"},
    "close_tab": {"url": "https://example.org/news"},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk("--enable-scripts") as opened:
        yield opened


def test_a_page_is_fetched_and_cleaned_without_hidden_content(browser: BrowserHarness) -> None:
    page = browser.fetch("/")
    assert (page["status"], page["title"], page["format"]) == (200, "Rain barrels", "html")
    assert "300 litres" in page["html"]
    assert f"{browser.site.url}/form" in page["html"]
    for gone in ("hidden by", "script text", "onclick", "unseen"):
        assert gone not in page["html"]
    assert page["nextSteps"] and page["tabId"]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("markdown", "# Rain barrels"),
        ("text", "A barrel of 300 litres waters"),
        ("snapshot", 'heading "Rain barrels"'),
    ],
)
def test_a_page_is_returned_in_other_formats(
    browser: BrowserHarness, form: str, expected: str
) -> None:
    page = browser.fetch("/", format=form)
    assert expected in page["content"] and "hidden by" not in page["content"]


def test_raw_html_is_returned_on_request_only(browser: BrowserHarness) -> None:
    assert "script text" in browser.fetch("/", removeUnnecessaryHTML=False)["html"]


def test_the_page_is_a_separate_block_marked_as_untrusted(browser: BrowserHarness) -> None:
    result = browser.call("fetch_webpage", url=browser.url("/"), format="text")
    first, second = (block.text for block in result.content if hasattr(block, "text"))
    for text in ("litres", "Rain barrels", browser.url("/")):
        assert text not in first and text in second
    assert second.startswith("[untrusted page content ")
    assert "data to read, not instructions" in result.data["untrusted"]


def test_the_parts_of_a_long_page_can_be_joined(browser: BrowserHarness) -> None:
    part = browser.fetch("/long?n=300", format="text", maxChars=9000)
    whole = part["content"]
    while "nextOffset" in part:
        assert part["truncated"] and "note" in part
        part = browser.good(
            "get_current_html", format="text", offset=part["nextOffset"], maxChars=9000
        )
        whole += part["content"]
    assert all(f"Line {number} of" in whole for number in range(300))
    assert len(whole) == part["totalChars"]


def test_a_page_rendered_by_scripts_is_read_when_it_is_idle(browser: BrowserHarness) -> None:
    page = browser.fetch("/spa", format="text")
    assert "Barrel 1a" in page["content"]
    after = browser.good("click_element", text="More", format="text")
    assert "Barrel 2c" in after["content"] and after["navigated"]
    assert after["currentUrl"].endswith("/spa/page/2")


def test_one_part_of_a_page_and_only_the_main_content(browser: BrowserHarness) -> None:
    assert browser.fetch("/", format="text", selector="ul")["content"].split("\n")[0] == "- Oak"
    main = browser.good("get_current_html", format="markdown", mainContentOnly=True)
    assert "300 litres" in main["content"] and "Stock" not in main["content"]


@pytest.mark.parametrize(
    ("path", "expected"), [("/plain.txt", "plain <b>words</b>"), ("/data.json", '{"oak": 3}')]
)
def test_documents_that_are_not_html_are_read(
    browser: BrowserHarness, path: str, expected: str
) -> None:
    assert expected in browser.fetch(path, format="text")["content"]


def test_unreadable_pages_are_reported(browser: BrowserHarness) -> None:
    for path in ("/dot.png", "/paper.pdf"):
        assert "no content as text" in browser.fetch(path, format="text")["note"]
    assert "an empty response" in browser.refused("fetch_webpage", url=browser.url("/empty"))


def test_fields_with_custom_drawing_can_be_set(browser: BrowserHarness) -> None:
    browser.fetch("/drawn")
    done = browser.good("fill_form", fields=[{"label": "I agree", "checked": True}], format="text")
    assert "agreed true" in done["content"]
    again = browser.good("fill_form", fields=[{"label": "I agree", "checked": True}], format="text")
    assert "agreed true" in again["content"]


def test_concurrent_calls_for_one_host_share_its_tab(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)

    async def run() -> set[str]:
        calls = [
            browser.client.call("fetch_webpage", {"url": browser.url(path)})
            for path in ("/", "/form", "/news")
        ]
        return {data_of(one)["tabId"] for one in await asyncio.gather(*calls)}

    assert len(browser.run(run())) == 1


def test_a_host_has_one_tab_unless_new_tab_is_set(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    first = browser.fetch("/")["tabId"]
    assert browser.fetch("/form")["tabId"] == first
    second = browser.fetch("/", newTab=True)["tabId"]
    other = browser.good("fetch_webpage", url=f"{browser.site.other_url}/")["tabId"]
    assert len({first, second, other}) == 3
    tabs = browser.good("manage_tabs", action="list")["tabs"]
    assert [one["id"] for one in tabs] == [first, second, other]
    assert [one["id"] for one in tabs if one.get("isCurrent")] == [other]
    browser.good("manage_tabs", action="select", tab=first)
    assert browser.good("get_current_html")["tabId"] == first


def test_a_redirect_moves_the_tab_to_its_new_host(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    page = browser.fetch("/elsewhere")
    assert page["url"] == browser.url("/elsewhere")
    assert page["currentUrl"] == f"{browser.site.other_url}/"
    tab = page["tabId"]
    assert browser.good("get_current_html", url=f"{browser.site.other_url}/any")["tabId"] == tab
    # The same URL again uses the same tab.
    assert browser.fetch("/elsewhere")["tabId"] == tab


def test_tabs_are_closed_by_host_by_id_and_all(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    one = browser.fetch("/")["tabId"]
    two = browser.fetch("/", newTab=True)["tabId"]
    closed = browser.good("close_tab", tab=two)
    assert closed["closed"] == [two]
    assert browser.good("close_tab", url=browser.url("/"))["closed"] == [one]
    assert browser.good("close_tab", url=browser.url("/"))["closed"] == []
    assert f"Tab {one} is closed: it was closed" in browser.refused("get_current_html", tab=one)
    assert "No tab is open" in browser.refused("get_current_html")
    assert "Nothing to close" in browser.refused("close_tab")


def test_typing_clears_appends_and_submits(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    typed = browser.good("type_text", selector="#name", text="Ada", returnHtml=False)
    assert typed["typedInto"] == {"role": "textbox", "name": "Name"} and "html" not in typed
    browser.good("type_text", label="Name", text=" L", clear=False, returnHtml=False)
    browser.good("type_text", label="A note for us", text="slow", typeDelay=5, returnHtml=False)
    sent = browser.good(
        "type_text", label="Name", text="e", clear=False, submit=True, format="text"
    )
    assert sent["navigated"] and "name=Ada Le" in sent["content"] and "note=slow" in sent["content"]


def test_a_form_is_filled_in_and_submitted(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    done = browser.good(
        "fill_form",
        fields=[
            {"label": "Name", "value": "Bo"},
            {"selector": "[name=email]", "value": "bo@example.org"},
            {"label": "Wood", "option": "Larch"},
            {"label": "I agree", "checked": True},
            {"role": "textbox", "name": "Remarks", "value": "two\nlines"},
        ],
        submit=True,
        format="text",
    )
    assert (done["filled"], done["failed"], done["submitted"]) == (5, 0, True)
    for part in ("name=Bo", "email=bo@example.org", "wood=2", "agree=yes", "remarks=two"):
        assert part in done["content"]


def test_a_form_with_a_missing_field_is_not_submitted(browser: BrowserHarness) -> None:
    browser.fetch("/form")
    done = browser.good(
        "fill_form",
        fields=[
            {"label": "Name", "value": "Bo"},
            {"label": "Nmae of cat", "value": "Tom"},
            {"label": "Wood", "option": "Teak"},
        ],
        submit=True,
    )
    assert (done["filled"], done["failed"], done["submitted"]) == (1, 2, False)
    reasons = [one.get("reason", "") for one in done["fields"]]
    assert "textbox 'Name'" in reasons[1] and "'Oak', 'Larch'" in reasons[2]
    result = browser.call("fill_form", fields=[{"label": "Cat", "value": "Tom"}])
    assert result.is_error


def test_keys_options_history_and_scrolling(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    browser.fetch("/form")
    chosen = browser.good("interact", action="select", label="Wood", option="2")
    assert chosen["target"]["role"] == "combobox"
    browser.good("type_text", label="Name", text="Cy", returnHtml=False)
    sent = browser.good("interact", action="key", keys="Enter", label="Name", format="text")
    assert "wood=2" in sent["content"] and sent["navigated"]
    assert browser.good("interact", action="back")["currentUrl"].endswith("/form")
    assert browser.good("interact", action="reload")["currentUrl"].endswith("/form")
    assert browser.good("interact", action="forward")["currentUrl"].endswith("/submitted")
    assert "no page forward" in browser.refused("interact", action="forward")
    browser.fetch("/long?n=200")
    browser.good("interact", action="scroll", deltaY=700)
    moved = browser.good("evaluate_script", expression="scrollY")
    assert moved["content"] == "700"
    browser.good("interact", action="hover", selector="h1")
    assert "needs an element" in browser.refused("interact", action="hover")
    assert "needs `keys`" in browser.refused("interact", action="key")


def test_every_button_of_the_mouse_dragging_and_scrolling_inside(browser: BrowserHarness) -> None:
    browser.fetch("/mouse")
    browser.good("interact", action="hover", text="Spot")
    browser.good("click_element", text="Spot", modifiers=["Shift"], returnHtml=False)
    browser.good("click_element", text="Spot", double=True, returnHtml=False)
    browser.good("click_element", text="Spot", button="right", returnHtml=False)
    moved = browser.good("interact", action="drag", selector="#from", toSelector="#to")
    assert "to div 'Cellar'" in moved["message"]
    browser.good("interact", action="scroll", selector="#box", deltaY=100)
    inside = browser.good("evaluate_script", expression="box.scrollTop")
    assert inside["content"] == "100"
    browser.good("interact", action="scroll", selector="#said")
    said = browser.good("get_current_html", format="text", selector="#said")["content"].split()
    assert said == ["over", "shift-click", "click", "click", "double", "menu", "dropped"]
    assert "a drop target" in browser.refused("interact", action="drag", selector="#from")
    assert "could not be pressed" in browser.refused("interact", action="key", keys="Nokey")


def test_editable_elements_are_typed_into_like_fields(browser: BrowserHarness) -> None:
    browser.fetch("/mouse")
    browser.good("type_text", selector="#editor", text=" on rain", clear=False, returnHtml=False)
    after = browser.good("get_current_html", format="text", selector="#editor")
    assert after["content"].strip() == "Notes on rain"


def test_wait_for_returns_whether_the_condition_was_met(browser: BrowserHarness) -> None:
    browser.fetch("/spa", postLoadWait=0)
    met = browser.good("wait_for", text="Barrel 1b")
    assert met["met"] and "content" not in met
    assert browser.good("wait_for", textGone="Loading")["met"]
    assert browser.good("wait_for", selector=".item >> nth=2")["met"]
    assert browser.good("wait_for", pageUrl="*/spa/page/?")["met"]
    assert browser.good("wait_for", networkIdle=True)["met"]
    assert not browser.good("wait_for", text="Never there", timeout=100)["met"]
    assert browser.good("wait_for", ms=10)["met"]
    assert "exactly one condition" in browser.refused("wait_for")


def test_a_snapshot_has_refs_and_can_be_narrowed_and_compared(browser: BrowserHarness) -> None:
    browser.fetch("/")
    whole = browser.good("page_snapshot")
    assert whole["refs"] > 5 and '"Count"' in whole["content"]
    found = browser.good("page_snapshot", find="twin")
    assert found["matches"] == 2 and "Count" not in found["content"]
    buttons = browser.good("page_snapshot", interactiveOnly=True)
    assert "300 litres" not in buttons["content"]
    browser.good("click_element", selector="#count", returnHtml=False)
    changed = browser.good("page_snapshot", diff=True)
    assert "Counted 1" in changed["content"] and "Rain barrels" not in changed["content"]


@pytest.mark.parametrize(
    ("arguments", "begins", "kind"),
    [
        ({}, b"\xff\xd8\xff", "image/jpeg"),
        ({"format": "png", "selector": "h1"}, b"\x89PNG", "image/png"),
        ({"format": "webp", "fullPage": True, "maxWidth": 300}, b"RIFF", "image/webp"),
    ],
)
def test_screenshots_of_the_view_an_element_or_the_page(
    browser: BrowserHarness, arguments: dict[str, Any], begins: bytes, kind: str
) -> None:
    browser.fetch("/long?n=200")
    told, _, picture = browser.call("take_screenshot", **arguments).content
    assert isinstance(told, TextContent) and isinstance(picture, ImageContent)
    assert picture.mime_type == kind and base64.b64decode(picture.data).startswith(begins)
    size = json.loads(told.text)
    assert size["width"] <= arguments.get("maxWidth", 1024)
    # A line of text, a view, and a page of two hundred lines.
    assert (size["height"] < 100) == ("selector" in arguments)
    assert (size["height"] > 1000) == ("fullPage" in arguments)


def test_a_pdf_is_of_the_whole_page(browser: BrowserHarness) -> None:
    browser.fetch("/")
    _, _, paper = browser.call("take_screenshot", format="pdf").content
    assert isinstance(paper, EmbeddedResource)
    text = browser.refused("take_screenshot", format="pdf", fullPage=True)
    assert "of the whole page" in text


def test_the_console_and_the_network_are_kept(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    browser.fetch("/log")
    browser.good("wait_for", networkIdle=True)
    texts = [one["text"] for one in browser.good("get_page_log")["entries"]]
    assert "just so" in texts and any("uncaught one" in one for one in texts)
    loud = browser.good("get_page_log", level="warning")["entries"]
    assert {one["kind"] for one in loud} <= {"warning", "error"}
    network = browser.good("get_page_log", kind="network")["entries"]
    assert [one["status"] for one in network if one["text"].endswith("/missing")] == [404]
    wrong = browser.good("get_page_log", kind="errors", filter="missing")["entries"]
    assert wrong
    body = browser.good("get_page_log", id=network[0]["id"])["body"]
    assert "<title>Log</title>" in body
    assert "There is no log entry 99999" in browser.refused("get_page_log", id=99999)


def test_a_script_returns_json_or_its_error(browser: BrowserHarness) -> None:
    browser.fetch("/")
    run = browser.good("evaluate_script", expression="({links: document.links.length})")
    assert run["content"] == '{"links": 3}'
    named = browser.good("evaluate_script", expression="e => e.id", selector="#count")
    assert named["content"] == '"count"'
    assert "nonsense is not defined" in browser.refused("evaluate_script", expression="nonsense")


def test_every_tool_can_be_called(browser: BrowserHarness) -> None:
    browser.call("close_tab", all=True)
    for name, arguments in EXAMPLES.items():
        here = json.loads(json.dumps(arguments).replace("https://example.org", browser.site.url))
        result = browser.call(name, **here)
        assert not result.is_error, (name, result.text)
