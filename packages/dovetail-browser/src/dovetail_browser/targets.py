"""Finds the element of a call at once, or raises an error that lists candidates.

A target is a snapshot ref, a CSS selector, visible text, a role with a name, or a label. All frames
of the page and open shadow roots are searched. If no element or several match, there is no waiting
unless the caller gives a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail import ToolError
from dovetail_browser.element_info import DESCRIBE, LIST_INTERACTIVE, ElementInfo
from dovetail_browser.page_errors import driver_errors, first_line, tool_error, with_timeout
from dovetail_browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator

__all__ = ["FIELD_WAYS", "Found", "Target", "count_matches", "find_target", "nearest"]

# How a form field is selected.
FIELD_WAYS = ("ref", "selector", "label", "role")

_POLL_SECONDS = 0.1
_LOOK_SECONDS = 8.0
_MOST_CANDIDATES = 6
_MOST_FRAMES = 30
# Characters of a name to compare.
_COMPARED = 80

_REF = re.compile(r"(f[0-9]{1,6})*e[0-9]{1,9}")
_ROLE = re.compile(r"[a-z]{1,40}")

_Query = Callable[["Frame"], "Locator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The arguments of a call that select an element."""

    ref: str | None = None
    selector: str | None = None
    text: str | None = None
    role: str | None = None
    name: str | None = None
    label: str | None = None
    # The ways that the tool offers.
    ways: tuple[str, ...] = ("ref", "selector", "text", "role", "label")

    @property
    def is_given(self) -> bool:
        """Whether any of them is set."""
        return any((self.ref, self.selector, self.text, self.role, self.name, self.label))

    def describe(self) -> str:
        """Describe the target for a message."""
        said = {
            "ref": self.ref,
            "selector": self.selector,
            "text": self.text,
            "role": self.role,
            "name": self.name,
            "label": self.label,
        }
        return " ".join(f"{key} {value[:150]!r}" for key, value in said.items() if value)

    def check(self) -> None:
        """Raise ToolError unless exactly one way is used."""
        given = [self.ref, self.selector, self.text, self.role, self.label]
        for name, value, pattern in (("ref", self.ref, _REF), ("role", self.role, _ROLE)):
            if value and not pattern.fullmatch(value):
                raise tool_error(
                    f"{value[:100]!r} is not a {name}.",
                    "get_current_html with `format=snapshot` lists the elements with their refs",
                    self.how_to_select(),
                )
        if (self.name and not self.role) or sum(map(bool, given)) != 1:
            raise tool_error(
                f"Select an element in exactly one way; given: {self.describe() or 'nothing'}.",
                self.how_to_select(),
                "get_current_html with `format=snapshot` lists the elements with their refs",
            )

    def how_to_select(self) -> str:
        """Say which parameters select an element."""
        ways = ["`role` with `name`" if way == "role" else f"`{way}`" for way in self.ways]
        return f"give one of {', '.join(ways[:-1])} or {ways[-1]}"


@dataclass(frozen=True, slots=True)
class Found:
    """An element and its information."""

    locator: Locator
    info: ElementInfo


async def find_target(tab: Tab, target: Target, wait_ms: int | None = None) -> Found:
    """Return the only element that matches; ToolError lists candidates otherwise."""
    target.check()
    deadline = time.monotonic() + (wait_ms or 0) / 1000
    while True:
        found = await with_timeout(_look(tab, target), "looking for an element", _LOOK_SECONDS)
        if found or time.monotonic() >= deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    if not found:
        raise await with_timeout(_absent(tab, target, wait_ms), "listing its elements")
    if len(found) > 1:
        raise await _ambiguous(target, found)
    return Found(found[0], await _read_info(found[0]))


async def count_matches(tab: Tab, target: Target) -> int:
    """Return the number of visible elements that match now."""
    return len(await _look(tab, target))


async def _look(tab: Tab, target: Target) -> list[Locator]:
    if target.ref is not None:
        locator = tab.page.locator(f"aria-ref={target.ref}")
        try:
            return [locator] if await locator.count() else []
        except driver_errors() as error:
            # The frame or page no longer exists.
            if "aria-ref" not in str(error):
                raise
            return []
    for query in _queries(target):
        found: list[Locator] = []
        for frame in tab.page.frames[:_MOST_FRAMES]:
            found += await _visible_first(query(frame), target)
        if found:
            return await _narrow(found) if target.text is not None else found
    return []


def _queries(target: Target) -> Sequence[_Query]:
    """Return the queries for a target, the strictest first."""
    role: Any = target.role
    if target.selector is not None:
        selector = target.selector
        return (lambda frame: frame.locator(selector),)
    if target.text is not None:
        text = target.text
        return (
            lambda frame: frame.get_by_text(text, exact=True),
            lambda frame: frame.get_by_text(text),
            lambda frame: frame.get_by_role("button", name=text).or_(
                frame.get_by_role("link", name=text)
            ),
        )
    if target.label is not None:
        label = target.label
        return (
            lambda frame: frame.get_by_label(label, exact=True),
            lambda frame: frame.get_by_label(re.compile(rf"^\W*{re.escape(label)}\W*$", re.I)),
            lambda frame: frame.get_by_placeholder(label, exact=True),
            lambda frame: frame.get_by_label(label),
            lambda frame: frame.get_by_placeholder(label),
        )
    if target.name is None:
        return (lambda frame: frame.get_by_role(role),)
    name = target.name
    return (
        lambda frame: frame.get_by_role(role, name=name, exact=True),
        lambda frame: frame.get_by_role(role, name=name),
    )


