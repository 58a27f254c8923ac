"""Resources (tabs, screenshots, logs) and prompts, with completions."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from dovetail.errors import RpcError
from tests.deep.browser.driving import BrowserHarness, desk


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk() as opened:
        opened.fetch("/log")
        yield opened


def test_the_tabs_are_a_resource(browser: BrowserHarness) -> None:
    [tab] = json.loads(browser.run(browser.client.read("browser://tabs")).text)["tabs"]
    assert tab["title"] == "Log" and tab["url"] == browser.url("/log")


def test_a_tab_has_a_screenshot_and_two_logs(browser: BrowserHarness) -> None:
    [blob] = browser.run(browser.client.read("browser://tab/t1/screenshot")).blobs
    assert blob.mime_type == "image/jpeg"
    console = json.loads(browser.run(browser.client.read("browser://tab/t1/console")).text)
    assert "take care" in [one["text"] for one in console["entries"]]
    network = json.loads(browser.run(browser.client.read("browser://tab/t1/network")).text)
    assert browser.url("/log") in [one["text"] for one in network["entries"]]


@pytest.mark.parametrize("uri", ["browser://tab/t99/screenshot", "browser://tab/t99/console"])
def test_unknown_resources_are_not_found(browser: BrowserHarness, uri: str) -> None:
    with pytest.raises(RpcError, match="no tab 't99'"):
        browser.run(browser.client.read(uri))
    with pytest.raises(RpcError, match="There is no session"):
        browser.run(browser.client.read(f"{uri}?session=s-0123456789abcdef"))


def test_the_prompts_name_tools_that_exist(browser: BrowserHarness) -> None:
    prompts = browser.run(browser.client.list_prompts())
    names = [one.name for one in prompts]
    assert names == ["scrape-page", "fill-form", "visual-audit", "authenticated-workflow"]
    tools = {one.name for one in browser.run(browser.client.list_tools())}
    given = {"url": "https://example.org/", "values": "Name: Ada"}
    for one in prompts:
        wanted = {argument.name for argument in one.arguments or [] if argument.required}
        arguments = {key: value for key, value in given.items() if key in wanted}
        got = browser.run(browser.client.get_prompt(one.name, arguments))
        text = str(got.messages[0].content)
        assert "fetch_webpage" in text and "https://example.org/" in text
        used = {word.strip(".,:;()") for word in text.replace("\n", " ").split()}
        assert {word for word in used if word in tools}


def test_addresses_and_tabs_are_completed(browser: BrowserHarness) -> None:
    complete = browser.client.complete
    assert browser.run(complete("scrape-page", "url", "127")).values == [browser.url("/log")]
    assert browser.run(complete("scrape-page", "selector", "ma")).values == ["main"]
    uri = "browser://tab/{id}/console{?session}"
    templates = browser.run(browser.client.list_templates())
    [template] = [one for one in templates if one.uri_template == uri]
    assert browser.run(complete(template, "id", "t")).values == ["t1"]
