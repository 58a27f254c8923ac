"""edit-note: apply several edits to a text, all or none. Does not write files."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta

from dovetail import ToolError
from dovetail_vault.frontmatter import delete_key, parse_frontmatter, set_key
from dovetail_vault.note import Note
from dovetail_vault.patterns import compile_pattern
from dovetail_vault.replacements import check_length
from dovetail_vault.sections import find_section, find_target_block
from dovetail_vault.words import without_surrogates

__all__ = ["Edit", "EditTarget", "append_under", "apply_edits", "diff_of", "newline_of"]

Op = Literal["replace", "append", "prepend", "insert_before", "insert_after", "set", "delete"]
_MAX_DIFF_LINES = 2_000
_MAX_DIFF_CHARS = 20_000
# Matches of a regular expression are counted up to this number, if fewer are expected.
_MAX_COUNTED = 1_000
_HUNK_START = re.compile(r"([-+])(\d+)")


@dataclass
class EditTarget:
    """Set exactly one.

    Attributes:
        heading: A list includes the parent headings.
        block: An id.
        frontmatter: A property.
        text: Exact text.
        regex: RE2; ^ and $ match at lines.
    """

    heading: str | list[str] | None = None
    block: str | None = None
    frontmatter: str | None = None
    text: str | None = None
    regex: str | None = None


@dataclass
class Edit:
    """One edit.

    Attributes:
        op: append and prepend: to a section or list property; set: a property.
        target: What to edit.
        content: Text, or the value of a property; \\1 is a group of the regex.
        expectedCount: How often text or regex must occur; all are edited.
    """

    op: Op
    target: EditTarget
    content: Any = None
    expectedCount: Annotated[int, Meta(ge=1, le=10_000)] = 1


def newline_of(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def apply_edits(path: str, text: str, edits: Sequence[Edit]) -> tuple[str, int]:
    """Return the edited text and the number of changed places. Raises ToolError if one fails."""
    total = 0
    for number, edit in enumerate(edits, 1):
        try:
            kind, target = _only_target(edit.target)
            text, count = _APPLY[kind](Note(path, text), edit, target)
            check_length(len(text))
        except ToolError as error:
            raise ToolError(
                f"Edit {number} of {len(edits)}: {error}. Nothing was changed"
            ) from None
        total += count
    return text, total


def append_under(note: Note, heading: str | list[str], content: str) -> str:
    """Return the text with content appended to a section's own text."""
    edit = Edit("append", EditTarget(heading=heading), content)
    return _edit_section(note, edit, heading)[0]


def diff_of(path: str, before: str, after: str) -> str:
    """Return a unified diff, or only the number of lines if it is very large."""
    old, new = _split_lines(before), _split_lines(after)
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    changed = max(len(old), len(new)) - start - end
    if changed > _MAX_DIFF_LINES:
        return f"@@ {changed} lines from line {start + 1} differ @@"
    # Three lines of context; the rest is equal and not compared.
    first, last = max(0, start - 3), max(0, end - 3)
    lines = difflib.unified_diff(
        old[first : len(old) - last], new[first : len(new) - last], path, path, lineterm=""
    )
    text = without_surrogates("\n".join(_shift_hunk(line, first) for line in lines))
    return text if len(text) <= _MAX_DIFF_CHARS else f"{text[:_MAX_DIFF_CHARS]}\n…"


