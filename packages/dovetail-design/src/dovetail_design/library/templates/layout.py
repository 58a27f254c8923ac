"""Short words for the elements of templates, so that a layout reads like a layout.

Everything returns plain values as add_element takes them; boxes are x, y, width, height.
"""

from __future__ import annotations

from typing import Any

from dovetail_design.library.icons import find_icon
from dovetail_design.library.pictures import find_picture
from dovetail_design.library.shapes import find_shape

__all__ = [
    "DISPLAY",
    "MONO",
    "SANS",
    "SCRIPT",
    "SERIF",
    "Plain",
    "box",
    "disc",
    "icon",
    "picture",
    "rule",
    "shape",
    "text",
]

Plain = dict[str, Any]
Box = tuple[float, float, float, float]

SANS, SERIF, DISPLAY = "Inter", "Noto Serif", "Bebas Neue"
SCRIPT, MONO = "Dancing Script", "JetBrains Mono"


def text(words: str, place: Box, size: float, color: str, **style: Any) -> Plain:
    """A text; `{{slot}}` makes it dynamic and names it after the slot."""
    plain: Plain = {
        "type": "text",
        **_placed(place),
        "text": words,
        "fontSize": size,
        "fontFamily": style.pop("font", SANS),
        "fontWeight": str(style.pop("weight", 400)),
        "fill": color,
        "textAlign": style.pop("align", "left"),
        "verticalAlign": style.pop("vertical", "top"),
        "lineHeight": style.pop("line", 1.2),
        **style,
    }
    if "{{" in words:
        plain["isDynamic"] = True
        plain.setdefault("name", words[words.index("{{") + 2 : words.index("}}")].strip())
    return plain


def box(place: Box, fill: str, radius: float = 0, **style: Any) -> Plain:
    """A rectangle."""
    plain: Plain = {"type": "rectangle", **_placed(place), "fill": fill, **style}
    if radius:
        plain["borderRadius"] = radius
    return plain


def disc(x: float, y: float, radius: float, fill: str, **style: Any) -> Plain:
    """A circle by its centre."""
    place = (x - radius, y - radius, 2 * radius, 2 * radius)
    return {"type": "circle", **_placed(place), "fill": fill, **style}


def rule(place: Box, color: str) -> Plain:
    """A line as a thin box, which is drawn alike everywhere."""
    return {"type": "rectangle", **_placed(place), "fill": color, "name": "rule"}


def shape(name: str, place: Box, fill: str, **style: Any) -> Plain:
    """A shape of the library."""
    found = find_shape(name)
    if found is None:
        raise ValueError(f"no shape {name!r} in the library")
    return {**found.as_element(*place), "fill": fill, **style}


def icon(name: str, x: float, y: float, size: float, fill: str, **style: Any) -> Plain:
    """An icon of the library; `weight="fill"` for the solid one."""
    found = find_icon(name)
    if found is None:
        raise ValueError(f"no icon {name!r} in the library")
    return found.as_element((x, y, size, size), fill=fill, **style)


def picture(uri: str, place: Box, group: str) -> list[Plain]:
    """A picture of the library as a group of elements."""
    found = find_picture(uri)
    if found is None:
        raise ValueError(f"no picture {uri!r} in the library")
    return found.as_elements(place, group)


def _placed(place: Box) -> Plain:
    x, y, width, height = place
    return {"x": x, "y": y, "width": width, "height": height}
