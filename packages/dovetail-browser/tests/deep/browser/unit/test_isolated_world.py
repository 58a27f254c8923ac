"""Our scripts and the scripts of a page are isolated from each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Error

from dovetail_browser.isolated_world import open_documents
from tests.deep.browser.chromium import Chromium


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as started:
        yield started


def run(chromium: Chromium, html: str, function: str, **given: Any) -> Any:
    async def steps() -> Any:
        await chromium.page.set_content(html)
        async with open_documents(chromium.page, 10) as documents:
            children = documents.children_of(documents.main)
            return await documents.run(documents.main, function, given, children)

    return chromium.run(steps())


def test_the_document_is_shared_and_the_variables_are_not(chromium: Chromium) -> None:
    html = "<p>text</p><script>window.mine = 1; window.getComputedStyle = null</script>"
    function = "given => [document.body.innerText, typeof mine, typeof getComputedStyle, given.a]"
    assert run(chromium, html, function, a=[1]) == ["text", "undefined", "function", [1]]

    async def steps() -> Any:
        async with open_documents(chromium.page, 10) as documents:
            await documents.run(documents.main, "() => { window.ours = 1 }", {})
        return await chromium.page.evaluate("typeof ours")

    assert chromium.run(steps()) == "undefined"


def test_frames_are_passed_with_their_owner_elements(chromium: Chromium) -> None:
    html = "<iframe id=a srcdoc='<p>x'></iframe><iframe id=b srcdoc='<p>y'></iframe>"
    held = run(chromium, html, "(given, ...owners) => owners.map(owner => owner.id)")
    assert sorted(held) == ["a", "b"]


def test_a_function_that_fails_says_why(chromium: Chromium) -> None:
    with pytest.raises(Error, match="could not be read: TypeError"):
        run(chromium, "<p>x</p>", "() => null.x")


def test_a_document_that_no_longer_exists_is_reported(chromium: Chromium) -> None:
    async def steps() -> None:
        await chromium.page.set_content("<iframe srcdoc='<p>x'></iframe>")
        async with open_documents(chromium.page, 10) as documents:
            (child,) = documents.children_of(documents.main)
            await chromium.page.evaluate("document.querySelector('iframe').remove()")
            await documents.run(child, "() => 1", {})

    with pytest.raises(Error, match="context was destroyed"):
        chromium.run(steps())


def test_devtools_sessions_are_detached(chromium: Chromium) -> None:
    async def steps() -> None:
        await chromium.page.set_content("<p>x</p>")
        async with open_documents(chromium.page, 10) as documents:
            assert await documents.run(documents.main, "() => 1", {}) == 1
        await documents.run(documents.main, "() => 1", {})

    with pytest.raises(Error, match="closed"):
        chromium.run(steps())
