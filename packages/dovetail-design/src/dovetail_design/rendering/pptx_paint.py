"""Colours, gradients and outlines in the XML of PowerPoint."""

from __future__ import annotations

import math
from typing import Any

from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls, qn

from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.gradient_lines import GradientFill
from dovetail_design.rendering.marks import Fill, StrokeLine
from dovetail_design.rendering.outlines import Box

__all__ = ["can_paint", "colour_markup", "ending_markup", "outline_markup", "set_paint"]

_TOLERANCE = 0.001
# Dash lengths of PowerPoint's preset, as multiples of the width.
_DASHES = {(3.0, 2.0): "dash", (0.01, 2.0): "sysDot"}
_CAPS = {"round": "rnd", "square": "sq", "butt": "flat"}
_ENDINGS = {"arrow": "triangle", "dot": "oval"}


def can_paint(fill: Fill | None, box: Box) -> bool:
    """Return whether PowerPoint draws it alike."""
    return not isinstance(fill, GradientFill) or _stops(fill, box) is not None


def set_paint(fill: Any, paint: Fill | None, box: Box, opacity: float = 1.0) -> None:
    """Set a fill of python-pptx, which knows neither transparency nor all gradients."""
    fill.background()
    if paint is None:
        return
    parent = fill._xPr
    old = parent.find(qn("a:noFill"))
    parent.replace(old, parse_xml(_paint_markup(paint, box, opacity)))


def colour_markup(colour: Rgba, opacity: float = 1.0) -> str:
    """Return a colour."""
    alpha = round(colour.alpha * opacity * 100_000)
    inner = f'<a:alpha val="{alpha}"/>' if alpha < 100_000 else ""
    return f'<a:srgbClr val="{colour.hex[1:7]}">{inner}</a:srgbClr>'


def outline_markup(
    line: StrokeLine, emu: float, opacity: float = 1.0, tag: str = "a:ln", ends: str = ""
) -> str | None:
    """Return an outline, or None if PowerPoint has none like it."""
    if not isinstance(line.paint, Rgba):
        return None
    dash = ""
    if line.dashes:
        shares = tuple(round(one / line.width, 2) for one in line.dashes)
        if len(shares) != 2:
            return None
        # Whole percentages of the width, of dash and gap.
        lengths = [max(round(one * 100_000), 1000) for one in shares]
        dash = (
            f'<a:prstDash val="{_DASHES[shares]}"/>'
            if shares in _DASHES
            else f'<a:custDash><a:ds d="{lengths[0]}" sp="{lengths[1]}"/></a:custDash>'
        )
    cap = _CAPS[line.cap]
    return (
        f'<{tag} {nsdecls("a")} w="{round(line.width * emu)}" cap="{cap}">'
        f"<a:solidFill>{colour_markup(line.paint, opacity)}</a:solidFill>{dash}{ends}</{tag}>"
    )


def ending_markup(start: str, end: str) -> str:
    """Return the ends of a line."""
    parts = (("a:headEnd", start), ("a:tailEnd", end))
    return "".join(f'<{tag} type="{_ENDINGS[one]}"/>' for tag, one in parts if one in _ENDINGS)


def _paint_markup(paint: Fill, box: Box, opacity: float) -> str:
    if isinstance(paint, Rgba):
        return f"<a:solidFill {nsdecls('a')}>{colour_markup(paint, opacity)}</a:solidFill>"
    stops = "".join(
        f'<a:gs pos="{round(at * 100_000)}">{colour_markup(colour, opacity)}</a:gs>'
        for at, colour in _stops(paint, box) or ()
    )
    if paint.kind == "linear":
        # Clockwise from the right, in 60,000ths of a degree.
        angle = math.degrees(math.atan2(paint.y2 - paint.y, paint.x2 - paint.x)) % 360
        shape = f'<a:lin ang="{round(angle * 60_000) % 21_600_000}" scaled="0"/>'
    else:
        centre = " ".join(f'{side}="50000"' for side in "ltrb")
        shape = f'<a:path path="circle"><a:fillToRect {centre}/></a:path>'
    head = f'<a:gradFill {nsdecls("a")} rotWithShape="1">'
    return f"{head}<a:gsLst>{stops}</a:gsLst>{shape}</a:gradFill>"


def _stops(fill: GradientFill, box: Box) -> list[tuple[float, Rgba]] | None:
    """Return the stops along the whole box, or None if the gradient is not of that form."""
    if fill.is_repeating or fill.kind == "conic":
        return None
    centre_x, centre_y = box.centre
    if fill.kind == "radial":
        # From the centre to the corners.
        is_centred = abs(fill.x - centre_x) + abs(fill.y - centre_y) < 1
        begin, end = 0.0, fill.x2 / (box.width / 2 * math.sqrt(2))
        is_whole = abs(fill.y2 / (box.height / 2 * math.sqrt(2)) - end) < _TOLERANCE
        if not is_centred or not is_whole:
            return None
    else:
        along_x, along_y = fill.x2 - fill.x, fill.y2 - fill.y
        length = math.hypot(along_x, along_y)
        if not length:
            return None
        along_x, along_y = along_x / length, along_y / length
        whole = abs(box.width * along_x) + abs(box.height * along_y)
        begin, end = (
            ((x - centre_x) * along_x + (y - centre_y) * along_y) / whole + 0.5
            for x, y in ((fill.x, fill.y), (fill.x2, fill.y2))
        )
    if begin < -_TOLERANCE or end > 1 + _TOLERANCE:
        return None
    return [(min(max(begin + at * (end - begin), 0), 1), colour) for at, colour in fill.stops]
