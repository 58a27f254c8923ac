"""What a model reads: settled pages, words that the page separates, errors with next steps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail_browser.hints import parameters_in, tools_in
from tests.deep.browser.official import OfficialClient, text_of
from tests.patience import CAP

# The wait of the first version, which took what was there after a second.
_LONGER_THAN_BEFORE = 1.3
# Element of the page -> what it says.
APART = {
    "nav": "Home Orders App",
    "#links": "One Two",
    "#wrapped": "Three Four",
    "#labels": "Size Colour",
    "#buttons": "Save Cancel",
    "#pills": "new cheap",
    "#margin": "Cart 3",
    "#word": "H2O and barrels, see this.",
    "#code": "ab",
}


@pytest.fixture(scope="module")
def client() -> Iterator[OfficialClient]:
    with OfficialClient("--enable-scripts", "--settle", "60") as opened:
        yield opened


async def release_when_asked(client: OfficialClient) -> None:
    """Let the held response go some time after the page has asked for it."""
    async with asyncio.timeout(CAP):
        while "/held" not in client.site.seen:
            await asyncio.sleep(0.01)
    await asyncio.sleep(_LONGER_THAN_BEFORE)
    client.site.released.set()


def test_a_page_is_read_when_its_slow_request_has_ended(client: OfficialClient) -> None:
    async def run() -> str:
        client.site.released.clear()
        client.site.seen.clear()
        url = client.url("/late?now&from=/held")
        page, _ = await asyncio.gather(
            client.ask("fetch_webpage", url=url, format="text"), release_when_asked(client)
        )
        assert page.structured_content is not None and "pending" not in page.structured_content
        return str(page.structured_content["content"])

    assert "Here at last" in client.run(run())


def test_the_effect_of_a_click_is_read_when_its_slow_request_has_ended(
    client: OfficialClient,
) -> None:
    client.good("fetch_webpage", url=client.url("/late?from=/held"))

    async def run() -> str:
        client.site.released.clear()
        client.site.seen.clear()
        page, _ = await asyncio.gather(
            client.ask("click_element", text="More", format="text"), release_when_asked(client)
        )
        assert page.structured_content is not None
        return str(page.structured_content["content"])

    assert "Here at last" in client.run(run())


def test_a_page_that_is_idle_reports_nothing(client: OfficialClient) -> None:
    assert "pending" not in client.good("fetch_webpage", url=client.url("/"))


def test_words_that_the_page_sets_apart_are_not_joined(client: OfficialClient) -> None:
    whole = client.good("fetch_webpage", url=client.url("/shop"), format="text")["content"]
    for selector, expected in APART.items():
        read = client.good("get_current_html", selector=selector, format="text")
        assert read["content"].strip() == expected, selector
        assert expected in whole
    marked = client.good("get_current_html", selector="nav", format="markdown")["content"]
    home, orders = client.url("/"), client.url("/form")
    assert marked == f"[Home]({home}) [Orders]({orders}) App"


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("fetch_webpage", {"url": "{site}/", "waitFor": "#nowhere", "timeout": 100}),
    ("fetch_webpage", {"url": "{site}/", "selector": "#nowhere"}),
    ("fetch_webpage", {"url": "ftp://example.org/"}),
    ("get_current_html", {"selector": "#nowhere"}),
    ("get_current_html", {"saveTo": "page.html"}),
    ("get_current_html", {"tab": "t99"}),
    ("get_current_html", {"url": "https://example.org/"}),
    ("page_snapshot", {"selector": "#nowhere"}),
    ("click_element", {}),
    ("click_element", {"text": "Nowhere"}),
    ("click_element", {"ref": "nothing like a ref"}),
    ("click_element", {"selector": ".twin"}),
    ("click_element", {"selector": "#off"}),
    ("click_element", {"selector": "bad[["}),
    ("type_text", {"selector": "#count", "text": "x"}),
    ("type_text", {"text": "x"}),
    ("type_text", {"selector": "#count"}),
    ("type_text", {"selector": "#count", "secret": "NONE"}),
    ("fill_form", {"fields": [{"label": "Nowhere", "value": "x"}]}),
    ("fill_form", {"fields": [{"value": "x"}]}),
    ("interact", {"action": "hover"}),
    ("interact", {"action": "key"}),
    ("interact", {"action": "key", "keys": "Nokey"}),
    ("interact", {"action": "drag", "selector": "#count"}),
    ("interact", {"action": "select", "selector": "#count", "option": "x"}),
    ("interact", {"action": "click", "label": "Nowhere"}),
    ("wait_for", {}),
    ("take_screenshot", {"ref": "e1", "selector": "#count"}),
    ("take_screenshot", {"selector": "#nowhere"}),
    ("take_screenshot", {"format": "pdf", "fullPage": True}),
    ("get_page_log", {"id": 999_999}),
    ("manage_tabs", {"action": "select"}),
    ("close_tab", {}),
    ("evaluate_script", {"expression": "nonsense"}),
    ("evaluate_script", {"expression": "e => 1", "selector": "#nowhere"}),
    ("handle_dialog", {"accept": True, "tab": "t99"}),
]


def test_errors_have_structured_next_steps_that_fit_the_tool(client: OfficialClient) -> None:
    listed = client.run(client.session.list_tools()).tools
    schemas = {
        tool.name: {
            name
            for schema in (tool.input_schema, *tool.input_schema.get("$defs", {}).values())
            for name in schema["properties"]
        }
        for tool in listed
    }
    # Not listed, but callable.
    schemas["page_snapshot"] = schemas["handle_dialog"] = schemas["get_current_html"]
    for tool in ("get_current_html", "type_text"):
        schemas[tool] |= {"saveTo", "secret"}
    client.good("fetch_webpage", url=client.url("/"))
    for name, arguments in WRONG:
        given = {
            key: value.format(site=client.site.url) if isinstance(value, str) else value
            for key, value in arguments.items()
        }
        result = client.call(name, **given)
        assert result.is_error, (name, given)
        failed = result.structured_content
        assert failed is not None and failed["nextSteps"], (name, given)
        if name == "fill_form":
            assert failed["failed"] == 1
            continue
        assert failed["success"] is False
        assert json.loads(text_of(result)) == failed
        for step in failed["nextSteps"]:
            named = tools_in(step) or [name]
            owned = set().union(*(schemas[one] for one in named))
            assert owned.issuperset(parameters_in(step)), (name, given, step)
