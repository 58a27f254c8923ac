"""No result exceeds maxChars, for any page and any tool."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.driving import BrowserHarness, desk, sized

LEAST, MOST = 2_000, 80_000
FORMS = ("html", "markdown", "text", "snapshot")


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk("--enable-scripts") as opened:
        yield opened


def make_call(choose: random.Random, page: str) -> tuple[str, dict[str, Any]]:
    """Calls of tools with maxChars whose results are long."""
    form = choose.choice(FORMS)
    shared = {"maxChars": choose.choice([LEAST, LEAST + 1, choose.randint(LEAST, MOST), MOST])}
    offset = choose.choice([0, 0, choose.randint(0, 200_000)])
    clean = choose.random() < 0.7
    calls: list[tuple[str, dict[str, Any]]] = [
        ("fetch_webpage", {"url": page, "format": form, "offset": offset}),
        (
            "get_current_html",
            {"format": form, "offset": offset, "removeUnnecessaryHTML": clean},
        ),
        ("page_snapshot", {"offset": offset, "interactiveOnly": clean}),
        ("click_element", {"selector": "#b1", "format": form}),
        ("click_element", {"text": choose.choice(["Hostile", "B", "B7", "nothing like it"])}),
        ("type_text", {"selector": "input >> nth=1", "text": "x" * 500, "format": form}),
        (
            "fill_form",
            {
                "fields": [
                    {"selector": f"#{'long' * 100}{number}", "value": "x"}
                    for number in range(choose.randint(1, 12))
                ]
                + [{"selector": "input >> nth=2", "value": "y"}],
                "format": form,
            },
        ),
        ("interact", {"action": "reload", "format": form}),
        ("get_page_log", {"kind": choose.choice(["console", "network", "errors"]), "limit": 500}),
        ("evaluate_script", {"expression": "'\\u0001\"'.repeat(100000)", "offset": offset}),
        ("evaluate_script", {"expression": "throw new Error('\"'.repeat(100000))"}),
    ]
    name, arguments = choose.choice(calls)
    return name, arguments | shared


@pytest.mark.parametrize("seed", range(3))
def test_no_result_exceeds_max_chars(browser: BrowserHarness, seed: int) -> None:
    choose = random.Random(seed)
    page = browser.url(f"/hostile?{'q' * 3000}")
    browser.call("fetch_webpage", url=page)
    for _ in range(12):
        name, arguments = make_call(choose, page)
        result = browser.call(name, **arguments)
        assert sized(result) <= arguments["maxChars"], (name, arguments)


def test_results_without_maxchars_stay_within_the_default(browser: BrowserHarness) -> None:
    page = browser.url(f"/hostile?{'q' * 3000}")
    for number in range(3):
        browser.call("fetch_webpage", url=f"{page}{number}", newTab=True, format="text")
    for name, arguments in (
        ("manage_tabs", {"action": "list"}),
        ("handle_dialog", {"accept": False}),
        ("wait_for", {"ms": 0}),
        ("take_screenshot", {"maxWidth": 50}),
        ("close_tab", {"all": True}),
    ):
        assert sized(browser.call(name, **arguments)) <= 20_000, name
