"""Pages that misbehave: each is a clear error or a plain answer, and the server lives."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.driving import Desk, data_of, desk
from tests.browser.processes import descendants


@pytest.fixture(scope="module")
def browser() -> Iterator[Desk]:
    with desk("--enable-scripts") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _lives(browser: Desk) -> Iterator[None]:
    """After each test, whatever it did, the next page works."""
    yield
    browser.call("close_tab", all=True)
    assert browser.fetch("/")["status"] == 200


def test_dialogs_are_dismissed_and_reported(browser: Desk) -> None:
    browser.fetch("/dialogs")
    after = browser.good("click_element", selector="#alert", format="text")
    assert after["dialogs"] == [{"kind": "alert", "message": "Watch out", "answer": "dismissed"}]
    assert "alerted" in after["content"]
    after = browser.good("click_element", selector="#confirm", format="text")
    assert "confirmed false" in after["content"]


def test_the_next_dialog_is_answered_as_announced_and_only_that(browser: Desk) -> None:
    browser.fetch("/dialogs")
    assert browser.good("handle_dialog", accept=True, promptText="blue")["nextDialog"] == "accepted"
    after = browser.good("click_element", selector="#prompt", format="text")
    assert "prompted blue" in after["content"] and after["dialogs"][0]["answer"] == "accepted"
    after = browser.good("click_element", selector="#prompt", format="text")
    assert "prompted null" in after["content"]
    assert len(browser.good("handle_dialog", accept=False)["recent"]) == 2


def test_a_page_full_of_dialogs_is_closed(browser: Desk) -> None:
    tab = browser.fetch("/dialogs")["tabId"]
    browser.call("click_element", selector="#trap", returnHtml=False)
    text = browser.refused("get_current_html", tab=tab)
    assert "dialog after dialog" in text and "fetch_webpage" in text


def test_a_page_cannot_keep_its_reader(browser: Desk) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#leave", returnHtml=False)
    assert browser.fetch("/form")["title"] == "Order"


def test_permissions_are_denied_without_asking(browser: Desk) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#ask", returnHtml=False)
    assert browser.good("wait_for", text="denied 1")["met"]


def test_popups_become_tabs_and_are_named(browser: Desk) -> None:
    first = browser.fetch("/dialogs")["tabId"]
    after = browser.good("click_element", selector="#popup", returnHtml=False)
    [popup] = after["openedTabs"]
    assert browser.good("get_current_html", format="text")["tabId"] == first
    assert "300 litres" in browser.good("get_current_html", tab=popup, format="text")["content"]


def test_a_flood_of_popups_is_bounded(browser: Desk) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#flood", returnHtml=False)
    assert len(browser.good("manage_tabs", action="list")["tabs"]) <= 20


def test_redirects_in_a_circle_are_told(browser: Desk) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/round"))
    assert "redirects in a circle" in text and "Next steps:" in text


def test_a_page_that_moves_on_for_ever_is_given_up(browser: Desk) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/restless"), timeout=1500)
    assert "Next steps:" in text


def test_a_page_that_never_comes_is_given_up(browser: Desk) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/never"), timeout=500)
    assert "did not load within 0.5 s" in text and "larger timeout" in text


def test_a_page_that_never_ends_can_still_be_looked_at(browser: Desk) -> None:
    assert "did not load" in browser.refused(
        "fetch_webpage", url=browser.url("/endless"), timeout=1000
    )
    read = browser.good("get_current_html", format="text")
    assert "The beginning" in read["content"]


def test_an_answer_that_is_none_is_told(browser: Desk) -> None:
    assert "no answer that is HTTP" in browser.refused("fetch_webpage", url=browser.url("/garbage"))


def test_an_answer_that_breaks_off_is_told(browser: Desk) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/broken"), timeout=1000)
    assert "Next steps:" in text


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_an_answer_of_500_megabytes_is_cut(browser: Desk) -> None:
    result = browser.call("fetch_webpage", url=browser.url("/huge"), timeout=15000)
    assert result.is_error and "50,000,000 bytes" in result.text, result.text[:500]


@pytest.mark.slow
def test_a_page_whose_scripts_never_end_is_told_and_can_be_closed(browser: Desk) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#busy", returnHtml=False, postClickWait=0)
    assert "did not answer" in browser.refused("click_element", selector="#alert")
    assert browser.good("close_tab", all=True)["closed"]


def test_a_page_whose_process_crashes_is_told_and_can_be_opened_again(browser: Desk) -> None:
    tab = browser.fetch("/")["tabId"]
    for pid, line in descendants().items():
        if "--type=renderer" in line:
            os.kill(pid, signal.SIGKILL)

    async def is_gone() -> str:
        async with asyncio.timeout(10):
            while True:
                result = await browser.client.call("get_current_html", {"tab": tab})
                if result.is_error:
                    return result.text

    text = browser.run(is_gone())
    assert "crashed" in text and "Next steps:" in text
    assert browser.fetch("/")["tabId"] != tab


def test_a_browser_that_dies_is_started_again(browser: Desk) -> None:
    tab = browser.fetch("/")["tabId"]
    # The one without a type is the browser itself; the others are its helpers.
    for pid, line in descendants().items():
        if "/chromium" in line and "--type=" not in line and "launcher.py" not in line:
            os.kill(pid, signal.SIGKILL)

    async def is_back() -> dict[str, Any]:
        async with asyncio.timeout(15):
            while True:
                result = await browser.client.call("fetch_webpage", {"url": browser.url("/form")})
                if not result.is_error:
                    return data_of(result)

    page = browser.run(is_back())
    assert page["title"] == "Order" and page["tabId"] != tab
    assert "with the browser" in browser.refused("get_current_html", tab=tab)


def test_a_navigation_stops_when_its_call_is_cancelled(browser: Desk) -> None:
    async def run() -> dict[str, Any]:
        call = browser.client.call("fetch_webpage", {"url": browser.url("/slow?ms=8000")})
        waiting = asyncio.ensure_future(call)
        async with asyncio.timeout(10):
            while not any(path.startswith("/slow") for path in browser.site.seen):
                await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        # The tab is free at once, and not taken away by the page that was given up.
        page = data_of(await browser.client.call("fetch_webpage", {"url": browser.url("/form")}))
        return page

    assert browser.run(run())["title"] == "Order"


def test_slow_pages_are_heard_of(browser: Desk) -> None:
    heard: list[str] = []
    arguments = {"url": browser.url("/slow?ms=1500"), "format": "text"}
    call = browser.client.call(
        "fetch_webpage", arguments, progress=lambda told: heard.append(told.message or "")
    )
    assert "Here at last" in data_of(browser.run(call))["content"]
    assert heard and "Loading 127.0.0.1" in heard[0]


def test_calls_on_one_tab_wait_for_each_other(browser: Desk) -> None:
    browser.fetch("/")

    async def run() -> list[str]:
        calls = [
            browser.client.call("click_element", {"selector": "#count", "format": "text"})
            for _ in range(5)
        ]
        results = [data_of(one)["content"] for one in await asyncio.gather(*calls)]
        return sorted(text.partition("Counted ")[2][:1] for text in results)

    assert browser.run(run()) == ["1", "2", "3", "4", "5"]


def test_a_status_that_is_an_error_is_shown_with_its_page(browser: Desk) -> None:
    page = browser.fetch("/no-such-page", format="text")
    assert page["status"] == 404 and "Nothing here" in page["content"]


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "chrome://version",
        "javascript:alert(1)",
        "data:text/html,hello",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://user:pass@example.org/",
        "about:blank",
    ],
)
def test_addresses_that_are_not_allowed_are_refused_before_a_tab_opens(
    browser: Desk, url: str
) -> None:
    before = browser.good("manage_tabs", action="list")["tabs"]
    text = browser.refused("fetch_webpage", url=url)
    assert "Next steps:" in text
    assert browser.good("manage_tabs", action="list")["tabs"] == before
