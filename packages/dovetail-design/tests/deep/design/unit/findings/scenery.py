"""Short words for designs in the tests of the findings."""

from __future__ import annotations

from typing import Any

from dovetail_design.findings import Finding, describe
from dovetail_design.model import Design, parse_design

__all__ = ["box", "codes", "design", "look", "text"]


def text(
    words: str, x: float, y: float, width: float = 300, height: float = 60, **more: Any
) -> Any:
    return {
        "type": "text",
        "text": words,
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "fontSize": 24,
        "fill": "#111111",
        **more,
    }


def box(x: float, y: float, width: float, height: float, fill: str = "#dddddd", **more: Any) -> Any:
    return {
        "type": "rectangle",
        "x": x,
        "y": y,
        "width": width,
        "height": height,
        "fill": fill,
        **more,
    }


def design(
    *elements: Any, background: str = "#ffffff", size: tuple[int, int] = (800, 600)
) -> Design:
    named = [{"id": f"e{number}", **element} for number, element in enumerate(elements)]
    return parse_design(
        {"width": size[0], "height": size[1], "background": background, "elements": named}
    )


def look(*elements: Any, **canvas: Any) -> tuple[Finding, ...]:
    return describe(design(*elements, **canvas)).findings


def codes(*elements: Any, **canvas: Any) -> list[tuple[str, tuple[str, ...]]]:
    return [(found.code, found.element_ids) for found in look(*elements, **canvas)]
