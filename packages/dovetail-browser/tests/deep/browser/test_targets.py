"""Targets are found in frames and shadow roots at once, or the error lists candidates."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.deep.browser.driving import BrowserHarness, desk


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk() as opened:
        yield opened


def test_a_missing_target_lists_the_closest_matches(browser: BrowserHarness) -> None:
    browser.fetch("/")
    text = browser.refused("click_element", text="Cuont")
    assert "button 'Count': selector '#count'" in text and "Next steps:" in text
    text = browser.refused("click_element", selector="#cuont")
    assert "'#count'" in text
    text = browser.refused("click_element", role="button", name="Counting")
    assert "'#count'" in text


def test_an_ambiguous_target_lists_selectors_that_work(browser: BrowserHarness) -> None:
    browser.fetch("/")
    for target in ({"selector": ".twin"}, {"text": "Twin"}, {"role": "button", "name": "Twin"}):
        text = browser.refused("click_element", **target)
        assert "matches 2 elements" in text
        [one, other] = re.findall(r": selector '([^']+)'", text)
        assert one != other
        browser.good("click_element", selector=other, returnHtml=False)
    browser.good("click_element", selector=".twin >> nth=1", returnHtml=False)


def test_a_stale_ref_fails_at_once(browser: BrowserHarness) -> None:
    browser.fetch("/")
    snapshot = browser.good("page_snapshot", find="Count")["content"]
    found = re.search(r'"Count".*\[ref=(\w+)\]', snapshot)
    assert found is not None
    browser.good("click_element", ref=found[1], returnHtml=False)
    browser.fetch("/form")
    text = browser.refused("click_element", ref=found[1])
    assert "; the page has changed" in text and "`format=snapshot`" in text
    assert "No element matches ref" in browser.refused("click_element", ref="e99999")


def test_targets_are_found_in_frames_of_the_same_and_of_another_site(
    browser: BrowserHarness,
) -> None:
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


def test_targets_are_found_in_shadow_roots(browser: BrowserHarness) -> None:
    browser.fetch("/shadow")
    browser.good("type_text", selector="#deep", text="boo", returnHtml=False)
    after = browser.good("click_element", text="In the shadow", format="text")
    assert "Shadow said boo" in after["content"]


def test_unusable_elements_fail_at_once(browser: BrowserHarness) -> None:
    browser.fetch("/")
    assert "disabled" in browser.refused("click_element", selector="#off")
    assert "cannot be typed into" in browser.refused("type_text", selector="#count", text="x")
    assert "not visible" in browser.refused("click_element", selector="[hidden]")


def test_a_covering_element_is_named(browser: BrowserHarness) -> None:
    browser.fetch("/overlay")
    text = browser.refused("click_element", selector="#below")
    assert "banner" in text and "covers the element" in text
    browser.good("click_element", text="Accept", returnHtml=False)
    browser.good("click_element", selector="#below", returnHtml=False)


def test_waiting_for_an_element_needs_a_timeout(browser: BrowserHarness) -> None:
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
def test_a_target_is_selected_in_exactly_one_way(
    browser: BrowserHarness, arguments: dict[str, str]
) -> None:
    browser.fetch("/")
    assert "in exactly one way" in browser.refused("click_element", **arguments)


def test_an_invalid_selector_is_reported(browser: BrowserHarness) -> None:
    browser.fetch("/")
    for selector in ("bad[[", "a >> xpath=///", "::nope"):
        text = browser.refused("click_element", selector=selector)
        assert "is not valid" in text or "No element" in text
    assert browser.call("get_current_html", selector="bad[[").is_error
    assert browser.call("page_snapshot", selector="#nowhere").is_error
    assert browser.call("fetch_webpage", url=browser.url("/"), selector="#nowhere").is_error
