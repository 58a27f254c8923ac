"""An editable design state: elements by id, parsed by the model, stored as plain values.

Elements that a change does not touch are neither parsed nor copied, so the cost of a change does
not grow with the design.
"""

from __future__ import annotations

import difflib
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from dovetail import ToolError
from dovetail_design.arranging import Box
from dovetail_design.model import (
    MAX_ELEMENTS,
    AnyElement,
    Design,
    merge_element,
    parse_design,
    parse_element,
    to_plain,
)
from dovetail_design.storage import State

__all__ = ["Canvas", "box_of", "new_id", "refuse_too_many", "shorten", "to_design"]

_SHORTENED = re.compile(r"\.\.\. \(\d+ (?:characters|items)\)\Z")
# 32 characters that are hard to confuse.
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


def new_id(prefix: str, length: int = 10) -> str:
    """Return a random id that cannot be guessed and can be read aloud."""
    return f"{prefix}_{''.join(_LETTERS[byte % 32] for byte in secrets.token_bytes(length))}"


def box_of(plain: Mapping[str, Any]) -> Box:
    """Return the box of a plain element."""
    return Box(plain["x"], plain["y"], plain["width"], plain["height"])


def to_design(state: State) -> Design:
    """Return the state as a Design, for the renderer and the findings."""
    return parse_design(
        {key: state[key] for key in ("width", "height", "background", "elements") if key in state}
    )


def shorten(element: Mapping[str, Any], longest: int) -> dict[str, Any]:
    """Return an element with long texts and lists cut.

    A cut is marked, so that it is recognised when a client sends it back.
    """
    return {key: _shorten(value, longest) for key, value in element.items()}


def _shorten(value: Any, longest: int) -> Any:
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:100]}... ({len(value)} characters)"
    if isinstance(value, list) and len(str(value)) > longest:
        return f"... ({len(value)} items)"
    return value


