"""Parses SVG path data and viewBox strictly, because both are untrusted input.

A path becomes a list of commands with their numbers, as written (relative ones stay relative).
Errors name the position.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

__all__ = ["Box", "PathCommand", "parse_svg_path", "parse_view_box"]

MAX_COMMANDS = 20_000

_LENGTHS = {"m": 2, "l": 2, "h": 1, "v": 1, "c": 6, "s": 4, "q": 4, "t": 2, "a": 7, "z": 0}
_TOKEN = re.compile(
    r"[\s,]*(?:([MmLlHhVvCcSsQqTtAaZz])|([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))"
)
_FLAG = re.compile(r"[\s,]*([01])")
_REST = re.compile(r"[\s,]*\Z")
_LARGE = 1e7
# Longer paths are not cached: a thousand of them would take gigabytes.
_SHORT = 4_000


class PathCommand(NamedTuple):
    """A command letter and its numbers."""

    letter: str
    numbers: tuple[float, ...]


class Box(NamedTuple):
    """A viewBox."""

    x: float
    y: float
    width: float
    height: float


def parse_svg_path(text: str, most: int | None = MAX_COMMANDS) -> tuple[PathCommand, ...]:
    """Return the commands of a path, at most `most`; raises ValueError."""
    return _parse_kept(text, most) if len(text) <= _SHORT else _parse(text, most)


def _parse(text: str, most: int | None) -> tuple[PathCommand, ...]:
    commands: list[PathCommand] = []
    letter, at = "", 0
    while not _REST.match(text, at):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _no_path(text, at)
        if token[1]:
            letter, at = token[1], token.end()
        elif letter in ("", "z", "Z"):
            raise _no_path(text, at)
        if not commands and letter not in "mM":
            raise ValueError("svgPath must begin with M or m")
        numbers, at = _numbers(text, at, letter)
        commands.append(PathCommand(letter, numbers))
        if most is not None and len(commands) > most:
            raise ValueError(f"svgPath has more than {most} commands")
        # Numbers after a moveto without a new letter are a lineto.
        letter = {"m": "l", "M": "L"}.get(letter, letter)
    if not commands:
        raise ValueError("svgPath is empty; pass path data such as M 0 0 L 100 100 Z")
    return tuple(commands)


_parse_kept = functools.lru_cache(maxsize=1024)(_parse)


def _numbers(text: str, at: int, letter: str) -> tuple[tuple[float, ...], int]:
    numbers = []
    for index in range(_LENGTHS[letter.lower()]):
        # The two flags of an arc may be written without a space: "a1 1 0 01.5.5".
        is_flag = letter in "aA" and index in (3, 4)
        found = (_FLAG if is_flag else _TOKEN).match(text, at)
        digits = found and (found[1] if is_flag else found[2])
        if found is None or not digits or abs(float(digits)) > _LARGE:
            raise _no_path(text, at)
        numbers.append(float(digits))
        at = found.end()
    return tuple(numbers), at


def _no_path(text: str, at: int) -> ValueError:
    return ValueError(
        f"svgPath cannot be read at character {at + 1}: {text[at : at + 20]!r}; allowed are the "
        "letters MLHVCSQTAZ (or small) with their numbers"
    )


@functools.lru_cache(maxsize=512)
def parse_view_box(text: str) -> Box:
    """Parse four numbers; raises ValueError."""
    try:
        numbers = [float(part) for part in text.replace(",", " ").split()]
        box = Box(*numbers)
    except (ValueError, TypeError):
        box = Box(0, 0, 0, 0)
    if not (
        0 < box.width <= _LARGE and 0 < box.height <= _LARGE and abs(box.x) + abs(box.y) < _LARGE
    ):
        raise ValueError(
            f"svgViewBox must be four numbers 'x y width height' with a positive size, "
            f"not {text[:40]!r}"
        )
    return box
