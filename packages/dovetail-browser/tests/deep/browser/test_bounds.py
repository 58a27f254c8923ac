"""No result exceeds its limit, text and structured content together, for any tool."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dovetail.spec.models import EmbeddedResource, ImageContent
from dovetail_browser.tool_sets import TOOL_SETS
from tests.deep.browser.driving import BrowserHarness, desk, sized

LEAST, USUAL, MOST = 2_000, 20_000, 80_000
MOST_IMAGE_BYTES = 700_000
FORMS = ("html", "markdown", "text", "snapshot")
SHOWN = ("none", *FORMS)
ROUNDS = 2

Arguments = dict[str, Any]
Chooser = Callable[[random.Random, str], Arguments]


def element(choose: random.Random) -> Arguments:
    """An element that exists, several, none, or none that is possible."""
    ways: list[Arguments] = [
        {"selector": "#b1"},
        {"selector": "button"},
        {"selector": "bad[["},
        {"selector": "#" + "long" * 2_000},
        {"ref": "e3"},
        {"ref": "x" * 5_000},
    ]
    return choose.choice(ways)


def limit(choose: random.Random) -> Arguments:
    given = choose.choice([None, LEAST, LEAST + 1, choose.randint(LEAST, MOST), MOST])
    return {} if given is None else {"maxChars": given}


def offset(choose: random.Random) -> Arguments:
    return {"offset": choose.choice([0, 0, choose.randint(0, 200_000)])}


def fields(choose: random.Random) -> list[Arguments]:
    wrong = [
        {"selector": f"#{'long' * 100}{number}", "value": "x" * 3_000}
        for number in range(choose.randint(0, 9))
    ]
    return [*wrong, {"selector": "input >> nth=2", "value": "y" * 3_000}]


# Tool -> arguments that lead to long results.
CALLS: dict[str, Chooser] = {
    "fetch_webpage": lambda choose, page: {
        "url": choose.choice([page, f"ftp://{'x' * 9_000}", f"{page}#{'f' * 9_000}"]),
        "format": choose.choice(FORMS),
        "newTab": choose.random() < 0.2,
        **offset(choose),
        **limit(choose),
    },
    "get_current_html": lambda choose, _: {
        "format": choose.choice(FORMS),
        "removeUnnecessaryHTML": choose.random() < 0.7,
        "find": choose.choice(["", "", "quoted", "x" * 9_000]),
        "selector": choose.choice([None, None, "#" + "x" * 9_000]),
        **offset(choose),
        **limit(choose),
    },
    "page_snapshot": lambda choose, _: {
        "interactiveOnly": choose.random() < 0.5,
        "boxes": True,
        **offset(choose),
        **limit(choose),
    },
    "click_element": lambda choose, _: {
        "format": choose.choice(SHOWN),
        **choose.choice([element(choose), {"text": choose.choice(["B", "B7", "no" * 3_000])}]),
        **limit(choose),
    },
    "type_text": lambda choose, _: {
        "text": "x" * 5_000,
        "format": choose.choice(SHOWN),
        **choose.choice([element(choose), {"selector": "input >> nth=1"}]),
        **limit(choose),
    },
    "fill_form": lambda choose, _: {
        "fields": fields(choose),
        "format": choose.choice(SHOWN),
        **limit(choose),
    },
    "interact": lambda choose, _: {
        "action": choose.choice(["click", "hover", "scroll", "reload", "key", "select"]),
        "keys": "x" * 5_000,
        "option": "x" * 5_000,
        "format": choose.choice(SHOWN),
        **element(choose),
        **limit(choose),
    },
    "wait_for": lambda choose, _: {
        choose.choice(["text", "selector", "pageUrl", "textGone"]): "x" * 9_000,
        "timeout": 50,
    },
    "take_screenshot": lambda choose, _: {
        "format": choose.choice(["jpeg", "png", "webp"]),
        "maxWidth": choose.choice([50, 4_096]),
        "fullPage": choose.random() < 0.5,
    },
    "get_page_log": lambda choose, _: {
        "kind": choose.choice(["console", "network", "errors"]),
        "id": choose.choice([None, None, choose.randint(1, 9), 10**9]),
        "limit": 500,
        **limit(choose),
    },
    "handle_dialog": lambda choose, _: {"accept": False, "promptText": "x" * 9_000},
    "manage_tabs": lambda choose, _: choose.choice(
        [{"action": "list"}, {"action": "select", "tab": "t" * 9_000}, {"action": "close"}]
    ),
    "evaluate_script": lambda choose, _: {
        "expression": choose.choice(
            [
                "'\\u0001\"'.repeat(100000)",
                "throw new Error('\"'.repeat(100000))",
                "console.log('\"'.repeat(2000)), document.title",
            ]
        ),
        **offset(choose),
        **limit(choose),
    },
    "close_tab": lambda choose, _: choose.choice(
        [{"url": "https://" + "x" * 9_000}, {"tab": "t" * 9_000}, {"all": True}]
    ),
}


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserHarness]:
    with desk("--enable-scripts", "--settle", "0.3") as opened:
        yield opened


def test_every_tool_is_called() -> None:
    assert CALLS.keys() == {*TOOL_SETS["default"], "page_snapshot", "handle_dialog"}


@pytest.mark.parametrize("tool", CALLS)
def test_no_result_exceeds_max_chars(browser: BrowserHarness, tool: str) -> None:
    choose = random.Random(tool)
    page = browser.url(f"/hostile?{'q' * 3000}")
    for _ in range(ROUNDS):
        # Also after a call that closed the tab.
        if browser.call("get_page_log", kind="errors", limit=1).is_error:
            browser.call("fetch_webpage", url=page, format="text", maxChars=LEAST)
        arguments = CALLS[tool](choose, page)
        result = browser.call(tool, **arguments)
        assert sized(result) <= arguments.get("maxChars", USUAL), arguments
        for block in result.content:
            assert not isinstance(block, EmbeddedResource)
            if isinstance(block, ImageContent):
                assert len(base64.b64decode(block.data)) <= MOST_IMAGE_BYTES


def test_a_list_of_many_tabs_with_long_titles_is_limited(browser: BrowserHarness) -> None:
    page = browser.url(f"/hostile?{'q' * 3000}")
    for number in range(3):
        browser.call(
            "fetch_webpage", url=f"{page}{number}", newTab=True, format="text", postLoadWait=0
        )
    listed = browser.call("manage_tabs", action="list")
    assert len(listed.data["tabs"]) >= 3 and sized(listed) <= USUAL
