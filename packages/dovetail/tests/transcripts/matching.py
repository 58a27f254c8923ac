"""Expected against actual: placeholders capture, everything else must be equal."""

from __future__ import annotations

import difflib
import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Set
from typing import Any

__all__ = ["captured_names", "explain", "fill_in", "find_differences", "has_unknown_names", "spell"]

_NAME = re.compile(r"<([a-z_]+)>")
_REFERENCE = re.compile(r'"\$(\w+)"|\$(\w+)')
# Words of JSON Schema that look like references.
_SCHEMA_WORDS = frozenset({"schema", "ref", "defs", "id", "comment", "anchor"})
_WIDTH = 98


def fill_in(text: str, names: Mapping[str, Any]) -> str:
    """The text with `$name` replaced; quotes around a whole reference go with it."""

    def replace(found: re.Match[str]) -> str:
        whole, inner = found.groups()
        name = whole or inner
        if name not in names:
            if name in _SCHEMA_WORDS:
                return found[0]
            raise KeyError(f"${name} is not known here; known are {', '.join(sorted(names))}")
        value = names[name]
        if whole is None and isinstance(value, str):
            return json.dumps(value)[1:-1]
        return json.dumps(value, ensure_ascii=False)

    return _REFERENCE.sub(replace, text)


def captured_names(text: str) -> list[str]:
    """The names that a line captures."""
    return _NAME.findall(text)


def has_unknown_names(text: str, names: Set[str]) -> bool:
    """Whether the text refers to a name that is not among `names`."""
    found = {whole or inner for whole, inner in _REFERENCE.findall(text)}
    return not found <= names | _SCHEMA_WORDS


def find_differences(
    expected: Any, actual: Any, names: dict[str, Any], path: str = "$"
) -> Iterator[str]:
    """Where they differ, in words; captures go into `names`."""
    if isinstance(expected, str):
        yield from _compare_text(expected, actual, names, path)
    elif type(expected) is not type(actual) and not _are_numbers(expected, actual):
        yield f"{path}: expected {_show(expected)}, got {_show(actual)}"
    elif isinstance(expected, dict):
        for key in expected.keys() - actual.keys():
            yield f"{path}.{key}: missing, expected {_show(expected[key])}"
        for key in actual.keys() - expected.keys():
            yield f"{path}.{key}: not expected, got {_show(actual[key])}"
        for key in expected.keys() & actual.keys():
            yield from find_differences(expected[key], actual[key], names, f"{path}.{key}")
    elif isinstance(expected, list):
        if len(expected) != len(actual):
            yield f"{path}: expected {len(expected)} items, got {len(actual)}"
        for index, (one, other) in enumerate(zip(expected, actual, strict=False)):
            yield from find_differences(one, other, names, f"{path}[{index}]")
    elif expected != actual:
        yield f"{path}: expected {_show(expected)}, got {_show(actual)}"


def _compare_text(expected: str, actual: Any, names: dict[str, Any], path: str) -> Iterator[str]:
    whole = _NAME.fullmatch(expected)
    if whole is not None:
        names[whole[1]] = actual
        return
    if not isinstance(actual, str):
        yield f"{path}: expected {_show(expected)}, got {_show(actual)}"
        return
    pieces = _NAME.split(expected)
    pattern = "".join(
        f"(?P<{piece}>.+?)" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)
    )
    found = re.fullmatch(pattern, actual, re.DOTALL)
    if found is None:
        yield f"{path}: expected {_show(expected)}, got {_show(actual)}"
    else:
        names.update(found.groupdict())


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _show(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


def explain(expected: Any, actual: Any, differences: list[str]) -> str:
    """What a reader of a failed test needs."""
    lines = difflib.unified_diff(
        json.dumps(expected, indent=2, ensure_ascii=False, sort_keys=True).splitlines(),
        json.dumps(actual, indent=2, ensure_ascii=False, sort_keys=True).splitlines(),
        "expected",
        "actual",
        lineterm="",
    )
    return "\n".join([*differences, "", *lines])


def spell(value: Any, names: Mapping[str, Any], indent: int = 4, taken: int = 4) -> str:
    """JSON for a transcript: on one line if it fits, known objects by their name."""
    for name, known in names.items():
        if value == known and isinstance(known, dict) and known:
            return f"${name}"
    flat = _spell_flat(value, names)
    if len(flat) + taken <= _WIDTH or not isinstance(value, dict | list) or not value:
        return flat
    margin = " " * indent
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        lines = textwrap.wrap(flat, _WIDTH - indent, break_long_words=False, break_on_hyphens=False)
        return f"\n{margin}".join(lines)
    if isinstance(value, list):
        inner = [spell(item, names, indent + 2, indent) for item in value]
        opening, closing = "[", "]"
    else:
        inner = []
        for key, item in value.items():
            start = f"{json.dumps(key, ensure_ascii=False)}: "
            inner.append(start + spell(item, names, indent + 2, indent + len(start)))
        opening, closing = "{", "}"
    return f"{opening}\n{margin}" + f",\n{margin}".join(inner) + closing


def _spell_flat(value: Any, names: Mapping[str, Any]) -> str:
    for name, known in names.items():
        if value == known and isinstance(known, dict) and known:
            return f"${name}"
    if isinstance(value, dict):
        members = (
            f"{json.dumps(key, ensure_ascii=False)}: {_spell_flat(item, names)}"
            for key, item in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_spell_flat(item, names) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\u2028", "\\u2028")
