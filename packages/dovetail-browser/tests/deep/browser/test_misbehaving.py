"""Pages that misbehave: each gives a clear error or a normal result, and the server survives."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from tests.deep.browser.driving import BrowserHarness, data_of, desk
from tests.deep.browser.processes import descendants
from tests.patience import CAP, wait_until


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk("--enable-scripts", "--settle", "1") as opened:
        yield opened


@pytest.fixture(autouse=True)
def _lives(browser: BrowserHarness) -> Iterator[None]:
    """After each test, the next page still works. Tabs are reused: each new one is a process."""
    yield
    for tab in browser.good("manage_tabs", action="list")["tabs"][1:]:
        browser.call("close_tab", tab=tab["id"])
    assert browser.fetch("/")["status"] == 200


def test_dialogs_are_dismissed_and_reported(browser: BrowserHarness) -> None:
    browser.fetch("/dialogs")
    after = browser.good("click_element", selector="#alert", format="text")
    assert after["dialogs"] == [{"kind": "alert", "message": "Watch out", "answer": "dismissed"}]
    assert "alerted" in after["content"]
    after = browser.good("click_element", selector="#confirm", format="text")
    assert "confirmed false" in after["content"]


def test_handle_dialog_applies_to_the_next_dialog_only(browser: BrowserHarness) -> None:
    browser.fetch("/dialogs")
    assert browser.good("handle_dialog", accept=True, promptText="blue")["nextDialog"] == "accepted"
    after = browser.good("click_element", selector="#prompt", format="text")
    assert "prompted blue" in after["content"] and after["dialogs"][0]["answer"] == "accepted"
    after = browser.good("click_element", selector="#prompt", format="text")
    assert "prompted null" in after["content"]
    recent = browser.good("handle_dialog", accept=False)["recent"]
    assert [one["answer"] for one in recent[-2:]] == ["accepted", "dismissed"]


def test_a_page_with_too_many_dialogs_is_closed(browser: BrowserHarness) -> None:
    tab = browser.fetch("/dialogs")["tabId"]
    browser.call("click_element", selector="#trap", returnHtml=False)
    text = browser.refused("get_current_html", tab=tab)
    assert "too many dialogs" in text and "fetch_webpage" in text


def test_a_page_cannot_prevent_navigation(browser: BrowserHarness) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#leave", returnHtml=False)
    assert browser.fetch("/form")["title"] == "Order"


def test_permissions_are_denied_without_asking(browser: BrowserHarness) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#ask", returnHtml=False)
    assert browser.good("wait_for", text="denied 1")["met"]


def test_popups_become_tabs_and_are_reported(browser: BrowserHarness) -> None:
    first = browser.fetch("/dialogs")["tabId"]
    after = browser.good("click_element", selector="#popup", returnHtml=False)
    [popup] = after["openedTabs"]
    assert browser.good("get_current_html", format="text")["tabId"] == first
    assert "300 litres" in browser.good("get_current_html", tab=popup, format="text")["content"]


def test_the_number_of_popups_is_limited(browser: BrowserHarness) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#flood", returnHtml=False)
    assert len(browser.good("manage_tabs", action="list")["tabs"]) <= 20


def test_a_redirect_loop_is_reported(browser: BrowserHarness) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/round"))
    assert "redirects in a loop" in text and "Next steps:" in text


def test_a_page_that_redirects_endlessly_is_an_error(browser: BrowserHarness) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/restless"), timeout=1500)
    assert "Next steps:" in text


def test_a_page_that_never_responds_times_out(browser: BrowserHarness) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/never"), timeout=500)
    assert "did not load within 0.5 s" in text and "larger `timeout`" in text


def test_a_page_in_a_new_tab_that_does_not_load_is_explained(browser: BrowserHarness) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/never"), timeout=500, newTab=True)
    assert "did not load within 0.5 s" in text


def test_a_page_that_never_finishes_can_be_read(browser: BrowserHarness) -> None:
    for timeout in (1_000, 10_000, 100_000):
        text = browser.refused("fetch_webpage", url=browser.url("/endless"), timeout=timeout)
        assert "did not load" in text
        read = browser.good("get_current_html", format="text")
        # A slow machine needs more time for the beginning.
        if "The beginning" in read["content"]:
            return
    pytest.fail(read["content"])


def test_a_request_that_does_not_end_is_reported_once(browser: BrowserHarness) -> None:
    page = browser.fetch("/late?now&from=/never", format="text")
    assert page["pending"][0].startswith(f"GET {browser.url('/never')} (fetch, ")
    assert "Loading" in page["content"]
    assert page["nextSteps"][0].startswith("wait_for with `text`, `selector` or `networkIdle`")
    # The next action does not wait for the same request.
    after = browser.good("interact", action="scroll", deltaY=10)
    assert "/never" not in str(after.get("pending"))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("setInterval(() => document.body.append('.'), 5)", "the document was still changing"),
        ("document.body.ariaBusy = 'true'", "an element was marked as busy (aria-busy)"),
    ],
)
def test_a_document_that_does_not_settle_is_reported(
    browser: BrowserHarness, script: str, expected: str
) -> None:
    page = browser.fetch(f"/script?do={quote(script)}")
    # On a slow machine, the page does not respond in time.
    assert page["pending"][-1] in (expected, "the scripts of the page did not respond")


def test_a_given_pause_reports_what_is_pending(browser: BrowserHarness) -> None:
    page = browser.fetch("/late?now&from=/never", postLoadWait=300)
    assert [one for one in page["pending"] if "/never" in one]


def test_an_invalid_response_is_reported(browser: BrowserHarness) -> None:
    assert "not send a valid HTTP response" in browser.refused(
        "fetch_webpage", url=browser.url("/garbage")
    )


def test_an_incomplete_response_is_reported(browser: BrowserHarness) -> None:
    text = browser.refused("fetch_webpage", url=browser.url("/broken"), timeout=1000)
    assert "Next steps:" in text


@pytest.mark.slow
def test_a_response_of_500_megabytes_is_cut_off(browser: BrowserHarness) -> None:
    result = browser.call("fetch_webpage", url=browser.url("/huge"), timeout=120_000)
    assert result.is_error and "50,000,000 bytes" in result.text, result.text[:500]


@pytest.mark.slow
def test_a_page_with_an_endless_script_is_reported_and_can_be_closed(
    browser: BrowserHarness,
) -> None:
    browser.fetch("/dialogs")
    browser.good("click_element", selector="#busy", returnHtml=False, postClickWait=0)
    assert "did not respond" in browser.refused("click_element", selector="#alert")
    assert browser.good("close_tab", all=True)["closed"]


ENDLESS = "/script?do=while(true)%3B"


def test_a_page_whose_scripts_never_end_is_replaced(browser: BrowserHarness) -> None:
    first = browser.fetch("/")["tabId"]
    text = browser.refused("fetch_webpage", url=browser.url(ENDLESS), timeout=1000)
    assert f"tab {first} does not respond" in text and f"`action=close` and `tab={first}`" in text
    second = browser.fetch("/")["tabId"]
    assert second != first
    assert "its scripts did not end" in browser.refused("get_current_html", tab=first)
    # Also for a tab that is named.
    browser.refused("fetch_webpage", url=browser.url(ENDLESS), timeout=1000, tab=second)
    assert browser.good("close_tab", tab=second)["closed"] == [second]
    assert browser.fetch("/")["status"] == 200


def fetch_again(browser: BrowserHarness, path: str) -> dict[str, Any]:
    """Fetch a page, once the killed process has been replaced."""
    result = wait_until(
        lambda: (
            None
            if (found := browser.call("fetch_webpage", url=browser.url(path))).is_error
            else found
        )
    )
    assert result is not None
    return data_of(result)


def test_a_crashed_page_is_reported_and_can_be_opened_again(browser: BrowserHarness) -> None:
    tab = browser.fetch("/")["tabId"]
    for pid, line in descendants().items():
        if "--type=renderer" in line:
            os.kill(pid, signal.SIGKILL)

    async def is_gone() -> str:
        async with asyncio.timeout(CAP):
            while True:
                result = await browser.client.call("get_current_html", {"tab": tab})
                if result.is_error:
                    return result.text

    text = browser.run(is_gone())
    assert "crashed" in text and "nextSteps" in text
    assert fetch_again(browser, "/")["tabId"] != tab


def test_a_tab_that_does_not_open_is_reported(browser: BrowserHarness) -> None:
    browser.fetch("/")
    stopped = [pid for pid, line in descendants().items() if "--type=renderer" in line]
    try:
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        refusal = browser.refused("fetch_webpage", url=browser.url("/"), newTab=True)
        assert "did not open a tab" in refusal and "Next steps:" in refusal
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)


def test_a_killed_browser_is_restarted(browser: BrowserHarness) -> None:
    tab = browser.fetch("/")["tabId"]
    # The one without a type is the browser itself; the others are its helpers.
    for pid, line in descendants().items():
        if "/chromium" in line and "--type=" not in line and "launcher.py" not in line:
            os.kill(pid, signal.SIGKILL)

    page = fetch_again(browser, "/form")
    assert page["title"] == "Order" and page["tabId"] != tab
    assert "with the browser" in browser.refused("get_current_html", tab=tab)


def test_a_navigation_stops_when_its_call_is_cancelled(browser: BrowserHarness) -> None:
    async def run() -> dict[str, Any]:
        call = browser.client.call("fetch_webpage", {"url": browser.url("/slow?ms=8000")})
        waiting = asyncio.ensure_future(call)
        async with asyncio.timeout(CAP):
            while not any(path.startswith("/slow") for path in browser.site.seen):
                await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        # The tab is usable at once, and the cancelled navigation does not replace its page.
        page = data_of(await browser.client.call("fetch_webpage", {"url": browser.url("/form")}))
        return page

    assert browser.run(run())["title"] == "Order"


def test_slow_pages_send_progress(browser: BrowserHarness) -> None:
    heard: list[str] = []
    browser.site.released.clear()

    def hear(progress: Any) -> None:
        heard.append(progress.message or "")
        browser.site.released.set()

    arguments = {"url": browser.url("/held"), "format": "text"}
    call = browser.client.call("fetch_webpage", arguments, progress=hear)
    assert "Here at last" in data_of(browser.run(call))["content"]
    assert heard and "Loading 127.0.0.1" in heard[0]


def test_calls_on_one_tab_run_one_after_the_other(browser: BrowserHarness) -> None:
    browser.fetch("/")

    async def run() -> list[str]:
        calls = [
            browser.client.call("click_element", {"selector": "#count", "format": "text"})
            for _ in range(5)
        ]
        results = [data_of(one)["content"] for one in await asyncio.gather(*calls)]
        return sorted(text.partition("Counted ")[2][:1] for text in results)

    assert browser.run(run()) == ["1", "2", "3", "4", "5"]


def test_an_error_status_is_returned_with_its_page(browser: BrowserHarness) -> None:
    page = browser.fetch("/no-such-page", format="text")
    assert page["status"] == 404 and "Nothing here" in page["content"]


def test_refused_urls_open_no_tab(browser: BrowserHarness) -> None:
    before = browser.good("manage_tabs", action="list")["tabs"]
    for url in (
        "file:///etc/passwd",
        "chrome://version",
        "javascript:alert(1)",
        "data:text/html,hello",
        "http://169.254.169.254/latest/meta-data/",
        "http://10.0.0.1/",
        "http://user:pass@example.org/",
        "about:blank",
    ):
        assert "Next steps:" in browser.refused("fetch_webpage", url=url), url
        assert browser.good("manage_tabs", action="list")["tabs"] == before, url
