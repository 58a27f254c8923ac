"""The YAML frontmatter of a note: parsed with a YAML parser, edited line by line.

An edit replaces the lines of one key and keeps every other byte: comments, order, quotes, blank
lines. The frontmatter is never dumped from the parsed values.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, NamedTuple

import yaml

from dovetail import ToolError

__all__ = [
    "Frontmatter",
    "as_list",
    "delete_key",
    "lines_of_key",
    "parse_frontmatter",
    "set_key",
    "split_frontmatter",
]

_BLOCK = re.compile(
    r"\ufeff?---[ \t]*(?:\r?\n)(?P<yaml>(?s:.*?))(?:^|(?<=\n))(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)",
    re.M,
)
_KEY = re.compile(
    r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\-\[{&*!|>%@`?:][^:#\n]*?)"""
    r"[ \t]*:(?=\s|\Z)"
)
_LARGEST = 256 * 1024
_MAX_VALUES = 20_000
_MAX_NUMBER = 15
_REPLACED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("timestamp", "bool", "int", "float"))
_SIMPLE = re.compile(
    r"(?:[A-Za-z_][\w -]*:(?: [A-Za-z][\w /.-]*| \[[A-Za-z][\w/-]*(?:, [A-Za-z][\w/-]*)*\])?\r?\n)*"
)
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "nan", "inf"})


class Frontmatter(NamedTuple):
    """The offset after the frontmatter, its values, and what is wrong with it, if anything."""

    end: int
    values: dict[str, Any]
    problem: str | None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.2 scalars, as in Obsidian: `yes`, dates and 12:30 are strings."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _whole_number(loader: Any, node: Any) -> int | str:
    text = loader.construct_scalar(node)
    # Longer ones are identifiers like account numbers, and JSON would round them.
    return int(text) if len(text) <= _MAX_NUMBER else str(text)


_SCALARS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
)
for _name, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), list(_first)
    )
_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)


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
    if len(block) > _LARGEST:
        return Frontmatter(end, {}, f"the frontmatter has more than {_LARGEST} characters")
    simple = _read_simple(block)
    if simple is not None:
        return Frontmatter(end, simple, None)
    try:
        loaded = yaml.load(block, Loader=_Loader)
        values = _plain(loaded if isinstance(loaded, dict) else {}, [_MAX_VALUES])
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as error:
        return Frontmatter(end, {}, f"invalid YAML: {_first_line(error)}")
    if loaded is not None and not isinstance(loaded, dict):
        return Frontmatter(end, {}, "the frontmatter is not a mapping")
    return Frontmatter(end, values, None)


def _read_simple(block: str) -> dict[str, Any] | None:
    """Parse frontmatter of only simple `key: words` lines, which is common; else return None."""
    if not _SIMPLE.fullmatch(block):
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


def _first_line(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return f"{what} at line {mark.line + 2}" if mark is not None else str(what)


def _plain(value: Any, budget: list[int]) -> Any:
    """Convert to JSON values; the budget stops aliases that expand without end."""
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError("too many values")
    if isinstance(value, dict):
        return {_key(key): _plain(inner, budget) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, budget) for inner in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return str(value)


def _key(key: Any) -> str:
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    return str(key)


def as_list(value: Any) -> list[str]:
    """Return a property as a list: a list, or a string separated by commas or spaces."""
    if isinstance(value, str):
        return [part for part in re.split(r"[,\s]+", value) if part]
    if isinstance(value, list):
        return [str(part).strip() for part in value if isinstance(part, str | int | float)]
    return [] if value is None or isinstance(value, dict) else [str(value)]


def _dump(values: dict[str, Any]) -> str:
    return str(yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=10_000))


def set_key(text: str, key: str, value: Any) -> str:
    """Return the note with one property set; all other bytes are unchanged."""
    lines = lines_of_key(text, key)
    fresh = _dump({key: value})
    if "\r\n" in text:
        fresh = fresh.replace("\n", "\r\n")
    if lines is not None:
        edited = f"{text[: lines[0]]}{fresh}{text[lines[1] :]}"
    else:
        block, end = split_frontmatter(text)
        if block is None:
            mark = "\ufeff" if text.startswith("\ufeff") else ""
            rule = "---\r\n" if "\r\n" in text else "---\n"
            edited = f"{mark}{rule}{fresh}{rule}{text.removeprefix(mark)}"
        else:
            place = text.index(block, 3, end) + len(block) if block else text.index("\n") + 1
            edited = f"{text[:place]}{fresh}{text[place:]}"
    _require_valid(edited, key)
    return edited


def delete_key(text: str, key: str) -> str:
    """Return the note without one property."""
    lines = lines_of_key(text, key)
    if lines is None:
        raise ToolError(f"The frontmatter has no key {key!r}")
    edited = f"{text[: lines[0]]}{text[lines[1] :]}"
    _require_valid(edited, key)
    return edited


def _require_valid(text: str, key: str) -> None:
    problem = parse_frontmatter(text).problem
    if problem is not None:
        raise ToolError(f"Changing {key!r} would make the frontmatter invalid: {problem}")


def lines_of_key(text: str, key: str) -> tuple[int, int] | None:
    """Return the span of a top-level key, including its nested lines."""
    block, end = split_frontmatter(text)
    if block is None:
        return None
    if parse_frontmatter(text).problem is not None:
        raise ToolError(f"The frontmatter cannot be edited: {parse_frontmatter(text).problem}")
    start = text.index(block, 3, end) if block else end
    place, found = start, None
    for line in block.splitlines(keepends=True):
        match = _KEY.match(line)
        if found is not None and (match is not None or line.startswith(("...", "---"))):
            return found, _without_trailing_comments(text, found, place)
        if match is not None and _unquote(match["key"]) == key:
            found = place
        place += len(line)
    return None if found is None else (found, _without_trailing_comments(text, found, place))


def _without_trailing_comments(text: str, start: int, end: int) -> int:
    """Exclude comments and blank lines before the next key, which belong to that key."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].startswith("#")):
        end -= len(lines.pop())
    return end


def _unquote(key: str) -> str:
    if key[:1] in "\"'":
        loaded = yaml.load(key, Loader=_Loader)
        return str(loaded)
    return key
