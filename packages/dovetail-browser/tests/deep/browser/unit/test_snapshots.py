"""Snapshots show what can be acted on, and never what was typed into a password field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail import ToolError
from dovetail_browser.snapshots import Snapshot, SnapshotOptions, read_snapshot
from tests.deep.browser.chromium import Chromium

PAGE = """
<h1>Shop</h1>
<main><div><div><p>Two <b>boxes</b>: <a href="/a">first: one</a></p></div></div>
<form><label>Name <input id=name value="Ada"></label>
<label>Pass <input type=password value="hunter2"></label>
<button>Buy</button></form>
<div id=open style="cursor:pointer">More</div></main>
<iframe srcdoc="<button>Inside</button><input type=password value='fr4me: pass'>"></iframe>
<x-box></x-box><script>document.querySelector("x-box").attachShadow({mode: "open"}).innerHTML =
"<button>Shadow</button><input type=password value=sh4dow>"</script>
"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


def snap(chromium: Chromium, html: str = PAGE, **given: Any) -> Snapshot:
    async def steps() -> Snapshot:
        await chromium.page.set_content(html)
        previous, secrets = given.pop("previous", None), given.pop("secrets", ())
        return await read_snapshot(
            chromium.page, SnapshotOptions(**given), previous=previous, secrets=secrets
        )

    return chromium.run(steps())


def test_the_tree_has_refs_frames_and_shadows_and_no_empty_wrappers(chromium: Chromium) -> None:
    taken = snap(chromium)
    for line in ("heading", 'button "Buy"', 'button "Inside"', 'button "Shadow"', "generic"):
        assert line in taken.text
    assert not re.search(r"- generic(?: \[active\])? \[ref=\w+\]:?$", taken.text, re.M)
    assert "cursor=pointer" not in taken.text
    assert taken.lines == len(taken.text.splitlines())
    assert taken.refs == taken.text.count("[ref=")


def test_values_of_password_fields_are_never_shown(chromium: Chromium) -> None:
    taken = snap(chromium)
    assert "Ada" in taken.text
    for secret in ("hunter2", "fr4me", "sh4dow"):
        assert secret not in taken.text + taken.whole
    assert taken.text.count("[hidden]") == 3


@pytest.mark.parametrize(
    "value", ["a", "a: b", "'q'", '"q"', "a  b", "- x", "x" * 300, "#1", "true"]
)
def test_a_password_with_any_characters_is_hidden(chromium: Chromium, value: str) -> None:
    async def steps() -> Snapshot:
        await chromium.page.set_content("<input type=password aria-label=P>")
        await chromium.page.fill("input", value)
        return await read_snapshot(chromium.page)

    taken = chromium.run(steps())
    assert re.fullmatch(r'- textbox "P" \[[^:]*\]: \[hidden\]', taken.text), taken.text


def test_secrets_are_replaced(chromium: Chromium) -> None:
    assert "Ada" not in snap(chromium, secrets=["Ada"]).whole


def test_a_ref_finds_its_element(chromium: Chromium) -> None:
    async def steps() -> list[str]:
        await chromium.page.set_content(PAGE)
        taken = await read_snapshot(chromium.page)
        refs = [
            match[1]
            for name in ("Buy", "Inside", "Shadow")
            if (match := re.search(rf'button "{name}" \[ref=(\w+)\]', taken.text))
        ]
        return [await chromium.page.locator(f"aria-ref={ref}").inner_text() for ref in refs]

    assert chromium.run(steps()) == ["Buy", "Inside", "Shadow"]


def test_only_interactive_elements(chromium: Chromium) -> None:
    taken = snap(chromium, interactive_only=True)
    assert "heading" not in taken.text and "paragraph" not in taken.text
    for line in ('link "first: one"', 'button "Buy"', 'textbox "Name', ": More"):
        assert line in taken.text
    assert taken.matches == len(taken.text.splitlines()) == taken.interactive


def test_lines_are_found_with_their_ancestors(chromium: Chromium) -> None:
    taken = snap(chromium, find="FIRST")
    assert taken.matches == 1
    assert [line.split()[1] for line in taken.text.splitlines()] == ["main", "paragraph", "link"]
    assert snap(chromium, find="nowhere").matches == 0


def test_depth_and_selector_narrow_the_tree(chromium: Chromium) -> None:
    assert snap(chromium, depth=2).lines < snap(chromium).lines
    narrowed = snap(chromium, selector="form")
    assert "Buy" in narrowed.text and "Shop" not in narrowed.text
    assert "hunter2" not in narrowed.text
    assert "[box=" in snap(chromium, boxes=True).text


@pytest.mark.parametrize(
    ("selector", "words"), [("#none", "matches nothing"), ("label", "matches 2")]
)
def test_a_selector_must_match_one_element(chromium: Chromium, selector: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        snap(chromium, selector=selector)


def test_a_document_without_a_tree_is_an_error_at_once(chromium: Chromium) -> None:
    async def steps() -> Snapshot:
        await chromium.page.goto("data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>")
        try:
            return await read_snapshot(chromium.page)
        finally:
            await chromium.page.goto("about:blank")

    with pytest.raises(ToolError, match="no accessibility tree"):
        chromium.run(steps())


def test_a_diff_shows_only_the_changes(chromium: Chromium) -> None:
    async def steps() -> tuple[Snapshot, Snapshot]:
        page, options = chromium.page, SnapshotOptions(diff=True)
        await page.set_content("<p>one</p><p id=x>two</p><p>three</p><p>four</p><p>five</p>")
        first = await read_snapshot(page, options)
        same = await read_snapshot(page, options, previous=first.whole)
        await page.evaluate("x.textContent = 'changed'")
        return same, await read_snapshot(page, options, previous=first.whole)

    same, changed = chromium.run(steps())
    assert (same.text, same.added, same.removed) == ("", 0, 0)
    assert (changed.added, changed.removed) == (1, 1)
    assert "changed" in changed.text and "five" not in changed.text
