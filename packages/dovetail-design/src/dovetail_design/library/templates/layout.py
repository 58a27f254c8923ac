"""Expands the elements of a template file to the elements that add_element takes.

A template file writes elements with the properties of add_element and these short forms:

- `"box": [x, y, width, height]` places an element.
- `"shape": "heart"` and `"icon": "house"` insert from the library; `"weight": "fill"` selects the
  solid variant of an icon.
- `"picture": "embedded:clipart/gift", "group": "gift"` inserts the layers of a picture as a group.
- Texts have default properties (below). A text with a `{{slot}}` is dynamic and has the name of
  the slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail_design.library.icons import find_icon
from dovetail_design.library.pictures import find_picture
from dovetail_design.library.shapes import find_shape

__all__ = ["expand"]

Plain = dict[str, Any]

_TEXT_DEFAULTS: Plain = {
    "text": "",
    "fontSize": 24,
    "fontFamily": "Inter",
    "fontWeight": "400",
    "fill": "#000000",
    "textAlign": "left",
    "verticalAlign": "top",
    "lineHeight": 1.2,
}


def expand(element: Mapping[str, Any]) -> list[Plain]:
    """Return the elements for one entry of a template; a picture gives several."""
    style = dict(element)
    for kind in ("shape", "icon", "picture"):
        if kind in style:
            return _insert(kind, style.pop(kind), style.pop("box"), style)
    plain: Plain = {}
    for key, value in style.items():
        plain.update(_place(value) if key == "box" else {key: value})
    return [_text(plain) if plain["type"] == "text" else plain]


def _insert(kind: str, name: str, box: list[float], style: Plain) -> list[Plain]:
    if kind == "shape" and (shape := find_shape(name)) is not None:
        return [{**shape.as_element(*box), **style}]
    x, y, width, height = box
    if kind == "icon" and (icon := find_icon(name)) is not None:
        return [icon.as_element((x, y, width, height), **style)]
    if kind == "picture" and (picture := find_picture(name)) is not None:
        return picture.as_elements((x, y, width, height), style["group"])
    raise ValueError(f"no {kind} {name!r} in the library")


def _text(plain: Plain) -> Plain:
    place = {key: plain.pop(key) for key in ("type", "x", "y", "width", "height")}
    plain = {**place, **_TEXT_DEFAULTS, **plain}
    words = plain["text"]
    if "{{" in words:
        plain["isDynamic"] = True
        plain.setdefault("name", words[words.index("{{") + 2 : words.index("}}")].strip())
    return plain


def _place(box: list[float]) -> Plain:
    return dict(zip(("x", "y", "width", "height"), box, strict=True))