def _refuse_shortened(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if isinstance(value, str) and _SHORTENED.search(value):
            raise ToolError(
                f"`{name}` is shortened, as get_design returns long values; omit it to keep the "
                "stored value, or pass the whole value"
            )


def refuse_too_many(count: int) -> None:
    """Raise ToolError if there are more elements than allowed."""
    if count > MAX_ELEMENTS:
        raise ToolError(
            f"A design may have at most {MAX_ELEMENTS:,} elements; this would be {count:,}. "
            "Nothing was changed"
        )


def _margins(plain: Mapping[str, Any]) -> tuple[float, float, float, float]:
    """Top, right, bottom, left."""
    usual = plain.get("margin", 0)
    top, right, bottom, left = (
        plain.get(f"margin{side}", usual) for side in ("Top", "Right", "Bottom", "Left")
    )
    return top, right, bottom, left


def _grow(box: Box, margins: tuple[float, float, float, float], sign: int) -> Box:
    top, right, bottom, left = (sign * margin for margin in margins)
    return Box(
        box.x - left,
        box.y - top,
        max(0, box.width + left + right),
        max(0, box.height + top + bottom),
    )


class Canvas:
    """An editable state; `state()` returns the result."""

    def __init__(self, state: State, stamp: str = "") -> None:
        self._rest = {key: value for key, value in state.items() if key != "elements"}
        self.elements: dict[str, dict[str, Any]] = {one["id"]: one for one in state["elements"]}
        self._stamp = stamp
        # How many of each type there were, for default names; deleting does not lower it.
        self._counts = Counter(one["type"] for one in state["elements"])
        # The ids that were changed, in order.
        self.touched: dict[str, None] = {}

    def state(self) -> State:
        """Return the current state."""
        return {**self._rest, "elements": list(self.elements.values())}

    @property
    def frame(self) -> Box:
        """The box of the canvas."""
        return Box(0, 0, self._rest["width"], self._rest["height"])

    @property
    def connectors(self) -> dict[str, dict[str, Any]]:
        """Lines that connect elements; see `connecting`."""
        found: dict[str, dict[str, Any]] = self._rest.get("connectors", {})
        return found

    def set(self, **values: Any) -> None:
        """Change properties of the canvas itself."""
        self._rest.update(values)

    def get(self, id: str) -> dict[str, Any]:
        """Return an element as plain values; raises ToolError."""
        if id not in self.elements:
            raise ToolError(self._explain_missing(id))
        return self.elements[id]

    def boxes(self, ids: Iterable[str]) -> dict[str, Box]:
        """Return the boxes of elements."""
        return {id: box_of(self.get(id)) for id in ids}

    def outer_boxes(self, ids: Iterable[str]) -> dict[str, Box]:
        """Return the boxes of elements including their margins."""
        return {id: _grow(box_of(self.get(id)), _margins(self.get(id)), 1) for id in ids}

    def place_outer(self, boxes: Mapping[str, Box]) -> None:
        """Like `place`, for boxes that include margins."""
        self.place({id: _grow(box, _margins(self.get(id)), -1) for id, box in boxes.items()})

    def add(self, values: Mapping[str, Any]) -> str:
        """Add an element on top and return its id."""
        refuse_too_many(len(self.elements) + 1)
        if not isinstance(values, Mapping):
            parse_element(values)
        _refuse_shortened(values)
        element = parse_element({**values, "createdAt": self._stamp or None, "updatedAt": None})
        plain = _compact(element)
        id = plain.get("id") or new_id("el", 8)
        if id in self.elements:
            raise ToolError(f"The element {id!r} already exists; omit `id` to get a new one")
        kind = plain["type"]
        self._counts[kind] += 1
        name = plain.get("name") or f"{kind} {self._counts[kind]}"
        self.elements[id] = {"type": kind, "id": id, "name": name, **_without(plain, "id", "name")}
        self.touched[id] = None
        return id

    def put(self, values: Mapping[str, Any]) -> None:
        """Add an element with its id, from a template or a generator."""
        plain = _compact(parse_element(values))
        self.elements[plain["id"]] = plain
        self.touched[plain["id"]] = None

    def update(self, id: str, updates: Mapping[str, Any]) -> None:
        """Change properties of an element; a locked one can only be unlocked."""
        before = self.get(id)
        if before.get("locked") and updates.get("locked") is not False:
            raise ToolError(
                f'The element {id!r} is locked; unlock it with updates {{"locked": false}}'
            )
        _refuse_shortened(updates)
        if "groupId" in updates and updates["groupId"] == id:
            raise ToolError(f"The element {id!r} cannot be in a group with its own id")
        merged = merge_element(parse_element(before), updates)
        after = {"id": id, **_compact(merged)}
        if after != before:
            after["updatedAt"] = self._stamp or after.get("updatedAt")
            self.elements[id] = after
            self.touched[id] = None

    def delete(self, ids: Iterable[str]) -> None:
        """Delete elements."""
        for id in ids:
            if self.get(id).get("locked"):
                raise ToolError(f"The element {id!r} is locked and cannot be deleted; unlock it")
            del self.elements[id]
            self.touched[id] = None

    def place(self, boxes: Mapping[str, Box]) -> None:
        """Move elements to new boxes; a container moves its children along."""
        for id, box in boxes.items():
            before = box_of(self.get(id))
            dx, dy = box.x - before.x, box.y - before.y
            sizes = {}
            if (box.width, box.height) != (before.width, before.height):
                least = 0 if self.elements[id]["type"] == "line" else 1
                sizes = {
                    "width": max(least, _tidy(box.width)),
                    "height": max(least, _tidy(box.height)),
                }
            self.update(id, {"x": _tidy(box.x), "y": _tidy(box.y), **sizes})
            for child in self.children(id):
                if child not in boxes and (dx or dy):
                    inner = box_of(self.elements[child])
                    self.update(child, {"x": _tidy(inner.x + dx), "y": _tidy(inner.y + dy)})

    def children(self, id: str) -> list[str]:
        """Return the ids of everything inside a container, at any depth."""
        if self.elements[id]["type"] != "container":
            return []
        found: dict[str, None] = {}
        open_ids = [id]
        while open_ids:
            parent = open_ids.pop()
            for child, element in self.elements.items():
                if element.get("groupId") == parent and child not in found and child != id:
                    found[child] = None
                    if element["type"] == "container":
                        open_ids.append(child)
        return list(found)

    def members(self, group: str) -> list[str]:
        """Return the ids of the elements of a group."""
        return [id for id, element in self.elements.items() if element.get("groupId") == group]

    def reorder(self, ids: list[str]) -> None:
        """Set the drawing order, bottom first."""
        self.elements = {id: self.elements[id] for id in ids}

    def parsed(self, id: str) -> AnyElement:
        """Return an element as parsed by the model."""
        return parse_element(self.get(id))

    def _explain_missing(self, id: str) -> str:
        by_name = [
            key for key, one in self.elements.items() if one.get("name", "").lower() == id.lower()
        ]
        close = by_name or difflib.get_close_matches(id, self.elements, n=3)
        hint = f"; did you mean {', '.join(map(repr, close[:3]))}?" if close else ""
        return f"There is no element {id[:100]!r}{hint or '; describe_design lists them'}"


def _without(plain: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in plain.items() if key not in (*names, "type")}


def _compact(element: AnyElement) -> dict[str, Any]:
    """Return plain values, with whole numbers as int."""
    return {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in to_plain(element).items()
    }


def _tidy(value: float) -> float:
    """Round to hundredths of a pixel, with whole numbers as int."""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded
