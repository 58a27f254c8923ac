"""Compares two states by element and property."""

from __future__ import annotations

from typing import Any

from dovetail_design.storage import State

__all__ = ["compare", "summarise"]

_SHOWN = 200
# Set by the server; differences in them are ignored.
_STAMPS = frozenset({"createdAt", "updatedAt"})


def compare(before: State, after: State) -> list[dict[str, Any]]:
    """Return each difference: its kind, the element, and the old and new values."""
    old = {one["id"]: one for one in before["elements"]}
    new = {one["id"]: one for one in after["elements"]}
    found: list[dict[str, Any]] = []
    canvas = _changes(_canvas(before), _canvas(after))
    if canvas:
        found.append({"change": "canvas", "properties": canvas})
    for id, element in new.items():
        if id not in old:
            found.append({"change": "added", **_name(element), "properties": []})
        elif properties := _changes(old[id], element):
            found.append({"change": "changed", **_name(element), "properties": properties})
    found += [
        {"change": "removed", **_name(element), "properties": []}
        for id, element in old.items()
        if id not in new
    ]
    kept = [id for id in old if id in new]
    if kept != [id for id in new if id in old]:
        found.append({"change": "reordered", "properties": []})
    return found


def summarise(differences: list[dict[str, Any]]) -> str:
    """Return the differences in one line, for lists of versions."""
    counts: dict[str, int] = {}
    for one in differences:
        counts[one["change"]] = counts.get(one["change"], 0) + 1
    words = [
        f"{kind} {number}" if kind in ("added", "changed", "removed") else kind
        for kind, number in counts.items()
    ]
    return ", ".join(words)


def _name(element: dict[str, Any]) -> dict[str, Any]:
    return {
        "elementId": element["id"],
        "type": element["type"],
        "name": element.get("name", ""),
    }


def _canvas(state: State) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key != "elements"}


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"property": key, "before": _show(old.get(key)), "after": _show(new.get(key))}
        for key in dict.fromkeys([*old, *new])
        if key not in _STAMPS and old.get(key) != new.get(key)
    ]


def _show(value: Any) -> Any:
    """Return short values as they are, long ones cut."""
    text = value if isinstance(value, str) else repr(value)
    return value if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
