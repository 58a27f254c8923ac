"""server/tools#x-mcp-header: parameters that are mirrored in headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.mirrored_params import Mark, is_token, marks_in
from dovetail_check.notes import note_each, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, not_applicable

__all__: list[str] = []

_PRIMITIVE = ("integer", "string", "boolean")
# Above this, a double cannot represent every integer.
_SAFE = 2**53 - 1
# Words in parameter names that suggest secrets or personal data.
_SENSITIVE = frozenset(
    {"password", "passwd", "passphrase", "secret", "token", "apikey", "credential", "credentials"}
    | {"email", "phone", "ssn", "birthday", "birthdate", "iban"}
)


def _judge(session: ProbeSession, problem: Callable[[Mark], str | None]) -> Iterator[Note]:
    yield from undeclared(session, "tools")
    found: list[tuple[Exchange, Mark]] = []
    for page, tool in offered(session, "tools"):
        found += [(page, mark) for mark in marks_in(tool.get("inputSchema"))]
    if not found and session.pages("tools"):
        yield not_applicable("no tool has x-mcp-header in its schema")
    yield from note_each(found, problem)


def _at(mark: Mark) -> str:
    return f"x-mcp-header {mark.value!r:.60} at {mark.where}"


@rule("tools.xheader.nonempty", reads=("walk",))
def header_names_are_not_empty(session: ProbeSession) -> Iterator[Note]:
    """x-mcp-header is not an empty string."""
    yield from _judge(session, lambda mark: f"{_at(mark)} is empty" if mark.value == "" else None)


@rule("tools.xheader.token", reads=("walk",))
def header_names_are_tokens(session: ProbeSession) -> Iterator[Note]:
    """x-mcp-header is a valid header name (RFC 9110)."""
    yield from _judge(
        session, lambda mark: None if is_token(mark.value) else f"{_at(mark)} is not an HTTP token"
    )


@rule("tools.xheader.no-control", reads=("walk",))
def header_names_have_no_control_characters(session: ProbeSession) -> Iterator[Note]:
    """x-mcp-header has no control characters such as line breaks."""

    def problem(mark: Mark) -> str | None:
        has_one = re.search(r"[\x00-\x1f\x7f]", mark.value) if isinstance(mark.value, str) else None
        return f"{_at(mark)} has a control character" if has_one else None

    yield from _judge(session, problem)


@rule("tools.xheader.unique", reads=("walk",))
def header_names_are_unique(session: ProbeSession) -> Iterator[Note]:
    """Within one schema no name occurs twice, ignoring case."""
    yield from undeclared(session, "tools")

    def problem(marks: list[Mark]) -> str | None:
        often = Counter(str(mark.value).lower() for mark in marks)
        twice = [name for name, times in often.items() if times > 1]
        return f"x-mcp-header uses {twice} more than once in one schema" if twice else None

    marked = [(page, marks_in(tool.get("inputSchema"))) for page, tool in offered(session, "tools")]
    found = [(page, marks) for page, marks in marked if marks]
    if not found and session.pages("tools"):
        yield not_applicable("no tool has x-mcp-header in its schema")
    yield from note_each(found, problem)


@rule("tools.xheader.primitive", reads=("walk",))
def only_primitive_parameters_are_mirrored(session: ProbeSession) -> Iterator[Note]:
    """Types are integer, string or boolean, and integers fit a double exactly."""

    def problem(mark: Mark) -> str | None:
        kind = mark.schema.get("type")
        # The page does not forbid null as one of several types.
        kinds = [one for one in kind if one != "null"] if isinstance(kind, list) else [kind]
        if any(one not in _PRIMITIVE for one in kinds):
            return f"{_at(mark)} is on type {kind!r:.60}; expected integer, string or boolean"
        far = [key for key in _BOUNDS if kind == "integer" and _is_beyond(mark.schema.get(key))]
        return f"{_at(mark)}: {far[0]} is too large for an exact double" if far else None

    yield from _judge(session, problem)


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "default")


def _is_beyond(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) > _SAFE


@rule("tools.xheader.reachable", reads=("walk",))
def marks_are_reached_by_properties_alone(session: ProbeSession) -> Iterator[Note]:
    """x-mcp-header is not inside items, combinators, conditions or references."""
    yield from _judge(
        session,
        lambda mark: (
            None if mark.names else f"{_at(mark)} is not reachable by properties keys alone"
        ),
    )


@rule("tools.xheader.not-sensitive", reads=("walk",))
def secrets_are_not_mirrored(session: ProbeSession) -> Iterator[Note]:
    """The names of the parameter and the header do not suggest sensitive data."""

    def problem(mark: Mark) -> str | None:
        said = " ".join([*mark.path[-1:], str(mark.value)])
        words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", said)}
        sensitive = sorted(words & _SENSITIVE)
        if {"api", "key"} <= words:
            sensitive.append("api key")
        return f"{_at(mark)} suggests sensitive data: {sensitive[0]}" if sensitive else None

    yield from _judge(session, problem)


unjudged["tools.xheader.use"] = "a permission: nothing to violate"
