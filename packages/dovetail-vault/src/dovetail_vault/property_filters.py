"""Conditions on the properties of notes: `due < 2026-12-01 AND status != done`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from dovetail import ToolError
from dovetail_vault.yaml_values import scalar_value

__all__ = ["Condition", "holds", "parse_conditions"]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATOR = r"!=|<=|>=|==?|<|>"
_CONDITION = re.compile(
    rf"""\s*(?P<key>"[^"]+"|[^<>=!"]*[^<>=!"\s])\s*(?P<operator>{_OPERATOR})\s*"""
    r"""(?P<value>"[^"]*"|[^<>=!"\s][^<>=!"]*?)\s*(?:\Z|&&|,|\bAND\b)""",
    re.IGNORECASE,
)


class Condition(NamedTuple):
    """A property, an operator, and a value."""

    key: str
    operator: str
    value: Any


def parse_conditions(text: str) -> list[Condition]:
    """Parse conditions joined by AND. Raises ToolError that shows where the error is."""
    conditions, place = [], 0
    while place < len(text):
        match = _CONDITION.match(text, place)
        if match is None:
            raise ToolError(
                f"Invalid condition at character {place + 1} of `where`: {text[place:][:60]!r}; "
                "expected conditions like: due < 2026-12-01 AND status != done"
            )
        value = match["value"]
        conditions.append(
            Condition(
                match["key"].strip('"'),
                match["operator"].replace("==", "="),
                value.strip('"') if value.startswith('"') else scalar_value(value),
            )
        )
        place = match.end()
    return conditions


def holds(condition: Condition, value: Any) -> bool:
    """Whether a value fulfils a condition; of a list, any item. Not for the operator `!=`."""
    if isinstance(value, list) and not isinstance(condition.value, list):
        return any(holds(condition, item) for item in value)
    pair = _comparable(value, condition.value)
    return pair is not None and _COMPARE[condition.operator](*pair)


def _comparable(value: Any, wanted: Any) -> tuple[Any, Any] | None:
    """Return two values in a form that can be compared; None if they cannot."""
    if isinstance(value, str) and isinstance(wanted, str):
        return _as_dates(value, wanted) or (value.casefold(), wanted.casefold())
    if isinstance(value, bool) or isinstance(wanted, bool):
        return (value, wanted) if value is wanted else None
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return value, wanted
    return (0, 0) if value == wanted else None


def _as_dates(value: str, wanted: str) -> tuple[date, date] | None:
    """Return two dates, or two times if both have one; None if one is neither."""
    times = [_parse_time(text.strip("[]")) for text in (value, wanted)]
    if None in times:
        return None
    first, second = times
    assert first is not None and second is not None
    if any(len(text.strip("[]")) == len("2026-12-01") for text in (value, wanted)):
        return first.date(), second.date()
    return first, second


def _parse_time(text: str) -> datetime | None:
    if not text[:1].isdigit():
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
