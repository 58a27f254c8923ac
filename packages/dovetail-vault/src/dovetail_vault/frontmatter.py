"""The YAML frontmatter of a note: parsed with a YAML parser, edited line by line.

An edit changes the value of one key and keeps every other byte: comments, order, quotes, blank
lines, and items of a list that stay. A value that is set to what it is changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from dovetail import ToolError
from dovetail_vault.titles import did_you_mean, nearest_names
from dovetail_vault.yaml_edits import comment_of, edit_value
from dovetail_vault.yaml_values import MAX_CHARS, YamlValueError, check_values, dump_yaml, load_yaml

__all__ = [
    "Frontmatter",
    "as_list",
    "delete_key",
    "lines_of_key",
    "parse_frontmatter",
    "set_key",
    "set_keys",
    "split_frontmatter",
]

_BLOCK = re.compile(
    r"\ufeff?---[ \t]*(?:\r?\n)(?P<yaml>(?s:.*?))(?:^|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)",
    re.M,
)
# The plain key includes trailing spaces: a second repetition for them takes quadratic time.
_KEY = re.compile(
    r"""(?P<key>(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]*|[^\s#'"\-\[{&*!|>%@`?:][^:#\n]*)"""
    r":(?=\s|\Z)"
)
# Larger blocks are counted by the YAML loader.
_LARGEST_SIMPLE = 16 * 1024
_SIMPLE = re.compile(
    r"(?:[A-Za-z_][\w -]*:(?: [A-Za-z][\w /.-]*| \[[A-Za-z][\w/-]*(?:, [A-Za-z][\w/-]*)*\])?\r?\n)*"
)
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "nan", "inf"})


class Frontmatter(NamedTuple):
    """The offset after the frontmatter, its values, and what is wrong with it, if anything."""

    end: int
    values: dict[str, Any]
    problem: str | None


def split_frontmatter(text: str) -> tuple[str | None, int]:
    """Return the YAML text (None if there is none) and the offset of the text after it."""
    if not text.startswith(("---", "\ufeff---")):
        return None, 0
    match = _BLOCK.match(text)
    return (None, 0) if match is None else (match["yaml"], match.end())