def _split_lines(text: str) -> list[str]:
    """Split a text into lines, which are numbered as in read-note."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def _shift_hunk(line: str, skipped: int) -> str:
    """Return a line of a diff; its line numbers count from the start of the note."""
    if not line.startswith("@@"):
        return line
    return _HUNK_START.sub(lambda match: f"{match[1]}{int(match[2]) + skipped}", line)


def _only_target(target: EditTarget) -> tuple[str, Any]:
    given = [(name, value) for name, value in vars(target).items() if value is not None]
    if len(given) != 1:
        raise ToolError(
            "target must have exactly one of heading, block, frontmatter, text and regex, got "
            f"{', '.join(name for name, _ in given) or 'none'}"
        )
    name, value = given[0]
    if not value:
        raise ToolError(f"the target's {name} is empty")
    return name, value


def _content(edit: Edit) -> str:
    if edit.op == "delete":
        return ""
    if not isinstance(edit.content, str):
        raise ToolError(
            f"{edit.op} requires content of type string, got {type(edit.content).__name__}"
        )
    return edit.content


def _lines(content: str, newline: str) -> str:
    """Return content as whole lines, with the line ending of the note."""
    if newline == "\r\n":
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    return content if not content or content.endswith("\n") else f"{content}{newline}"


def _splice(text: str, start: int, end: int, content: str) -> str:
    newline = newline_of(text)
    if content and start > 0 and text[start - 1] != "\n":
        content = f"{newline}{content}"
    return f"{text[:start]}{content}{text[end:]}"


def _edit_section(note: Note, edit: Edit, target: Any) -> tuple[str, int]:
    section = find_section(note, target)
    content = _lines(_content(edit), newline_of(note.text))
    tail = section.own_end
    # Insert before the blank lines that precede the next heading.
    stripped = note.text[section.body : tail].rstrip()
    last_line = note.text.find("\n", section.body + len(stripped))
    append_at = tail if last_line < 0 or last_line + 1 > tail else last_line + 1
    places = {
        "replace": (section.body, section.end),
        "append": (append_at, append_at),
        "prepend": (section.body, section.body),
        "insert_before": (section.start, section.start),
        "insert_after": (section.end, section.end),
        "delete": (section.start, section.end),
    }
    if edit.op not in places:
        raise ToolError("op 'set' works only for properties; use replace for a section")
    if edit.op == "replace" and section.end < len(note.text) and content:
        content += newline_of(note.text)
    return _splice(note.text, *places[edit.op], content), 1


def _edit_block(note: Note, edit: Edit, target: Any) -> tuple[str, int]:
    start, end = find_target_block(note, target)
    text, newline = note.text, newline_of(note.text)
    after = text.find("\n", end)
    after = len(text) if after < 0 else after + 1
    content = _lines(_content(edit), newline)
    mark = f"^{target.lstrip('^')}"
    if edit.op == "replace":
        body = content.rstrip("\r\n")
        if not body.endswith(mark):
            body = f"{body} {mark}"
        return _splice(text, start, end, body), 1
    if edit.op == "delete":
        return _splice(text, start, after, ""), 1
    if edit.op in ("insert_before", "prepend"):
        return _splice(text, start, start, content), 1
    if edit.op in ("insert_after", "append"):
        return _splice(text, after, after, content), 1
    raise ToolError("op 'set' works only for properties; use replace for a block")


def _edit_property(note: Note, edit: Edit, target: Any) -> tuple[str, int]:
    if edit.op == "delete":
        return delete_key(note.text, target), 1
    if edit.op in ("set", "replace"):
        return set_key(note.text, target, edit.content), 1
    if edit.op not in ("append", "prepend"):
        raise ToolError(
            f"op {edit.op!r} does not work for properties; use set, delete, append or prepend"
        )
    current = parse_frontmatter(note.text).values.get(target)
    listed = [] if current is None else current if isinstance(current, list) else [current]
    added = edit.content if isinstance(edit.content, list) else [edit.content]
    value = [*listed, *added] if edit.op == "append" else [*added, *listed]
    return set_key(note.text, target, value), 1


def _edit_text(note: Note, edit: Edit, target: Any) -> tuple[str, int]:
    text, content = note.text, _content(edit)
    if "\r\n" in text:
        target = target.replace("\r\n", "\n").replace("\n", "\r\n")
        content = content.replace("\r\n", "\n").replace("\n", "\r\n")
    count = text.count(target)
    _require_count(edit, count, repr(target[:100]))
    replacement = _around(edit, target, content)
    check_length(len(text) + count * (len(replacement) - len(target)))
    return text.replace(target, replacement), count


def _edit_regex(note: Note, edit: Edit, target: Any) -> tuple[str, int]:
    pattern = compile_pattern(target, case_sensitive=True, several_lines=True)
    content = _content(edit)
    if edit.op in ("insert_before", "prepend"):
        content = f"{content}\\0"
    elif edit.op in ("insert_after", "append"):
        content = f"\\0{content}"
    elif edit.op == "set":
        raise ToolError("op 'set' works only for properties; use replace")
    most = max(edit.expectedCount, _MAX_COUNTED) + 1
    count = pattern.count(note.text, most)
    _require_count(edit, count, f"/{target[:100]}/", most)
    return pattern.expand(note.text, content), count


def _around(edit: Edit, target: str, content: str) -> str:
    if edit.op in ("insert_before", "prepend"):
        return f"{content}{target}"
    if edit.op in ("insert_after", "append"):
        return f"{target}{content}"
    if edit.op == "set":
        raise ToolError("op 'set' works only for properties; use replace")
    return content


def _require_count(edit: Edit, count: int, shown: str, most: int | None = None) -> None:
    if count != edit.expectedCount:
        times = f"{count} times" if count != most else f"{count} times or more"
        raise ToolError(f"{shown} occurs {times}, expectedCount is {edit.expectedCount}")


_APPLY = {
    "heading": _edit_section,
    "block": _edit_block,
    "frontmatter": _edit_property,
    "text": _edit_text,
    "regex": _edit_regex,
}
