"""Reads a page in the requested format."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from dovetail_browser.html_cleaner import clean_html
from dovetail_browser.isolated_world import open_documents
from dovetail_browser.markdown import to_markdown
from dovetail_browser.page_errors import abandon_after, driver_errors, tool_error, with_timeout
from dovetail_browser.page_source import read_source
from dovetail_browser.plain_text import to_text
from dovetail_browser.secret_values import Secrets
from dovetail_browser.snapshots import SnapshotOptions, read_snapshot
from dovetail_browser.tab import Tab
from dovetail_browser.tool_results import PageText

__all__ = ["AFTER_ACTION", "ReadOptions", "read_after_action", "read_page", "title_of"]

# Next steps.
AFTER_ACTION = ["get_current_html returns the page"]
_TRIES = 3
# Shortened in the page, because a title can be of any length. An element can shadow the property.
_TITLE = """() => {
  const { get } = Object.getOwnPropertyDescriptor(Document.prototype, 'title');
  return get.call(document).slice(0, 300);
}"""
_EMPTY = "The page has no content as {form}; take_screenshot shows what it looks like."

# Format -> function that renders the visible document.
_FORMS: dict[str, Callable[[str, str, bool], str]] = {
    "html": clean_html,
    "markdown": to_markdown,
    "text": to_text,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options for reading a page."""

    format: str = "html"
    selector: str | None = None
    main_only: bool = False
    clean: bool = True
    # Filters of a snapshot.
    find: str = ""
    interactive_only: bool = False
    diff: bool = False


def read_after_action(
    format: str, *, wanted: bool = True, clean: bool = True
) -> ReadOptions | None:
    """Return how to read the page after an action; None if it is not to be returned."""
    return ReadOptions(format, clean=clean) if wanted and format != "none" else None


async def read_page(tab: Tab, how: ReadOptions, secrets: Secrets) -> PageText:
    """Read a page; retry if it navigates meanwhile."""
    for left in reversed(range(_TRIES)):
        try:
            return await with_timeout(_read(tab, how, secrets), "reading it")
        except driver_errors() as error:
            moved = any(sign in str(error) for sign in ("context was destroyed", "detached"))
            if not moved:
                raise
            if left == 0:
                break
            await tab.page.wait_for_load_state("domcontentloaded", timeout=5_000)
    raise tool_error(
        "The page navigated each time it was read; it seems to redirect endlessly.",
        "wait_for with `pageUrl` or `text` waits for the page that you expect",
        "take_screenshot shows the current page",
    )


async def _read(tab: Tab, how: ReadOptions, secrets: Secrets) -> PageText:
    if how.format == "snapshot":
        options = SnapshotOptions(
            selector=how.selector,
            find=how.find,
            interactive_only=how.interactive_only,
            diff=how.diff,
        )
        taken = await read_snapshot(
            tab.page, options, previous=tab.snapshot, secrets=secrets.encodings
        )
        tab.snapshot = taken.whole
        facts = {"matches": taken.matches, "added": taken.added, "removed": taken.removed}
        return PageText(taken.text, "snapshot", taken.note, facts)
    if how.format == "html" and not how.clean:
        if how.selector is None:
            return PageText(await tab.page.content(), "html")
        found = tab.page.locator(how.selector).first
        return PageText(await found.evaluate("element => element.outerHTML"), "html")
    source = await read_source(tab.page, how.selector, secrets=secrets.encodings)
    # Rendering a long document takes a while; do not block the event loop.
    text = await asyncio.to_thread(_FORMS[how.format], source.html, source.url, how.main_only)
    empty = "" if text.strip() else _EMPTY.format(form=how.format)
    return PageText(text, how.format, " ".join(filter(None, (source.note, empty))))


async def title_of(tab: Tab) -> str:
    """Return the title of a page; empty if the page does not respond."""
    with contextlib.suppress(TimeoutError, *driver_errors()):
        return await abandon_after(2, _read_title(tab))
    return ""


async def _read_title(tab: Tab) -> str:
    async with open_documents(tab.page, 0) as documents:
        return str(await documents.run(documents.main, _TITLE, {}))
