"""server/tools#x-mcp-header: parameters that are repeated in headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.mirrored_params import Mark, is_token, marks_in
from dovetail_check.noting import note_each, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent

__all__: list[str] = []

_PRIMITIVE = ("integer", "string", "boolean")
# Beyond these a double has gaps between whole numbers.
_SAFE = 2**53 - 1
# Words in the name of a parameter that speak of secrets or of a person.
_SENSITIVE = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "credentials"}
    | {"email", "phone", "ssn", "birthday", "birthdate", "iban"}
)


def _judge(seen: ProbeSession, problem: Callable[[Mark], str | None]) -> Iterator[Note]:
    yield from undeclared(seen, "tools")
    found: list[tuple[Exchange, Mark]] = []
    for page, tool in offered(seen, "tools"):
        found += [(page, mark) for mark in marks_in(tool.get("inputSchema"))]
    if not found and seen.pages("tools"):
        yield absent("no tool has x-mcp-header in its schema")
    yield from note_each(found, problem)


def _at(mark: Mark) -> str:
    return f"x-mcp-header {mark.value!r:.60} at {mark.where}"


@rule("tools.xheader.nonempty", reads=("walk",))
def header_names_are_not_empty(seen: ProbeSession) -> Iterator[Note]:
    """No empty text."""
    yield from _judge(seen, lambda mark: f"{_at(mark)} is empty" if mark.value == "" else None)


@rule("tools.xheader.token", reads=("walk",))
def header_names_are_tokens(seen: ProbeSession) -> Iterator[Note]:
    """What may stand in the name of a header (RFC 9110)."""
    yield from _judge(
        seen, lambda mark: None if is_token(mark.value) else f"{_at(mark)} is no HTTP token"
    )


@rule("tools.xheader.no-control", reads=("walk",))
def header_names_have_no_control_characters(seen: ProbeSession) -> Iterator[Note]:
    """Above all no line breaks."""

    def problem(mark: Mark) -> str | None:
        has_one = re.search(r"[\x00-\x1f\x7f]", mark.value) if isinstance(mark.value, str) else None
        return f"{_at(mark)} has a control character" if has_one else None

    yield from _judge(seen, problem)


@rule("tools.xheader.unique", reads=("walk",))
def header_names_are_unique(seen: ProbeSession) -> Iterator[Note]:
    """Within one schema, whatever the case."""
    yield from undeclared(seen, "tools")

    def problem(marks: list[Mark]) -> str | None:
        often = Counter(str(mark.value).lower() for mark in marks)
        twice = [name for name, times in often.items() if times > 1]
        return f"x-mcp-header names {twice} more than once in one schema" if twice else None

    marked = [(page, marks_in(tool.get("inputSchema"))) for page, tool in offered(seen, "tools")]
    found = [(page, marks) for page, marks in marked if marks]
    if not found and seen.pages("tools"):
        yield absent("no tool has x-mcp-header in its schema")
    yield from note_each(found, problem)


@rule("tools.xheader.primitive", reads=("walk",))
def only_primitive_parameters_are_repeated(seen: ProbeSession) -> Iterator[Note]:
    """integer, string or boolean, and integers that a double can hold."""

    def problem(mark: Mark) -> str | None:
        kind = mark.schema.get("type")
        # Nobody says that null may not be one of several types.
        kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
        if any(one not in _PRIMITIVE for one in kinds):
            return f"{_at(mark)} is on type {kind!r:.60}; integer, string or boolean was due"
        far = [key for key in _BOUNDS if kind == "integer" and _is_beyond(mark.schema.get(key))]
        return f"{_at(mark)}: {far[0]} is beyond what a double holds exactly" if far else None

    yield from _judge(seen, problem)


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "default")


def _is_beyond(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > _SAFE


@rule("tools.xheader.reachable", reads=("walk",))
def marks_are_reached_by_properties_alone(seen: ProbeSession) -> Iterator[Note]:
    """Not through items, combinators, conditions or references."""
    yield from _judge(
        seen,
        lambda mark: None if mark.names else f"{_at(mark)} is not reached by properties keys alone",
    )


@rule("tools.xheader.not-sensitive", reads=("walk",))
def secrets_are_not_repeated(seen: ProbeSession) -> Iterator[Note]:
    """By the names of the parameter and the header, which is all that can be seen."""

    def problem(mark: Mark) -> str | None:
        said = " ".join([*mark.path[-1:], str(mark.value)])
        words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", said)}
        sensitive = sorted(words & _SENSITIVE)
        if {"api", "key"} <= words:
            sensitive.append("api key")
        return f"{_at(mark)} speaks of {sensitive[0]}" if sensitive else None

    yield from _judge(seen, problem)


unjudged["tools.xheader.use"] = "a permission: nothing to break"
