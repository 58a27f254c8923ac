"""Reads the visible content of a page as HTML, without anything hidden.

A script (`page_source.js`) runs in each document, because only the browser knows what is rendered.
This module runs the script, inserts the content of frames, and enforces the limits. It does not
shorten or format the result.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail_browser.isolated_world import Documents, World, open_documents
from dovetail_browser.page_errors import tool_error
from dovetail_browser.text_filters import drop_invisible, hide_secrets

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["DEFAULT_LIMITS", "PageSource", "SourceLimits", "read_source", "run_script"]

# Path of child indexes from the document; null enters a shadow root.
_PATH = """element => {
  const path = [];
  for (let at = element; at !== document; ) {
    const parent = at.parentNode;
    if (parent) path.unshift(Array.prototype.indexOf.call(parent.childNodes, at));
    else path.unshift(null);
    at = parent || at.host;
  }
  return path;
}"""
_STOPPED = {
    "nodes": "The page has more than {nodes:,} nodes; the rest was not read.",
    "characters": "The page is longer than {characters:,} characters; the rest was not read.",
    "time": "Reading the page took longer than {milliseconds:,} ms; the rest was not read.",
}


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Limits for reading a page; a note reports when one is reached."""

    nodes: int = 150_000
    characters: int = 4_000_000
    milliseconds: int = 8_000
    frames: int = 50


DEFAULT_LIMITS = SourceLimits()


@dataclass(frozen=True, slots=True)
class PageSource:
    """The visible document: HTML with absolute URLs and no active content."""

    html: str
    url: str
    title: str
    # Number of nodes visited.
    nodes: int
    # What the limits left out; empty if nothing.
    note: str = ""


@dataclass(slots=True)
class _Reading:
    """The remaining limits while documents are read."""

    limits: SourceLimits
    documents: Documents
    notes: list[str]
    nodes: int = 0
    characters: int = 0
    frames: int = 0

    def take_children(self, frame: str) -> list[str]:
        """Return the child frames of a document, as far as the limits allow."""
        children = self.documents.children_of(frame)
        left = self.limits.frames - self.frames
        if len(children) > left:
            self.notes.append(
                f"The page has more than {self.limits.frames} frames; the others were not read."
            )
        self.frames += min(len(children), left)
        return children[:left]


async def read_source(
    page: Page,
    selector: str | None = None,
    *,
    secrets: Collection[str] = (),
    limits: SourceLimits = DEFAULT_LIMITS,
) -> PageSource:
    """Read the visible content of a page, or of the element that a selector matches.

    Occurrences of `secrets` are replaced. Raises ToolError if the selector matches nothing; of
    several matches the first is read, with a `note`.
    """
    notes: list[str] = []
    path = None if selector is None else await _find(page, selector, notes)
    async with open_documents(page, limits.frames) as documents:
        reading = _Reading(limits, documents, notes=notes)
        html, url, title = await _read_document(documents.main, path, reading)
    return PageSource(
        html=hide_secrets(drop_invisible(html), secrets),
        url=hide_secrets(url, secrets),
        title=hide_secrets(drop_invisible(title), secrets),
        nodes=reading.nodes,
        note=" ".join(dict.fromkeys(notes)),
    )


@cache
def _script() -> str:
    return Path(__file__).with_name("page_source.js").read_text("utf-8")


async def run_script(documents: Documents, world: World, limits: SourceLimits) -> str:
    """Mask hidden text in a JavaScript world; return a note if the limits left out text."""
    given = {**asdict(limits), "path": None, "mask": True}
    answer: dict[str, str] = await documents.run_in(world, _script(), given)
    return _STOPPED[answer["stopped"]].format_map(asdict(limits)) if answer["stopped"] else ""


async def _find(page: Page, selector: str, notes: list[str]) -> list[int | None]:
    """Return the path of the first match in the tree."""
    found = await page.query_selector_all(selector)
    if not found:
        raise tool_error(
            f"Nothing on the page matches the selector {selector[:200]!r}.",
            "omit `selector` to read the whole page",
            "get_current_html with `format=html` shows ids and classes to select by",
        )
    if len(found) > 1:
        notes.append(f"{len(found):,} elements match the selector; only the first was read.")
    path: list[int | None] = await found[0].evaluate(_PATH)
    return path


async def _read_document(
    frame: str, path: list[int | None] | None, reading: _Reading
) -> tuple[str, str, str]:
    """Return the HTML of a document with its frames, its URL and its title."""
    limits = reading.limits
    children = reading.take_children(frame)
    answer: dict[str, Any] = await reading.documents.run(
        frame,
        _script(),
        {
            "path": path,
            "nodes": max(0, limits.nodes - reading.nodes),
            "characters": max(0, limits.characters - reading.characters),
            "milliseconds": limits.milliseconds,
        },
        children,
    )
    reading.nodes += answer["nodes"]
    reading.characters += sum(len(piece) for piece in answer["html"] if isinstance(piece, str))
    if answer["stopped"]:
        reading.notes.append(_STOPPED[answer["stopped"]].format_map(asdict(limits)))
    pieces = [
        piece if isinstance(piece, str) else await _read_child(children[piece], reading)
        for piece in answer["html"]
    ]
    return "".join(pieces), answer["url"], answer["title"]


async def _read_child(frame: str, reading: _Reading) -> str:
    """Return the HTML of a frame; empty if the frame no longer exists."""
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

    try:
        html, _, _ = await _read_document(frame, None, reading)
    except Error as error:
        if "destroyed" not in error.message:
            reading.notes.append(f"A frame could not be read: {error.message.splitlines()[0]}")
        return ""
    return html
