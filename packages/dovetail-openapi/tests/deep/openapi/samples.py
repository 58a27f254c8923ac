"""Arguments that fit the input schema of a tool, with text that needs encoding."""

from __future__ import annotations

import re
from typing import Any

TEXT = "x y/ä&=;"
_FORMATS = {
    "date": "2024-01-02",
    "date-time": "2024-01-02T03:04:05Z",
    "email": "a@example.com",
    "uri": "https://example.com/a",
    "url": "https://example.com/a",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "hostname": "example.com",
}
_CANDIDATES = ("abc", "ABC", "a1", "1", "12345", "a-b", "a.b", "2024-01-02", "a@b.co", "en",
               "123e4567-e89b-12d3-a456-426614174000", "https://a.example/b", "#ffffff",
               "192.0.2.1", "2024-01-02T03:04:05Z", "\\01", "a" * 40, "1:2", "a/b")  # fmt: skip


def sample(schema: Any, root: Any, depth: int = 0, index: int = 0) -> Any:
    """A value for a schema; optional members only near the root."""
    if not isinstance(schema, dict):
        return TEXT
    schema = _flat(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return next(each for each in schema["enum"] if each is not None)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        count = max(1, schema.get("minItems", 0))
        count = 2 if count == 1 and depth < 2 and schema.get("maxItems", 2) > 1 else count
        items = [sample(schema.get("items", {}), root, depth + 1, n) for n in range(count)]
        return items[:1] if schema.get("uniqueItems") and items.count(items[0]) > 1 else items
    if kind in ("integer", "number"):
        return _number(schema, kind)
    return kind == "boolean" or _text(schema, index) if kind != "null" else None


def _flat(schema: dict[str, Any], root: Any) -> dict[str, Any]:
    """One schema from references, the parts of allOf and the first alternative."""
    flat: dict[str, Any] = {}
    pending = [schema]
    while pending:
        part = pending.pop()
        if "$ref" in part:
            pending.append(root["$defs"][part["$ref"].rpartition("/")[2]])
        pending += part.get("allOf", [])
        choices = [each for each in part.get("anyOf", []) if each != {"type": "null"}]
        pending += choices[:1]
        for key, value in part.items():
            if key == "properties":
                flat["properties"] = {**flat.get("properties", {}), **value}
            elif key == "required":
                flat["required"] = [*flat.get("required", []), *value]
            else:
                flat.setdefault(key, value)
    return flat


def _object(schema: dict[str, Any], root: Any, depth: int) -> dict[str, Any]:
    needed = set(schema.get("required", ()))
    # The arguments and the first level of the body are complete.
    shown = [
        name
        for name, part in schema.get("properties", {}).items()
        if name in needed or (depth < 2 and not _is_nested(part, root))
    ]
    if depth > 12:
        shown = []
    limit = schema.get("maxProperties", len(shown))
    found = {
        name: sample(schema["properties"][name], root, depth + 1)
        for name in sorted(shown, key=lambda name: name not in needed)[:limit]
    }
    for name in needed - found.keys():
        found[name] = TEXT
    if not found and isinstance(schema.get("additionalProperties"), dict):
        found["k"] = sample(schema["additionalProperties"], root, depth + 1)
    return found


def _is_nested(schema: Any, root: Any) -> bool:
    """Whether an optional member would lead into a cycle or into endless detail."""
    return "$ref" in schema or "pattern" in _flat(schema, root)


def _number(schema: dict[str, Any], kind: str) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
    value = max(low, 3) if schema.get("maximum", 3) >= 3 else max(low, 0)
    value = min(value, schema.get("maximum", value))
    step = schema.get("multipleOf")
    if step:
        value = -(-value // step) * step
    return int(value) if kind == "integer" else value


def _text(schema: dict[str, Any], index: int) -> str:
    if schema.get("contentEncoding") == "base64":
        return "AAEC"
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 10_000)
    text = _FORMATS.get(schema.get("format", ""), TEXT if index == 0 else f"{TEXT}{index}")
    if "pattern" in schema:
        fitting = (
            each
            for each in _CANDIDATES
            if re.search(schema["pattern"], each) and shortest <= len(each) <= longest
        )
        return next(fitting, "abc")
    return text.ljust(shortest, "z")[:longest]
