"""Which element is meant: found at once in frames and shadow roots, or an error that leads on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.driving import Desk, desk

# Far below any time-out of the browser, far above what a look takes.
_AT_ONCE = 5.0


@pytest.fixture(scope="module")
def browser() -> Iterator[Desk]:
    with desk() as opened:
        yield opened


def refused_at_once(browser: Desk, tool: str, **arguments: Any) -> str:
    begun = time.monotonic()
    text = browser.refused(tool, **arguments)
    assert time.monotonic() - begun < _AT_ONCE
    return text


def test_an_absent_target_is_told_with_the_nearest_there_are(browser: Desk) -> None:
    browser.fetch("/")
    text = refused_at_once(browser, "click_element", text="Cuont")
    assert "button 'Count': selector '#count'" in text and "Next steps:" in text
    text = refused_at_once(browser, "click_element", selector="#cuont")
    assert "'#count'" in text
    text = refused_at_once(browser, "click_element", role="button", name="Counting")
    assert "'#count'" in text


def test_an_ambiguous_target_names_its_candidates_and_they_work(browser: Desk) -> None:
    browser.fetch("/")
    for target in ({"selector": ".twin"}, {"text": "Twin"}, {"role": "button", "name": "Twin"}):
        text = refused_at_once(browser, "click_element", **target)
        assert "fits 2 elements" in text
        [one, other] = re.findall(r": selector '([^']+)'", text)
        assert one != other
        browser.good("click_element", selector=other, returnHtml=False)
    browser.good("click_element", selector=".twin >> nth=1", returnHtml=False)


def test_a_stale_ref_is_told_at_once(browser: Desk) -> None:
    browser.fetch("/")
    snapshot = browser.good("page_snapshot", find="Count")["content"]
    found = re.search(r'"Count".*\[ref=(\w+)\]', snapshot)
    assert found is not None
    browser.good("click_element", ref=found[1], returnHtml=False)
    browser.fetch("/form")
    text = refused_at_once(browser, "click_element", ref=found[1])
    assert "any more; the page has changed" in text and "page_snapshot" in text
    assert "No element has ref" in refused_at_once(browser, "click_element", ref="e99999")


def test_targets_are_found_in_frames_of_the_same_and_of_another_site(browser: Desk) -> None:
    browser.fetch("/frames")
    for who in ("near", "far"):
        clicked = browser.good("click_element", text=f"Press {who}", returnHtml=False)
        assert clicked["clicked"]["role"] == "button"
        browser.good("type_text", label=f"Field {who}", text="here", returnHtml=False)
    snapshot = browser.good("page_snapshot")["content"]
    assert "Pressed near" in snapshot and "Pressed far" in snapshot
    found = re.search(r'"Pressed far".*\[ref=(\w+)\]', snapshot)
    assert found is not None
    assert browser.good("click_element", ref=found[1])["clicked"]["name"] == "Pressed far"
    assert browser.good("get_current_html", format="text")["content"].count("Words of the") == 2


def test_targets_are_found_in_shadow_roots(browser: Desk) -> None:
    browser.fetch("/shadow")
    browser.good("type_text", selector="#deep", text="boo", returnHtml=False)
    after = browser.good("click_element", text="In the shadow", format="text")
    assert "Shadow said boo" in after["content"]


def test_what_cannot_be_used_is_told_at_once(browser: Desk) -> None:
    browser.fetch("/")
    assert "disabled" in refused_at_once(browser, "click_element", selector="#off")
    assert "cannot be typed into" in browser.refused("type_text", selector="#count", text="x")
    assert "not visible" in refused_at_once(browser, "click_element", selector="[hidden]")


def test_what_lies_over_an_element_is_named(browser: Desk) -> None:
    browser.fetch("/overlay")
    text = refused_at_once(browser, "click_element", selector="#below")
    assert "banner" in text and "lies over" in text
    browser.good("click_element", text="Accept", returnHtml=False)
    browser.good("click_element", selector="#below", returnHtml=False)


def test_an_element_that_comes_later_is_waited_for_only_when_asked(browser: Desk) -> None:
    browser.fetch("/spa", postLoadWait=0)
    found = browser.good(
        "click_element", selector=".item >> nth=0", waitForElementTimeout=5000, returnHtml=False
    )
    assert found["clicked"]["name"] == "Barrel 1a"
    assert "after 200 ms" in browser.refused(
        "click_element", text="Never", waitForElementTimeout=200
    )


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"selector": "#count", "text": "Count"},
        {"name": "Count"},
        {"ref": "e1", "role": "button"},
    ],
)
def test_a_target_is_named_in_one_way(browser: Desk, arguments: dict[str, str]) -> None:
    browser.fetch("/")
    assert "in one way" in browser.refused("click_element", **arguments)


def test_a_selector_that_is_none_is_told(browser: Desk) -> None:
    browser.fetch("/")
    for selector in ("bad[[", "a >> xpath=///", "::nope"):
        text = refused_at_once(browser, "click_element", selector=selector)
        assert "cannot be read" in text or "No element" in text
    assert browser.call("get_current_html", selector="bad[[").is_error
    assert browser.call("page_snapshot", selector="#nowhere").is_error
    assert browser.call("fetch_webpage", url=browser.url("/"), selector="#nowhere").is_error