def parse_frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter; invalid YAML sets `problem` and never raises."""
    block, end = split_frontmatter(text)
    if block is None:
        return Frontmatter(0, {}, None)
    if len(block) > MAX_CHARS:
        return Frontmatter(end, {}, f"the frontmatter has more than {MAX_CHARS} characters")
    simple = _read_simple(block)
    if simple is not None:
        return Frontmatter(end, simple, None)
    try:
        loaded = load_yaml(block)
    except YamlValueError as error:
        return Frontmatter(end, {}, f"invalid YAML: {error}")
    if loaded is not None and not isinstance(loaded, dict):
        return Frontmatter(end, {}, "the frontmatter is not a mapping")
    return Frontmatter(end, loaded or {}, None)


def _read_simple(block: str) -> dict[str, Any] | None:
    """Parse frontmatter of only simple `key: words` lines, which is common; else return None."""
    if len(block) > _LARGEST_SIMPLE or not _SIMPLE.fullmatch(block):
        return None
    values: dict[str, Any] = {}
    for line in block.splitlines():
        key, _, value = line.partition(":")
        value = value.strip()
        items = value[1:-1].split(", ") if value.startswith("[") else [value]
        if key in values or key != key.strip() or any(i.lower() in _NOT_TEXT for i in items):
            return None
        values[key] = items if value.startswith("[") else value or None
    return values


def as_list(value: Any) -> list[str]:
    """Return a property as a list: a list, or a string separated by commas or spaces."""
    if isinstance(value, str):
        return [part for part in re.split(r"[,\s]+", value) if part]
    if isinstance(value, list):
        return [str(part).strip() for part in value if isinstance(part, str | int | float)]
    return [] if value is None or isinstance(value, dict) else [str(value)]


def set_key(text: str, key: str, value: Any) -> str:
    """Return the note with one property set; all other bytes are unchanged."""
    return set_keys(text, {key: value})


def set_keys(text: str, values: Mapping[str, Any]) -> str:
    """Return the note with properties set; all other bytes are unchanged."""
    shown = ", ".join(map(repr, list(values)[:5]))
    try:
        check_values(values)
    except YamlValueError as error:
        raise ToolError(f"The value of {shown[:200]} cannot be stored as YAML: {error}") from None
    current = parse_frontmatter(text).values
    values = {
        key: value
        for key, value in values.items()
        # As JSON, because `1 == True`.
        if key not in current or msgspec.json.encode(current[key]) != msgspec.json.encode(value)
    }
    edited = _write_keys(text, values, in_place=True)
    read = parse_frontmatter(edited)
    if read.problem is not None or any(read.values.get(k) != v for k, v in values.items()):
        edited = _write_keys(text, values, in_place=False)
    _require_valid(edited, shown)
    return edited


def _write_keys(text: str, values: Mapping[str, Any], *, in_place: bool) -> str:
    spans = _spans_of_keys(text)
    current = parse_frontmatter(text).values
    newline = "\r\n" if "\r\n" in text else "\n"
    pieces, place = [], 0
    for key in sorted(values.keys() & spans.keys(), key=spans.__getitem__):
        start, end = spans[key]
        written = _dump({key: values[key]}, newline)
        if in_place:
            written = _edit(text[start:end], key, current.get(key), values[key], newline)
        pieces += [text[place:start], written]
        place = end
    added = {key: value for key, value in values.items() if key not in spans}
    if added:
        start, opening, closing = _end_of_block(text, newline)
        pieces += [text[place:start], opening, _dump(added, newline), closing]
        place = start
    return "".join([*pieces, text[place:]])


def _edit(lines: str, key: str, old: Any, new: Any, newline: str) -> str:
    """Return the lines of a key with another value, and with the comment after the value."""
    plain = lines.replace(newline, "\n")
    edited = edit_value(plain, old, new)
    if edited is None:
        first, _, rest = dump_yaml({key: new}).partition("\n")
        # Behind anything but the colon, a comment could become a part of the value.
        comment = comment_of(plain) if first.endswith(":") else ""
        edited = f"{first}{comment}\n{rest}"
    return edited.replace("\n", newline)


def _dump(values: Mapping[str, Any], newline: str) -> str:
    return dump_yaml(values).replace("\n", newline)


def _end_of_block(text: str, newline: str) -> tuple[int, str, str]:
    """Return where a new key is added, and what is written before and after it."""
    block, end = split_frontmatter(text)
    if block is None:
        return (1 if text.startswith("\ufeff") else 0), f"---{newline}", f"---{newline}"
    return text.index(block, 3, end) + len(block) if block else text.index("\n") + 1, "", ""


def delete_key(text: str, key: str) -> str:
    """Return the note without one property."""
    lines = lines_of_key(text, key)
    if lines is None:
        hint = did_you_mean(nearest_names(key, _spans_of_keys(text)))
        raise ToolError(f"The frontmatter has no key {key[:100]!r}{hint}")
    edited = f"{text[: lines[0]]}{text[lines[1] :]}"
    _require_valid(edited, repr(key))
    return edited


def _require_valid(text: str, shown: str) -> None:
    problem = parse_frontmatter(text).problem
    if problem is not None:
        raise ToolError(f"Changing {shown[:200]} would make the frontmatter invalid: {problem}")


def lines_of_key(text: str, key: str) -> tuple[int, int] | None:
    """Return the span of a top-level key, including its nested lines."""
    return _spans_of_keys(text).get(key)


def _spans_of_keys(text: str) -> dict[str, tuple[int, int]]:
    """Return the span of each top-level key; the first one if a key occurs twice."""
    block, end = split_frontmatter(text)
    if block is None:
        return {}
    problem = parse_frontmatter(text).problem
    if problem is not None:
        raise ToolError(f"The frontmatter cannot be edited: {problem}")
    starts: list[tuple[str | None, int]] = []
    place = text.index(block, 3, end) if block else end
    for line in block.splitlines(keepends=True):
        match = _KEY.match(line)
        if match is not None:
            starts.append((_unquote(match["key"]), place))
        elif line.startswith(("...", "---")):
            starts.append((None, place))
        place += len(line)
    starts.append((None, place))
    spans: dict[str, tuple[int, int]] = {}
    for (key, start), (_, after) in pairwise(starts):
        if key is not None and key not in spans:
            spans[key] = (start, _without_trailing_comments(text, start, after))
    return spans


def _without_trailing_comments(text: str, start: int, end: int) -> int:
    """Exclude comments and blank lines before the next key, which belong to that key."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        end -= len(lines.pop())
    return end


def _unquote(key: str) -> str:
    if key[:1] not in "\"'":
        return key.rstrip()
    try:
        return str(load_yaml(key))
    except YamlValueError:
        # Part of a value of several lines, not a key.
        return key
