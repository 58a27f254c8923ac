"""Reads the files in `library/data`: JSON indexes, JSON templates and SVG drawings.

The drawings use a small part of SVG: `<path>` elements with `d` and `fill`, painted in order, and
`<linearGradient>` elements that run from top to bottom with evenly spaced stops.
"""

from __future__ import annotations

from importlib import resources
from typing import TypeVar
from xml.etree import ElementTree

import msgspec

__all__ = ["Layer", "read_json", "read_svg"]

# A CSS colour or gradient, and the path that it fills.
Layer = tuple[str, str]
T = TypeVar("T")

_SVG = "{http://www.w3.org/2000/svg}"
# The line of a linear gradient, with the defaults of SVG.
_LINE_DEFAULTS = {"x1": "0", "y1": "0", "x2": "1", "y2": "0"}


def read_json(path: str, type: type[T]) -> T:
    """Decode a JSON file of the library; raises ValueError with the path if it is invalid."""
    try:
        return msgspec.json.decode(_read(path), type=type)
    except msgspec.DecodeError as error:
        raise ValueError(f"library/data/{path}: {error}") from error


def read_svg(path: str, width: int, height: int) -> tuple[Layer, ...]:
    """Read the layers of a drawing, bottom first; its view box must be 0 0 width height."""
    root = ElementTree.fromstring(_read(path))
    view_box = f"0 0 {width} {height}"
    if root.get("viewBox") != view_box:
        found = root.get("viewBox")
        raise ValueError(f"library/data/{path}: the viewBox is {found!r}, expected {view_box!r}")
    gradients: dict[str, str] = {}
    layers = []
    for node in root:
        if node.tag == f"{_SVG}linearGradient":
            gradients[f"url(#{node.get('id')})"] = _css_gradient(node, path)
        elif node.tag == f"{_SVG}path":
            fill = node.get("fill", "#000000")
            # Long paths are wrapped over several lines.
            layers.append((gradients.get(fill, fill), " ".join(node.get("d", "").split())))
        else:
            tag = node.tag.removeprefix(_SVG)
            raise ValueError(
                f"library/data/{path}: <{tag}> is not supported, use <path> and <linearGradient>"
            )
    return tuple(layers)


def _css_gradient(node: ElementTree.Element, path: str) -> str:
    line = [node.get(name, default) for name, default in _LINE_DEFAULTS.items()]
    offsets = [float(stop.get("offset", "0")) for stop in node]
    last = len(offsets) - 1
    if line != ["0", "0", "0", "1"] or offsets != [place / last for place in range(len(offsets))]:
        raise ValueError(
            f"library/data/{path}: a gradient must run from top to bottom (x2=0, y2=1) with "
            "evenly spaced stops from 0 to 1"
        )
    return f"linear-gradient(180deg, {', '.join(stop.get('stop-color', '') for stop in node)})"


def _read(path: str) -> bytes:
    return resources.files(__package__).joinpath("data", *path.split("/")).read_bytes()
