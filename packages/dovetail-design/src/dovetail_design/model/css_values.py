"""Maps properties with CSS values to their parsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dovetail_design.model.colours import parse_colour
from dovetail_design.model.gradients import parse_paint
from dovetail_design.model.positions import parse_position
from dovetail_design.model.shadows import parse_box_shadow
from dovetail_design.model.svg_paths import parse_svg_path, parse_view_box

__all__ = ["check_css_values", "parse_dashes"]

_DASH = re.compile(r"[\s,]+")
MAX_DASHES = 32


def parse_dashes(text: str) -> tuple[float, ...]:
    """Parse lengths of dashes and gaps, an even number of them; empty for a solid line."""
    if text.strip().lower() in ("", "none", "solid"):
        return ()
    try:
        lengths = [float(part.removesuffix("px")) for part in _DASH.split(text.strip())]
    except ValueError:
        lengths = []
    if not 1 <= len(lengths) <= MAX_DASHES or min(lengths) < 0 or not 1 <= sum(lengths) < 1e5:
        raise ValueError(
            f"{text[:40]!r} is not a dash pattern; allowed: lengths in pixels such as 5,5"
        )
    return tuple(lengths if len(lengths) % 2 == 0 else lengths * 2)


_READERS: dict[str, Callable[[str], object]] = {
    "fill": parse_paint,
    "stroke": parse_paint,
    "color": parse_paint,
    "boxShadow": parse_box_shadow,
    "textShadowColor": parse_colour,
    "textStrokeColor": parse_colour,
    "tableHeaderBackground": parse_colour,
    "tableHeaderTextColor": parse_colour,
    "tableCellTextColor": parse_colour,
    "tableBorderColor": parse_colour,
    "tableAlternateRowColor": parse_colour,
    "qrColor": parse_colour,
    "qrBgColor": parse_colour,
    "barcodeLineColor": parse_colour,
    "barcodeBackground": parse_colour,
    "objectPosition": parse_position,
    "svgPath": parse_svg_path,
    "svgViewBox": parse_view_box,
    "lineDash": parse_dashes,
}

_by_type: dict[type, tuple[tuple[str, Callable[[str], object]], ...]] = {}


def check_css_values(element: Any) -> None:
    """Validate all CSS values of an element; raises ValueError with the property."""
    kind = type(element)
    readers = _by_type.get(kind)
    if readers is None:
        names = set(kind.__struct_fields__)
        readers = _by_type[kind] = tuple(item for item in _READERS.items() if item[0] in names)
    for name, read in readers:
        value = getattr(element, name)
        if value is not None:
            try:
                read(value)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