async def _visible_first(query: Locator, target: Target) -> list[Locator]:
    """Return the visible matches in one frame, or if there are none, the hidden ones."""
    try:
        visible = query.filter(visible=True)
        count = await visible.count()
        if count:
            return [visible.nth(at) for at in range(min(count, 20))]
        # Pages hide fields and draw their own, so exact matches of hidden fields are accepted.
        if target.selector is None and target.label is None:
            return []
        return [query.nth(at) for at in range(min(await query.count(), 20))]
    except driver_errors() as error:
        if "detached" in str(error):
            return []
        if target.selector and re.search("selector|SyntaxError", str(error)):
            raise tool_error(
                f"The selector {(target.selector or '')[:200]!r} is not valid: {first_line(error)}",
                f"{target.how_to_select()}; a `selector` is a CSS selector",
            ) from None
        raise


async def _narrow(found: list[Locator]) -> list[Locator]:
    """Of several elements with a text, return the one that can be clicked."""
    if len(found) == 1:
        return found
    info = [await _read_info(locator) for locator in found]
    clickable = [locator for locator, fact in zip(found, info, strict=True) if fact.is_interactive]
    return clickable if len(clickable) == 1 else found


async def _read_info(locator: Locator) -> ElementInfo:
    try:
        return ElementInfo.read(await locator.evaluate(DESCRIBE, timeout=2_000))
    except driver_errors() as error:
        raise tool_error(
            f"The element was removed while it was read ({first_line(error)}).",
            "get_current_html with `format=snapshot` lists the current elements",
        ) from None


async def _ambiguous(target: Target, found: list[Locator]) -> ToolError:
    lines = []
    for locator in found[:_MOST_CANDIDATES]:
        info = await _read_info(locator)
        lines.append(f"\n  {info.describe()}: selector {info.selector!r}")
    more = f"\n  and {len(found) - _MOST_CANDIDATES} more" if len(found) > len(lines) else ""
    return tool_error(
        f"{target.describe()} matches {len(found)} elements:{''.join(lines)}{more}",
        "give the `selector` of one of them",
        "get_current_html with `format=snapshot` and `find` returns refs, which are unique",
    )


async def _absent(tab: Tab, target: Target, wait_ms: int | None) -> ToolError:
    wanted = target.text or target.name or target.label or target.selector or ""
    stale = ""
    if target.ref is not None:
        wanted = _name_of_ref(tab.snapshot, target.ref)
        stale = "; the page has changed since the snapshot" if wanted else ""
        stale += "" if tab.snapshot else "; no snapshot of this page was taken"
    waited = f" after {wait_ms} ms" if wait_ms else ""
    candidates = nearest(wanted, await _interactive(tab))
    there = "".join(f"\n  {info.describe()}: selector {info.selector!r}" for info in candidates)
    return tool_error(
        f"No element matches {target.describe()}{waited}{stale}."
        + (f" The closest matches:{there}" if there else " The page has no interactive elements."),
        "give the `selector` of one of these",
        "get_current_html with `format=snapshot` lists the elements with new refs",
        "`waitForElementTimeout` waits for an element that appears later",
        "wait_for with `text` or `selector` waits for an element that appears later",
    )


def _name_of_ref(snapshot: str | None, ref: str) -> str:
    line = re.search(rf"^.*\[ref={re.escape(ref)}\].*$", snapshot or "", re.M)
    named = re.search(r'"((?:[^"\\]|\\.)*)"', line[0]) if line else None
    return named[1] if named else ""


async def _interactive(tab: Tab) -> list[ElementInfo]:
    found: list[ElementInfo] = []
    for frame in tab.page.frames[:_MOST_FRAMES]:
        with contextlib.suppress(*driver_errors()):
            found += map(ElementInfo.read, await frame.evaluate(LIST_INTERACTIVE))
    return found


def nearest(wanted: str, candidates: Sequence[ElementInfo]) -> list[ElementInfo]:
    """Return the candidates whose names or selectors are most similar to the wanted text."""
    folded = wanted.casefold()[:_COMPARED]
    pairs = _pairs(folded)

    def likeness(info: ElementInfo) -> float:
        return max(compare(text.casefold()[:_COMPARED]) for text in (info.name, info.selector))

    def compare(text: str) -> float:
        others = _pairs(text)
        shared = 2 * len(pairs & others) / (len(pairs) + len(others) or 1)
        return shared + (0.5 if folded and folded in text else 0)

    return sorted(candidates, key=likeness, reverse=True)[:_MOST_CANDIDATES]


def _pairs(text: str) -> set[str]:
    """Return the letters and letter pairs of a text.

    Comparing these sets is a hundred times faster than aligning the texts, and pages have hundreds
    of elements. Single letters match texts with swapped letters.
    """
    return {*text, *(text[at : at + 2] for at in range(len(text) - 1))}
