"""Detects content that a style attribute hides, in HTML that no browser has rendered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["is_hidden_by_style", "visibility_of"]

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.S)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)")
_FAR = 500.0
_ZERO = re.compile(r"[-+]?0*\.?0+(?:px|r?em|%|pt|vh|vw)?")
_FULL_INSET = re.compile(r"inset\((?:\s*(?:[5-9]\d|\d{3,})(?:\.\d+)?%)+")
_NO_CIRCLE = re.compile(r"(?:circle|ellipse)\(\s*0")
_NO_RECT = re.compile(r"rect\((?:\s*[01](?:px)?\s*,?){4}\)")


def _declarations(style: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for declaration in _COMMENT.sub("", style).split(";"):
        name, _, value = declaration.partition(":")
        found[name.strip().lower()] = value.lower().replace("!important", "").strip()
    return found


def _number(value: str) -> float:
    match = _NUMBER.match(value)
    return float(match[0]) if match else 0.0


def _is_zero(value: str) -> bool:
    return _ZERO.fullmatch(value) is not None


def _is_clipped(style: Mapping[str, str]) -> bool:
    path = style.get("clip-path", "")
    if _FULL_INSET.match(path) or _NO_CIRCLE.match(path):
        return True
    return _NO_RECT.match(style.get("clip", "")) is not None


def _is_without_size(style: Mapping[str, str]) -> bool:
    clips = any(
        style.get(name, "").split(" ")[0] in ("hidden", "clip")
        for name in ("overflow", "overflow-x", "overflow-y")
    )
    sides = ("width", "height", "max-width", "max-height")
    return clips and any(name in style and _is_tiny(style[name]) for name in sides)


def _is_tiny(value: str) -> bool:
    return _is_zero(value) or value == "1px"


def _is_far_outside(style: Mapping[str, str]) -> bool:
    if style.get("position") in ("absolute", "fixed") and any(
        _number(style.get(side, "")) <= -_FAR for side in ("left", "right", "top", "bottom")
    ):
        return True
    return any(
        _number(style.get(name, "")) <= -_FAR
        for name in ("text-indent", "margin-left", "margin-top")
    )


def _is_in_colour_of_background(style: Mapping[str, str]) -> bool:
    ink = style.get("color", "")
    if ink == "transparent":
        return True
    ground = style.get("background-color") or style.get("background")
    return bool(ink) and ink == ground


_Rule = Callable[[Mapping[str, str]], bool]
_RULES: tuple[_Rule, ...] = (
    lambda style: style.get("display") == "none",
    lambda style: style.get("content-visibility") == "hidden",
    lambda style: "opacity" in style and _number(style["opacity"] or "1") < 0.05,
    lambda style: "opacity(0" in style.get("filter", "") and "opacity(0." not in style["filter"],
    lambda style: "font-size" in style and _is_zero(style["font-size"]),
    lambda style: "scale(0)" in style.get("transform", ""),
    _is_clipped,
    _is_without_size,
    _is_far_outside,
    _is_in_colour_of_background,
)


def is_hidden_by_style(style: str) -> bool:
    """Whether this style attribute hides an element with its content."""
    declarations = _declarations(style)
    return any(rule(declarations) for rule in _RULES)


def visibility_of(attributes: Mapping[str, str], inherited: bool) -> bool:
    """Whether an element is visible by its own attributes or the inherited value."""
    style = attributes.get("style")
    word = _declarations(style).get("visibility") if style else None
    match word:
        case "hidden" | "collapse":
            return False
        case "visible":
            return True
    return inherited
