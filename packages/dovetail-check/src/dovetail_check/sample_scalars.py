"""Generates strings and numbers that match a JSON Schema, simple ones first."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count, islice
from math import ceil, floor
from typing import Any

from dovetail.schema import Schema
from dovetail_check.text_patterns import UnknownPatternError, text_for

__all__ = ["NoSampleError", "numbers", "texts"]

_FORMATS = {
    "date": "2025-01-01",
    "date-time": "2025-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "nobody@example.com",
    "idn-email": "nobody@example.com",
    "uri": "https://example.com/",
    "uri-reference": "/",
    "uri-template": "https://example.com/{id}",
    "iri": "https://example.com/",
    "iri-reference": "/",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "hostname": "example.com",
    "idn-hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "json-pointer": "/sample",
    "relative-json-pointer": "0",
    "regex": "^sample$",
    "byte": "c2FtcGxl",
}
# Longer strings are not generated.
_LONGEST = 100_000
# Extra repetitions to try until the text of a pattern is long enough.
_EXTRAS = (0, 1, 2, 3, 4, 7, 11, 15, 19, 31, 63, 127, 255)
_BRANCHES = 4
_MANY = 1000


class NoSampleError(Exception):
    """No value can be generated for the schema."""


def texts(schema: Schema) -> Iterator[str]:
    """Yield strings that match format, pattern and lengths, as far as supported."""
    least, most = _bound(schema, "minLength", 0), _bound(schema, "maxLength", _LONGEST)
    if least > _LONGEST:
        raise NoSampleError(f"a string of {least} characters is too long to generate")
    if isinstance(schema.get("pattern"), str):
        yield from _matching(schema["pattern"], least, most)
        return
    known = _FORMATS.get(str(schema.get("format")))
    if known is not None:
        yield known
        return
    for number in range(_MANY):
        tail = "" if number == 0 else str(number)
        body = "sample"[: max(0, most - len(tail))]
        yield (body + tail).rjust(least, "x")[:most]


def _bound(schema: Schema, key: str, default: int) -> int:
    value = schema.get(key, default)
    return int(value) if isinstance(value, int | float) else default


def _matching(pattern: str, least: int, most: int) -> Iterator[str]:
    try:
        for extra in _EXTRAS:
            for branch in range(_BRANCHES):
                text = text_for(pattern, extra=extra, branch=branch)
                # A pattern without an end anchor matches any suffix.
                loose = "" if pattern.endswith("$") else "x" * (least - len(text))
                if least <= len(text + loose) <= most:
                    yield text + loose
    except UnknownPatternError:
        return


def numbers(schema: Schema, *, whole: bool) -> Iterator[int | float]:
    """Yield numbers within the bounds, starting at 1 or at the nearest bound."""
    step = _exact(schema.get("multipleOf")) or None
    if whole:
        step = Fraction(1) if step is None else _common(step)
    low, high = _limits(schema, step)
    for value in islice(_spread(low, high, step), _MANY):
        yield int(value) if value.denominator == 1 else float(value)


def _exact(value: Any) -> Fraction | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Fraction(str(value)) if is_number else None


def _common(step: Fraction) -> Fraction:
    """The step between the whole multiples of a step."""
    return Fraction(step.numerator)


def _limits(schema: Schema, step: Fraction | None) -> tuple[Fraction | None, Fraction | None]:
    """The lowest and highest value; exclusive bounds are moved inward."""
    edges = [_exact(schema.get(key)) for key in ("exclusiveMinimum", "exclusiveMaximum")]
    width = edges[1] - edges[0] if edges[0] is not None and edges[1] is not None else None
    nudge = Fraction(1, 1024) if width is None else width / 4
    found: list[Fraction | None] = []
    for plain, exclusive, sign in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        bound, strict = _exact(schema.get(plain)), schema.get(exclusive)
        if isinstance(strict, bool):
            # Draft 4: a flag next to the bound.
            edge = bound if strict else None
            bound = None if strict else bound
        else:
            edge = _exact(strict)
        moved = None if edge is None else _beyond(edge, sign, step, nudge)
        both = [value for value in (bound, moved) if value is not None]
        found.append((max if sign == 1 else min)(both, default=None))
    return found[0], found[1]


def _beyond(edge: Fraction, sign: int, step: Fraction | None, nudge: Fraction) -> Fraction:
    if step is None:
        return edge + sign * nudge
    return (floor(edge / step) + 1 if sign == 1 else ceil(edge / step) - 1) * step


def _spread(
    low: Fraction | None, high: Fraction | None, step: Fraction | None
) -> Iterator[Fraction]:
    pace = step or Fraction(1)
    start = Fraction(1) if step is None else step
    is_inside = (low is None or low <= start) and (high is None or start <= high)
    if not is_inside and low is not None:
        start = low if step is None else ceil(low / step) * step
    elif not is_inside and high is not None:
        start = high if step is None else floor(high / step) * step
    if low is not None and high is not None and step is None and not is_inside:
        yield (low + high) / 2
    rising = high is None or start < high
    for number in count():
        value = start + (number if rising else -number) * pace
        if (high is not None and value > high) or (low is not None and value < low):
            break
        yield value
    for number in count(1):
        value = start - number * pace
        if not rising or (low is not None and value < low):
            return
        yield value
