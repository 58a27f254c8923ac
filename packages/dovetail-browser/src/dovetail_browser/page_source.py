"""Reads the visible content of a page as HTML, without anything hidden.

A script (`page_source.js`) runs in each document, because only the browser knows what is rendered.
This module runs the script, inserts the content of frames, and enforces the limits. It does not
shorten or format the result.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail_browser.isolated_world import Documents, World, open_documents
from dovetail_browser.page_errors import driver_errors, tool_error
from dovetail_browser.text_filters import drop_invisible, hide_secrets
from dovetail_browser.visible_text import Sight, looking

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["DEFAULT_LIMITS", "PageSource", "SourceLimits", "mask_hidden", "read_source"]

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
_FINISH = "() => window[Symbol.for('dovetail.page')].finish()"
_STOPPED = {
    "nodes": "The page has more than {nodes:,} nodes; the rest was not read.",
    "characters": "The page is longer than {characters:,} characters; the rest was not read.",
    "time": "Reading the page took longer than {milliseconds:,} ms; the rest was not read.",
    "sight": "Looking at the page took longer than {seconds:g} s; the rest was not read.",
}


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Limits for reading a page; a note reports when one is reached."""

    nodes: int = 150_000
    characters: int = 4_000_000
    milliseconds: int = 8_000
    frames: int = 50
    # For comparing the text with screenshots.
    seconds: float = 20.0


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
    sight: Sight
    notes: list[str]
    nodes: int = 0
    characters: int = 0
    frames: int = 0
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.limits.seconds

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
    async with (
        open_documents(page, limits.frames) as documents,
        looking(page, documents) as sight,
    ):
        reading = _Reading(limits, documents, sight, notes)
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


async def mask_hidden(documents: Documents, sight: Sight, worlds: list[World]) -> str:
    """Mask hidden text in JavaScript worlds, parents first; return a note on what is left out."""
    reading = _Reading(DEFAULT_LIMITS, documents, sight, [])
    for world in worlds:
        try:
            await _read_world(world, {"path": None, "mask": True}, reading)
        except driver_errors() as error:
            # The frame was removed.
            if world.frame == documents.main or "destroyed" not in str(error):
                raise
    return reading.notes[0] if reading.notes else ""


async def _read_world(
    world: World, given: dict[str, Any], reading: _Reading, children: Sequence[str] = ()
) -> Any:
    """Read a document in a JavaScript world; return what `finish` of `page_source.js` returns."""
    documents, limits = reading.documents, reading.limits
    given = {
        **given,
        "nodes": max(0, limits.nodes - reading.nodes),
        "characters": max(0, limits.characters - reading.characters),
        "milliseconds": limits.milliseconds,
    }
    read = await documents.run_in(world, _script(), given, children)
    reading.nodes += read["nodes"]
    is_complete = await reading.sight.find_visible(world, read, reading.deadline)
    stopped = read["stopped"] or ("" if is_complete else "sight")
    if stopped:
        reading.notes.append(_STOPPED[stopped].format_map(asdict(limits)))
    return await documents.run_in(world, _FINISH, {})


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
    children = reading.take_children(frame)
    world = await reading.documents.world_of(frame)
    answer = await _read_world(world, {"path": path, "mask": False}, reading, children)
    reading.characters += sum(len(piece) for piece in answer["html"] if isinstance(piece, str))
    pieces = [
        piece if isinstance(piece, str) else await _read_child(children[piece], reading)
        for piece in answer["html"]
    ]
    return "".join(pieces), answer["url"], answer["title"]


async def _read_child(frame: str, reading: _Reading) -> str:
    """Return the HTML of a frame; empty if the frame no longer exists."""
    try:
        html, _, _ = await _read_document(frame, None, reading)
    except driver_errors() as error:
        if "destroyed" not in str(error):
            reading.notes.append(f"A frame could not be read: {str(error).splitlines()[0]}")
        return ""
    return html
