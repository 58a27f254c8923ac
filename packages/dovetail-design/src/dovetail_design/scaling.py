"""Scales all lengths of a design by one factor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["scale_element", "scale_to_fit"]

# Lengths of elements, besides their box. Shadows in CSS text are not scaled.
_LENGTHS = frozenset(
    {
        "strokeWidth",
        "borderRadius",
        "borderRadiusTopLeft",
        "borderRadiusTopRight",
        "borderRadiusBottomLeft",
        "borderRadiusBottomRight",
        "fontSize",
        "letterSpacing",
        "textShadowX",
        "textShadowY",
        "textShadowBlur",
        "textStrokeWidth",
        "padding",
        "paddingTop",
        "paddingRight",
        "paddingBottom",
        "paddingLeft",
        "margin",
        "marginTop",
        "marginRight",
        "marginBottom",
        "marginLeft",
        "blur",
        "backdropBlur",
        "tableCellFontSize",
        "tableCellPadding",
        "tableBorderWidth",
    }
)
_POINTS = ("linePoints", "polygonPoints", "bezierPoints")
# The model rejects smaller values.
_LEAST = {"width": 1, "height": 1, "fontSize": 1, "tableCellFontSize": 1}


def scale_to_fit(old: tuple[int, int], new: tuple[int, int]) -> tuple[float, float, float]:
    """Return the factor that fits the old canvas into the new one, and its centred offset."""
    factor = min(new[0] / old[0], new[1] / old[1])
    return factor, (new[0] - old[0] * factor) / 2, (new[1] - old[1] * factor) / 2


def scale_element(
    element: Mapping[str, Any], factor: float, dx: float, dy: float
) -> dict[str, Any]:
    """Return an element with every length scaled, moved by dx, dy."""
    scaled = {
        key: max(_LEAST.get(key, value * factor), round(value * factor, 2))
        if key in _LENGTHS and isinstance(value, int | float)
        else value
        for key, value in element.items()
    }
    is_line = element["type"] == "line"
    for side in ("width", "height"):
        least = 0 if is_line else _LEAST[side]
        scaled[side] = max(least, round(element[side] * factor, 2))
    scaled["x"] = round(element["x"] * factor + dx, 2)
    scaled["y"] = round(element["y"] * factor + dy, 2)
    for name in _POINTS:
        if element.get(name):
            scaled[name] = [
                {"x": round(point["x"] * factor, 2), "y": round(point["y"] * factor, 2)}
                for point in element[name]
            ]
    return scaled
