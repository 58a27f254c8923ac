"""Five tasks as an assistant does them, in both tool sets: calls and characters are counted.

The figures are also in docs/browser.md. BEFORE was measured with the same tasks on the version that
listed 13 tools (commit 1d12977), where the assistant took the shortest way that its tools allowed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dovetail_browser.tool_sets import TOOL_SETS
from dovetail_serverkit.tool_sets import ToolSet
from tests.deep.browser.official import OfficialClient, text_of

Call = tuple[str, dict[str, Any]]


class Cost(NamedTuple):
    """Calls, and characters of all results."""

    calls: int
    characters: int


LOGIN: dict[str, Any] = {
    "fields": [{"label": "User", "value": "ada"}, {"label": "Password", "secret": "SHOP"}],
    "submit": True,
}
ORDER: dict[str, Any] = {
    "fields": [
        {"label": "Name", "value": "Bo"},
        {"label": "Wood", "option": "Larch"},
        {"label": "I agree", "checked": True},
    ],
    "submit": True,
    "format": "text",
}
LOG_OUT = "document.cookie = 'user=; Path=/; Max-Age=0'"
LATE = "/late?now&from=/slow?ms=1500"

# Task -> calls in each set, and a text of the results.
TASKS: dict[str, tuple[dict[ToolSet, list[Call]], str]] = {
    "log in, filter a table, fetch a CSV": (
        {
            "default": [
                ("fetch_webpage", {"url": "{site}/orders", "format": "text"}),
                ("fill_form", LOGIN),
                (
                    "type_text",
                    {"label": "Filter", "text": "Larchopen", "format": "text", "maxChars": 4000},
                ),
                ("fetch_webpage", {"url": "{site}/orders?as=csv", "format": "text"}),
            ],
            "compact": [
                ("fetch_webpage", {"url": "{site}/orders", "format": "text"}),
                ("fill_form", LOGIN),
                (
                    "fill_form",
                    {
                        "fields": [{"label": "Filter", "value": "Larchopen"}],
                        "format": "text",
                        "maxChars": 4000,
                    },
                ),
                ("fetch_webpage", {"url": "{site}/orders?as=csv", "format": "text"}),
            ],
        },
        "4,Larch,open",
    ),
    "read two chapters of a manual": (
        {
            "default": [
                (
                    "fetch_webpage",
                    {"url": "{site}/manual", "format": "markdown", "mainContentOnly": True},
                ),
                ("click_element", {"text": "Next chapter", "format": "none"}),
                ("get_current_html", {"format": "markdown", "mainContentOnly": True}),
            ],
            "compact": [
                (
                    "fetch_webpage",
                    {"url": "{site}/manual", "format": "markdown", "mainContentOnly": True},
                ),
                ("interact", {"action": "click", "text": "Next chapter"}),
                ("get_current_html", {"format": "markdown", "mainContentOnly": True}),
            ],
        },
        "Paragraph 11 of chapter 2",
    ),
    "fill in and submit a form": (
        {
            name: [
                ("fetch_webpage", {"url": "{site}/form", "format": "snapshot"}),
                ("fill_form", ORDER),
            ]
            for name in TOOL_SETS
        },
        "wood=2",
    ),
    "use an application that loads slowly": (
        {
            "default": [
                ("fetch_webpage", {"url": f"{{site}}{LATE}", "format": "text"}),
                ("click_element", {"text": "More", "format": "text"}),
            ],
            "compact": [
                ("fetch_webpage", {"url": f"{{site}}{LATE}", "format": "text"}),
                ("interact", {"action": "click", "text": "More", "format": "text"}),
            ],
        },
        "Here at last",
    ),
    "confirm a dialog, look for errors": (
        {
            "default": [
                ("fetch_webpage", {"url": "{site}/dialogs", "format": "text"}),
                ("click_element", {"text": "Confirm", "dialog": "accept", "format": "text"}),
                ("get_page_log", {"kind": "errors"}),
            ],
            "compact": [
                ("fetch_webpage", {"url": "{site}/dialogs", "format": "text"}),
                (
                    "interact",
                    {"action": "click", "text": "Confirm", "dialog": "accept", "format": "text"},
                ),
                ("get_page_log", {"kind": "errors"}),
            ],
        },
        "confirmed true",
    ),
}

BEFORE = {
    "log in, filter a table, fetch a CSV": Cost(4, 4_742),
    "read two chapters of a manual": Cost(3, 4_770),
    "fill in and submit a form": Cost(2, 3_718),
    "use an application that loads slowly": Cost(6, 4_214),
    "confirm a dialog, look for errors": Cost(4, 3_754),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfficialClient]:
    """One server for both sets: they differ in what is listed, not in results."""
    secrets: Path = tmp_path_factory.mktemp("secrets") / "secrets.env"
    secrets.write_text("SHOP=hunter2&more\n")
    with OfficialClient("--enable-scripts", "--secrets", str(secrets), "--settle", "60") as opened:
        yield opened


@pytest.mark.parametrize("tools", TOOL_SETS)
@pytest.mark.parametrize("task", TASKS)
def test_a_task_needs_no_more_calls_and_characters_than_before(
    client: OfficialClient, task: str, tools: ToolSet
) -> None:
    steps, expected = TASKS[task]
    client.run(client.session.call_tool("evaluate_script", {"expression": LOG_OUT}))
    client.calls = client.characters = 0
    said = ""
    for tool, arguments in steps[tools]:
        assert TOOL_SETS[tools][tool].issuperset(arguments), tool
        given = {
            name: value.replace("{site}", client.site.url) if isinstance(value, str) else value
            for name, value in arguments.items()
        }
        result = client.call(tool, **given)
        assert not result.is_error, text_of(result)
        said += text_of(result)
    assert expected in said
    assert client.calls <= BEFORE[task].calls
    assert client.characters <= BEFORE[task].characters
