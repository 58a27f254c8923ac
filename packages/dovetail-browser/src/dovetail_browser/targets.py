"""Which element a call means: found at once, or an error that names what is there.

A target is a ref of a snapshot, a CSS selector, visible text, a role with a name, or a label. All
frames of the page are looked at; open shadow roots are part of them. One that is not there, or
there several times, is never waited for unless the caller says how long.
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
from dovetail_browser.element_facts import DESCRIBE, LIST_INTERACTIVE, ElementFacts
from dovetail_browser.page_errors import ask, driver_errors, first_line, refuse
from dovetail_browser.tab import Tab

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator

__all__ = ["Found", "Target", "count_matches", "find_target", "nearest"]

_POLL_SECONDS = 0.1
_LOOK_SECONDS = 8.0
_MOST_CANDIDATES = 6
_MOST_FRAMES = 30
# Letters of a name that are looked at.
_COMPARED = 80

_Query = Callable[["Frame"], "Locator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a caller says of an element."""

    ref: str | None = None
    selector: str | None = None
    text: str | None = None
    role: str | None = None
    name: str | None = None
    label: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether anything was said."""
        return any((self.ref, self.selector, self.text, self.role, self.name, self.label))

    def describe(self) -> str:
        """What was said, for a sentence."""
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
        """Refuse what says two things at once, or none."""
        ways = [self.ref, self.selector, self.text, self.role, self.label]
        if (self.name and not self.role) or sum(map(bool, ways)) != 1:
            raise refuse(
                f"Name one element in one way: {self.describe() or 'nothing'} was given.",
                "give one of ref, selector, text, label, or role with name",
                "page_snapshot lists the elements with their refs",
            )


@dataclass(frozen=True, slots=True)
class Found:
    """An element, and what it is."""

    locator: Locator
    facts: ElementFacts


async def find_target(tab: Tab, target: Target, wait_ms: int | None = None) -> Found:
    """The one element that is meant."""
    target.check()
    deadline = time.monotonic() + (wait_ms or 0) / 1000
    while True:
        found = await ask(_look(tab, target), "looking for an element", _LOOK_SECONDS)
        if found or time.monotonic() >= deadline:
            break
        await asyncio.sleep(_POLL_SECONDS)
    if not found:
        raise await ask(_absent(tab, target, wait_ms), "listing its elements")
    if len(found) > 1:
        raise await _ambiguous(target, found)
    return Found(found[0], await _facts(found[0]))


async def count_matches(tab: Tab, target: Target) -> int:
    """How many visible elements fit, at this moment."""
    return len(await _look(tab, target))


async def _look(tab: Tab, target: Target) -> list[Locator]:
    if target.ref is not None:
        locator = tab.page.locator(f"aria-ref={target.ref}")
        try:
            return [locator] if await locator.count() else []
        except driver_errors() as error:
            # Of a frame, or a page, that is not there any more.
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
    """Ways to look for a target, the strictest first."""
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
    """The matches in one frame: those that can be seen, or else those that cannot."""
    try:
        visible = query.filter(visible=True)
        count = await visible.count()
        if count:
            return [visible.nth(at) for at in range(min(count, 20))]
        # Pages hide fields and draw their own; what names one exactly still means it.
        if target.selector is None and target.label is None:
            return []
        return [query.nth(at) for at in range(min(await query.count(), 20))]
    except driver_errors() as error:
        if "detached" in str(error):
            return []
        if target.selector and re.search("selector|SyntaxError", str(error)):
            raise refuse(
                f"The selector {(target.selector or '')[:200]!r} cannot be read: "
                f"{first_line(error)}",
                "give a CSS selector, or text, role with name, label or ref instead",
            ) from None
        raise


async def _narrow(found: list[Locator]) -> list[Locator]:
    """Of several elements with a text, the one that can be clicked."""
    if len(found) == 1:
        return found
    facts = [await _facts(locator) for locator in found]
    clickable = [locator for locator, fact in zip(found, facts, strict=True) if fact.is_interactive]
    return clickable if len(clickable) == 1 else found


async def _facts(locator: Locator) -> ElementFacts:
    try:
        return ElementFacts.read(await locator.evaluate(DESCRIBE, timeout=2_000))
    except driver_errors() as error:
        raise refuse(
            f"The element went away while it was looked at ({first_line(error)}).",
            "page_snapshot shows what is there now",
        ) from None


async def _ambiguous(target: Target, found: list[Locator]) -> ToolError:
    lines = []
    for locator in found[:_MOST_CANDIDATES]:
        facts = await _facts(locator)
        lines.append(f"\n  {facts.describe()}: selector {facts.selector!r}")
    more = f"\n  and {len(found) - _MOST_CANDIDATES} more" if len(found) > len(lines) else ""
    return refuse(
        f"{target.describe()} fits {len(found)} elements:{''.join(lines)}{more}",
        "give the selector of one of them",
        "page_snapshot with find gives refs, which are never ambiguous",
    )


async def _absent(tab: Tab, target: Target, wait_ms: int | None) -> ToolError:
    wanted = target.text or target.name or target.label or target.selector or ""
    stale = ""
    if target.ref is not None:
        wanted = _name_of_ref(tab.snapshot, target.ref)
        stale = " any more; the page has changed since the snapshot" if wanted else ""
        stale += "" if tab.snapshot else "; no snapshot of this page was taken"
    waited = f" after {wait_ms} ms" if wait_ms else ""
    candidates = nearest(wanted, await _interactive(tab))
    there = "".join(f"\n  {facts.describe()}: selector {facts.selector!r}" for facts in candidates)
    return refuse(
        f"No element has {target.describe()}{stale}{waited}."
        + (
            f" The nearest there are:{there}" if there else " Nothing here can be clicked or typed."
        ),
        "give the selector of one of these",
        "page_snapshot lists what is there, with fresh refs",
        "waitForElementTimeout waits for an element that comes later",
    )


def _name_of_ref(snapshot: str | None, ref: str) -> str:
    line = re.search(rf"^.*\[ref={re.escape(ref)}\].*$", snapshot or "", re.M)
    named = re.search(r'"((?:[^"\\]|\\.)*)"', line[0]) if line else None
    return named[1] if named else ""


async def _interactive(tab: Tab) -> list[ElementFacts]:
    found: list[ElementFacts] = []
    for frame in tab.page.frames[:_MOST_FRAMES]:
        with contextlib.suppress(*driver_errors()):
            found += map(ElementFacts.read, await frame.evaluate(LIST_INTERACTIVE))
    return found


def nearest(wanted: str, candidates: Sequence[ElementFacts]) -> list[ElementFacts]:
    """Those whose names or selectors are most like what was wanted."""
    folded = wanted.casefold()[:_COMPARED]
    pairs = _pairs(folded)

    def likeness(facts: ElementFacts) -> float:
        return max(compare(text.casefold()[:_COMPARED]) for text in (facts.name, facts.selector))

    def compare(text: str) -> float:
        others = _pairs(text)
        shared = 2 * len(pairs & others) / (len(pairs) + len(others) or 1)
        return shared + (0.5 if folded and folded in text else 0)

    return sorted(candidates, key=likeness, reverse=True)[:_MOST_CANDIDATES]


def _pairs(text: str) -> set[str]:
    """Letters and neighbouring letters of a text.

    How many two texts share is found a hundred times faster than by aligning them, and pages have
    hundreds of elements; single letters find those that were typed in the wrong order.
    """
    return {*text, *(text[at : at + 2] for at in range(len(text) - 1))}
