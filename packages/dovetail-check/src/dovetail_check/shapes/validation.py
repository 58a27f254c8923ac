"""Validate values against the tables of shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from dovetail.spec.revisions import Revision
from dovetail_check.shapes.client_requests import CLIENT_REQUESTS
from dovetail_check.shapes.content import CONTENT
from dovetail_check.shapes.features import FEATURES
from dovetail_check.shapes.initialization import INITIALIZATION
from dovetail_check.shapes.notifications import NOTIFICATION_SHAPES
from dovetail_check.shapes.spans import Choice, Members, at
from dovetail_check.shapes.tasks import TASKS

__all__ = ["SHAPES", "find_problems", "members_at"]

SHAPES: dict[str, Members | Choice] = {
    **INITIALIZATION,
    **CONTENT,
    **FEATURES,
    **CLIENT_REQUESTS,
    **TASKS,
    **NOTIFICATION_SHAPES,
}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return _is_number(value) and value == value // 1


_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "a string"),
    "integer": (_is_integer, "an integer"),
    "number": (_is_number, "a number"),
    "fraction": (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"),
    "count": (lambda value: _is_integer(value) and value >= 0, "a non-negative integer"),
    "boolean": (lambda value: isinstance(value, bool), "a boolean"),
    "object": (lambda value: isinstance(value, dict), "an object"),
    "null": (lambda value: value is None, "null"),
    "any": (lambda value: True, "anything"),
}


def find_problems(value: Any, what: str, revision: Revision, path: str = "") -> Iterator[str]:
    """One line for each mismatch, with its path."""
    options = _split(what)
    if len(options) > 1:
        yield from _check_one_of(value, options, revision, path)
    elif what in SHAPES:
        yield from _check_shape(value, what, revision, path)
    elif what[0] == "[":
        yield from _check_array(value, what[1:-1], revision, path)
    elif what[0] == "{":
        yield from _check_map(value, what[1:-1], revision, path)
    elif not _is_simple(value, what):
        yield _mismatch(path, value, _name(what))


def members_at(shape: str, revision: Revision) -> dict[str, tuple[str, bool]]:
    """The members of a shape at a revision: the type of each, and whether it is required."""
    table = SHAPES[shape]
    assert not isinstance(table, Choice)
    found: dict[str, tuple[str, bool]] = {}
    for name, entry in table.items():
        what = at(revision, entry)
        if what is not None:
            found[name.removesuffix("?")] = (what, not name.endswith("?"))
    return found


def _check_shape(value: Any, shape: str, revision: Revision, path: str) -> Iterator[str]:
    table = SHAPES[shape]
    if not isinstance(value, dict):
        yield _mismatch(path, value, f"an object ({shape})")
    elif isinstance(table, Choice):
        yield from _check_choice(value, table, revision, path)
    elif "=" in table:
        alias = at(revision, table["="])
        yield from find_problems(value, alias or "any", revision, path)
    else:
        for name, (what, is_required) in members_at(shape, revision).items():
            inside = f"{path}.{name}" if path else name
            if name in value:
                yield from find_problems(value[name], what, revision, inside)
            elif is_required:
                yield f"{inside}: missing"


def _check_choice(
    value: dict[str, Any], choice: Choice, revision: Revision, path: str
) -> Iterator[str]:
    allowed = {key: what for key, entry in choice.shapes.items() if (what := at(revision, entry))}
    inside = f"{path}.{choice.member}" if path else choice.member
    picked = value.get(choice.member, choice.default)
    if isinstance(picked, str) and picked in allowed:
        yield from find_problems(value, allowed[picked], revision, path)
    elif choice.member not in value:
        yield f"{inside}: missing"
    else:
        yield _mismatch(inside, picked, " or ".join(repr(key) for key in allowed))


def _check_one_of(
    value: Any, options: tuple[str, ...], revision: Revision, path: str
) -> Iterator[str]:
    """The problems of the option with the fewest problems."""
    found = [list(find_problems(value, option, revision, path)) for option in options]
    if not all(found):
        return
    if all(_is_plain(option) for option in options):
        yield _mismatch(path, value, " or ".join(_name(option) for option in options))
    else:
        yield from min(found, key=len)


def _check_array(value: Any, inner: str, revision: Revision, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield _mismatch(path, value, "an array")
        return
    for index, item in enumerate(value):
        yield from find_problems(item, inner, revision, f"{path}[{index}]")


def _check_map(value: Any, inner: str, revision: Revision, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield _mismatch(path, value, "an object")
        return
    for key, item in value.items():
        yield from find_problems(item, inner, revision, f"{path}[{key!r}]")


@cache
def _split(what: str) -> tuple[str, ...]:
    """The options of `X | Y`. A `|` inside brackets does not split."""
    if what[0] in "[{" and what[-1] in "]}" and "|" not in re.sub(r"[\[{].*[\]}]", "", what):
        return (what,)
    return tuple(option.strip() for option in re.split(r"\|(?![^\[{]*[\]}])", what))


def _is_plain(what: str) -> bool:
    return what in _KINDS or what[0] == "'"


def _is_simple(value: Any, what: str) -> bool:
    if what[0] == "'":
        return bool(value == what[1:-1])
    return _KINDS[what][0](value)


def _name(what: str) -> str:
    return what if what[0] == "'" else _KINDS[what][1]


def _mismatch(path: str, value: Any, expected: str) -> str:
    got = repr(value)
    got = got if len(got) <= 60 else f"{got[:57]}..."
    return f"{path or 'value'}: expected {expected}, got {got}"
