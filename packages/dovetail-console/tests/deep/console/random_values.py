"""Random values for a JSON Schema: most of them valid, and changes that may make them invalid.

hypothesis-jsonschema cannot draw objects with the hypothesis of the lock file, so this is our own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

__all__ = ["draw_valid", "mutate"]

_TEXTS = [
    "",
    "a",
    "Ada",
    "two words",
    "ünï",
    "🦊🦊🦊",
    'say "hi"',
    "<b>",
    "1",
    "null",
    "n_x",
    "line\nbreak",
    "x" * 30,
]
_NAMES = ["alpha", "b", "x-y", "two words", "n_1", "s_1", "north", "ü", "1", "abc"]
_ODD: list[Any] = [None, True, 0, -1, 1.5, 10**6, "", "zz", "x" * 40, [], [None], {}, {"zz": 1}]


def draw_valid(schema: Any, is_valid: Callable[[Any], bool], dice: random.Random) -> list[Any]:
    """Return up to eight different values that the schema accepts."""
    found: list[Any] = []
    for _ in range(120):
        value = _Drawing(schema, dice).draw(schema)
        if len(found) < 8 and value not in found and is_valid(value):
            found.append(value)
    return found


def mutate(value: Any, dice: random.Random) -> Any:
    """Return the value with one change somewhere, which may or may not leave it valid."""
    if isinstance(value, dict) and value and dice.random() < 0.7:
        key = dice.choice(list(value))
        rest = {name: part for name, part in value.items() if name != key}
        return rest if dice.random() < 0.3 else {**rest, key: mutate(value[key], dice)}
    if isinstance(value, dict) and dice.random() < 0.5:
        return {**value, "zz": dice.choice(_ODD)}
    if isinstance(value, list) and value and dice.random() < 0.7:
        i = dice.randrange(len(value))
        changed = dice.choice([[], [mutate(value[i], dice)], [value[i], value[i]]])
        return value[:i] + changed + value[i + 1 :]
    return dice.choice(_ODD)


class _Drawing:
    """Follows the words that say what a value looks like; the caller drops what does not fit."""

    def __init__(self, root: Any, dice: random.Random) -> None:
        self._root = root
        self._dice = dice

    def draw(self, schema: Any, depth: int = 0) -> Any:
        if schema in (True, False) or depth > 8:
            return self._dice.choice(_ODD)
        schema = self._merge(schema)
        if "const" in schema or "enum" in schema:
            return schema["const"] if "const" in schema else self._dice.choice(schema["enum"])
        kinds = schema.get("type") or self._guess(schema)
        kind = self._dice.choice(kinds) if isinstance(kinds, list) else kinds
        if kind == "object":
            return self._draw_object(schema, depth)
        if kind == "array":
            return self._draw_array(schema, depth)
        if kind in ("integer", "number"):
            return self._draw_number(schema, kind)
        simple = {
            "null": None,
            "boolean": self._dice.random() < 0.5,
            "string": self._dice.choice(_TEXTS),
        }
        return simple[kind]

    def _merge(self, schema: Any) -> Any:
        merged = {
            key: part
            for key, part in schema.items()
            if key not in ("$ref", "allOf", "anyOf", "oneOf")
        }
        parts = list(schema.get("allOf", ()))
        parts += [self._find(schema["$ref"])] if "$ref" in schema else []
        parts += [self._dice.choice(schema[key]) for key in ("anyOf", "oneOf") if key in schema]
        for part in parts:
            for key, rule in self._merge(part if isinstance(part, dict) else {}).items():
                is_map = isinstance(rule, dict) and isinstance(merged.get(key), dict)
                merged[key] = (
                    {**merged[key], **rule}
                    if is_map
                    else merged[key] + rule
                    if key == "required" and key in merged
                    else rule
                )
        return merged

    def _find(self, reference: str) -> Any:
        node = self._root
        for part in reference.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            node = node[int(key)] if isinstance(node, list) else node[key]
        return node

    @staticmethod
    def _guess(schema: Any) -> str:
        if "properties" in schema or "required" in schema or "additionalProperties" in schema:
            return "object"
        return "array" if "items" in schema or "prefixItems" in schema else "string"

    def _draw_object(self, schema: Any, depth: int) -> dict[str, Any]:
        rules = schema.get("properties", {})
        required = schema.get("required", [])
        names = [
            name for name in rules if name in required or self._dice.random() < 0.6 / (depth + 1)
        ]
        value = {name: self.draw(rules.get(name, True), depth + 1) for name in [*names, *required]}
        more = [
            *schema.get("patternProperties", {}).values(),
            schema.get("additionalProperties", False),
        ]
        for part in more if self._dice.random() < 0.7 else []:
            for name in self._dice.sample(_NAMES, 2) if part is not False else []:
                value.setdefault(name, self.draw(part, depth + 1))
        return value

    def _draw_array(self, schema: Any, depth: int) -> list[Any]:
        parts = schema.get("prefixItems", [])
        value = [self.draw(part, depth + 1) for part in parts]
        count = max(schema.get("minItems", 0) - len(value), self._dice.randrange(3))
        return value + [self.draw(schema.get("items", True), depth + 1) for _ in range(count)]

    def _draw_number(self, schema: Any, kind: str) -> int | float:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -20))
        high = schema.get("maximum", schema.get("exclusiveMaximum", low + 60))
        number = self._dice.choice(
            [low, high, self._dice.randint(int(low), int(high)), self._dice.uniform(low, high)]
        )
        return int(number) if kind == "integer" else number
