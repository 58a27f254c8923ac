"""The accessibility tree of a page as text with refs: complete, filtered, or as a diff.

Playwright creates the tree, including frames and open shadow roots, without hidden text (see
`page_mask.py`). This module parses it line by line, removes wrappers without content and values of
password fields, and applies the filters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dovetail_browser.html_vocabulary import words
from dovetail_browser.isolated_world import Documents, open_documents
from dovetail_browser.line_diff import compare_lines
from dovetail_browser.page_errors import tool_error
from dovetail_browser.page_mask import masked
from dovetail_browser.text_filters import drop_invisible, hide_secrets

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["DEFAULT_OPTIONS", "Snapshot", "SnapshotOptions", "read_snapshot"]

_LINE = re.compile(r"(?P<indent> *)- (?P<rest>.*)")
_ROLE = re.compile(r"(?P<role>[\w/]+)(?: (?P<name>\"(?:[^\"\\]|\\.)*\"|/(?:[^/\\]|\\.)+/))?")
_REF = re.compile(r"\[ref=([\w]+)\]")
_POINTER = " [cursor=pointer]"
_MOST_FRAMES = 200
_TRIES = 3
_HIDDEN_VALUE = "[hidden]"
_INTERACTIVE = words(
    "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option "
    "combobox listbox textbox searchbox slider spinbutton treeitem"
)
_FIELDS = words("textbox searchbox combobox spinbutton")

# Values of password and similar fields, also in open shadow roots. They stay in this process.
_TYPED_SECRETS = """() => {
  if (!document.body) return null;
  const found = [];
  const roots = [document];
  for (let root; (root = roots.pop()); ) {
    for (const element of root.querySelectorAll("*")) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      if (!(element instanceof HTMLInputElement) || !element.value) continue;
      const kind = `${element.type} ${element.autocomplete}`;
      if (/password|one-time-code|cc-number|cc-csc/i.test(kind)) found.push(element.value);
    }
  }
  return found;
}"""


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """Options of a snapshot."""

    interactive_only: bool = False
    depth: int | None = None
    # Only lines that contain this text (case-insensitive), and their ancestors.
    find: str = ""
    # Only the tree below the element that this selector matches.
    selector: str | None = None
    boxes: bool = False
    # Return the diff to `previous`, if given; it compares the complete trees.
    diff: bool = False


DEFAULT_OPTIONS = SnapshotOptions()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The text to return, and the complete tree for the next diff."""

    text: str
    # Pass this as `previous` to the next snapshot of the same tab.
    whole: str
    # Of the complete tree: number of lines, of refs, and of interactive elements.
    lines: int
    refs: int
    interactive: int
    matches: int | None = None
    # What the limits left out; empty if nothing.
    note: str = ""
    # Lines added and removed since the previous snapshot; None without a diff.
    added: int | None = None
    removed: int | None = None


class _Line(NamedTuple):
    """One line of the tree."""

    depth: int
    role: str
    # Without indentation and hyphen.
    text: str
    has_name: bool
    # The text after the colon.
    value: str
    has_ref: bool
    is_pointed_at: bool

    @property
    def is_wrapper(self) -> bool:
        """Whether it has no content and is not interactive."""
        return (
            self.role == "generic"
            and not self.has_name
            and not self.value
            and not self.is_pointed_at
        )

    @property
    def is_interactive(self) -> bool:
        """Whether it is interactive."""
        if not self.has_ref:
            return False
        return self.role in _INTERACTIVE or (self.role == "generic" and self.is_pointed_at)

    def __str__(self) -> str:
        return f"{'  ' * self.depth}- {self.text}"


async def read_snapshot(
    page: Page,
    options: SnapshotOptions = DEFAULT_OPTIONS,
    *,
    previous: str | None = None,
    secrets: Collection[str] = (),
    timeout_ms: float = 10_000,
) -> Snapshot:
    """Read the accessibility tree of a page, iframes and open shadow roots included.

    Raises ToolError if the selector matches no element or several.
    """
    for _ in range(_TRIES):
        async with open_documents(page, _MOST_FRAMES) as documents:
            typed = await _typed_secrets(documents)
            async with masked(documents) as mask:
                raw = await _read_tree(page, options, timeout_ms)
                # A frame that was added meanwhile or cannot be attached to is not masked.
                is_masked = len(page.frames) <= len(documents.frames) and await mask.is_complete()
            # Values may have changed meanwhile.
            typed |= await _typed_secrets(documents)
        if is_masked:
            break
    else:
        raise tool_error(
            "The frames of the page could not be checked for hidden text: there are too many, or "
            "they changed each time.",
            "try again",
            "get_current_html with `format=markdown` reads the page",
        )
    lines = _without_wrappers(_parse(hide_secrets(drop_invisible(raw), secrets), typed))
    whole = "\n".join(map(str, lines))
    text, matches, added, removed = whole, None, None, None
    if options.diff and previous is not None:
        text, added, removed = compare_lines(previous, whole)
    elif options.interactive_only or options.find:
        shown, matches = _filter(lines, options)
        text = "\n".join(map(str, shown))
    return Snapshot(
        text=text,
        whole=whole,
        lines=len(lines),
        refs=sum(line.has_ref for line in lines),
        interactive=sum(line.is_interactive for line in lines),
        matches=matches,
        note=mask.note,
        added=added,
        removed=removed,
    )


async def _read_tree(page: Page, options: SnapshotOptions, timeout_ms: float) -> str:
    if options.selector is None:
        return await page.aria_snapshot(
            mode="ai", depth=options.depth, boxes=options.boxes, timeout=timeout_ms
        )
    locator = page.locator(options.selector)
    count = await locator.count()
    if count != 1:
        many = f"matches {count:,} elements" if count else "matches nothing"
        raise tool_error(
            f"The selector {options.selector[:200]!r} {many} on the page; a snapshot needs one.",
            "omit `selector`, then choose a more specific one",
        )
    return await locator.aria_snapshot(
        mode="ai", depth=options.depth, boxes=options.boxes, timeout=timeout_ms
    )


async def _typed_secrets(documents: Documents) -> set[str]:
    from playwright.async_api import Error  # noqa: PLC0415 - heavy, and not needed before

    found: set[str] = set()
    for frame in documents.frames:
        try:
            values = await documents.run(frame, _TYPED_SECRETS, {})
        except Error as error:
            if frame == documents.main or "destroyed" not in error.message:
                raise
            continue  # The frame was removed.
        if values is None and frame == documents.main:
            raise tool_error(
                "This document (for example an SVG image) has no accessibility tree.",
                "get_current_html with `format=text` reads its text",
                "take_screenshot shows it",
            )
        found.update(" ".join(value.split()) for value in values or ())
    return found


def _parse(raw: str, typed: set[str]) -> list[_Line]:
    lines: list[_Line] = []
    for written in raw.splitlines():
        match = _LINE.fullmatch(written)
        if match is None:
            # Continuation of a text with several lines.
            if lines and written.strip():
                last = lines[-1]
                lines[-1] = last._replace(text=f"{last.text} {written.strip()}")
            continue
        lines.append(_parse_line(len(match["indent"]) // 2, _unquote_key(match["rest"]), typed))
    return lines


def _unquote_key(rest: str) -> str:
    """Remove the quotes that YAML needs around a key with a colon."""
    if not rest.startswith("'"):
        return rest
    end = re.match(r"'(?:[^']|'')*'", rest)
    return rest if end is None else end[0][1:-1].replace("''", "'") + rest[end.end() :]


def _parse_line(depth: int, rest: str, typed: set[str]) -> _Line:
    match = _ROLE.match(rest)
    role, name = (match["role"], match["name"]) if match else ("", None)
    after = match.end() if match else 0
    colon = _value_place(rest, after)
    value = rest[colon:].strip() if colon >= 0 else ""
    if role in _FIELDS and value and _is_typed(_plain_value(value), typed):
        rest, value = f"{rest[:colon]} {_HIDDEN_VALUE}", _HIDDEN_VALUE
    return _Line(
        depth=depth,
        role=role,
        text=rest.replace(_POINTER, ""),
        has_name=bool(name),
        value=value,
        has_ref=_REF.search(rest, after) is not None,
        is_pointed_at=_POINTER in rest,
    )


def _value_place(rest: str, after: int) -> int:
    """Return the index after the colon that follows the attributes; -1 if there is none."""
    match = re.compile(r"(?: \[[^\]]*\])*:").match(rest, after)
    return match.end() if match else -1


def _plain_value(value: str) -> str:
    if value.startswith('"') and value.endswith('"') and len(value) > 1:
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    if value.startswith("'") and value.endswith("'") and len(value) > 1:
        return value[1:-1].replace("''", "'")
    return value


def _is_typed(value: str, typed: set[str]) -> bool:
    shown = " ".join(value.split())
    return shown in typed or any(len(shown) > 20 and one.startswith(shown) for one in typed)


def _without_wrappers(lines: Iterable[_Line]) -> list[_Line]:
    """Remove wrappers and move their children up."""
    kept: list[_Line] = []
    # Depths of the open wrappers.
    opened: list[int] = []
    for line in lines:
        while opened and line.depth <= opened[-1]:
            opened.pop()
        if line.is_wrapper:
            opened.append(line.depth)
        else:
            kept.append(line._replace(depth=line.depth - len(opened)))
    return kept


def _filter(lines: list[_Line], options: SnapshotOptions) -> tuple[list[_Line], int]:
    """Return the requested lines, and the number of matches."""
    wanted = options.find.casefold()
    shown: list[_Line] = []
    above: list[tuple[_Line, bool]] = []
    matches = 0
    for line in lines:
        while above and above[-1][0].depth >= line.depth:
            above.pop()
        is_match = (not options.interactive_only or line.is_interactive) and (
            not wanted or wanted in line.text.casefold()
        )
        if is_match:
            matches += 1
            if wanted:
                # Ancestors that were not shown for another match.
                for at, (parent, is_shown) in enumerate(above):
                    if not is_shown:
                        shown.append(parent)
                        above[at] = (parent, True)
            shown.append(line if wanted else line._replace(depth=0))
        above.append((line, is_match))
    return shown, matches
