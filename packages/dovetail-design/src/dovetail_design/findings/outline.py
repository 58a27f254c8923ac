"""Writes a design as text: a tree of elements and the findings, within a length limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from dovetail_design.findings.boxes import Box
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Item, Scene
from dovetail_design.model import (
    Barcode,
    Container,
    Design,
    Element,
    Image,
    Qr,
    Svg,
    Table,
    Text,
    to_plain,
)

__all__ = ["LONGEST", "Detail", "write_outline"]

Detail = Literal["outline", "full"]

# The default limit, in characters.
LONGEST = 20_000
_RESERVED = 200
_SHOWN_TEXT = 60
# Properties that the line already shows.
_SAID = frozenset({"type", "id", "name", "x", "y", "width", "height", "groupId", "visible", "text"})
_LONG_VALUE = 80


def write_outline(
    scene: Scene,
    findings: Sequence[Finding],
    *,
    detail: Detail = "outline",
    region: Box | None = None,
    longest: int = LONGEST,
) -> str:
    """The design as text: canvas, tree of elements (bottom first), findings."""
    design = scene.design
    head = [
        f"Canvas {design.width} x {design.height}, background {design.background}, "
        f"{_count(len(design.elements), 'element')}, {_count(len(findings), 'finding')}."
    ]
    if region is not None:
        head.append(
            f"Region {region.left:g}, {region.top:g} to {region.right:g}, {region.bottom:g}."
        )
    faults = [
        f"- [{found.code}] {found.message}. {found.fix} ({', '.join(found.element_ids)})"
        for found in findings
    ]
    lines = list(_tree(design, scene, detail, region))
    room = longest - sum(map(_length, head)) - _RESERVED
    # Findings matter more than a full list of elements, but must leave room for it.
    shown_faults = _fit(faults, room * 2 // 3 if lines else room, "finding")
    room -= sum(map(_length, shown_faults))
    shown_lines = _fit(lines, room, "element")
    text = [*head, "", "Elements, bottom first:", *(shown_lines or ["(none)"])]
    text += ["", "Findings:", *(shown_faults or ["(none)"])]
    return "\n".join(text)


def _tree(design: Design, scene: Scene, detail: Detail, region: Box | None) -> list[str]:
    shown = {item.level: item for item in scene.items}
    containers = {e.id for e in design.elements if isinstance(e, Container) and e.id}
    children: dict[str, list[int]] = {}
    for level, element in enumerate(design.elements):
        group = element.groupId
        if group in containers and group != element.id:
            children.setdefault(group or "", []).append(level)
    inner = {level for levels in children.values() for level in levels}
    lines: list[str] = []
    for level, element in enumerate(design.elements):
        if level in inner:
            continue
        lines += _line(level, element, shown.get(level), detail, region, depth=0)
        for child in children.get(element.id, ()) if isinstance(element, Container) else ():
            lines += _line(child, design.elements[child], shown.get(child), detail, region, depth=1)
    return lines


def _line(
    level: int,
    element: Element,
    item: Item | None,
    detail: Detail,
    region: Box | None,
    depth: int,
) -> list[str]:
    bounds = item.bounds if item is not None else _box(element)
    if region is not None and bounds.meet(region) is None:
        return []
    marks = []
    if item is None:
        marks.append("hidden")
    if element.locked:
        marks.append("locked")
    if element.rotation:
        marks.append(f"turned {element.rotation:g}")
    if element.opacity < 1:
        marks.append(f"opacity {element.opacity:g}")
    if element.groupId and depth == 0:
        marks.append(f"group {element.groupId}")
    name = f" {element.name!r}" if element.name else ""
    place = f"{element.x:g},{element.y:g} {element.width:g}x{element.height:g}"
    text = f"{'  ' * depth}{level}. {element.type}{name} #{element.id} ({place}){_summary(element)}"
    if marks:
        text += f" [{', '.join(marks)}]"
    if detail == "full":
        text += _properties(element)
    return [text]


def _box(element: Element) -> Box:
    return Box(element.x, element.y, element.x + element.width, element.y + element.height)


def _summary(element: Element) -> str:
    match element:
        case Text():
            font = f"{element.fontFamily} {element.fontSize or 16:g}"
            return f' "{_short(element.text)}" {font}'
        case Qr():
            return f' "{_short(element.qrValue)}"'
        case Barcode():
            return f' {element.barcodeFormat} "{_short(element.barcodeValue)}"'
        case Table():
            return f" {element.tableRows} rows, {element.tableColumns} columns"
        case Image() | Svg() if element.src:
            return f" {_short(element.src)}"
    fill = getattr(element, "fill", None)
    return f" {_short(fill)}" if fill else ""


def _properties(element: Element) -> str:
    parts = []
    for key, value in to_plain(element).items():  # type: ignore[arg-type]
        if key in _SAID:
            continue
        shown = value if isinstance(value, str) else str(value)
        parts.append(f"{key}={shown if len(shown) <= _LONG_VALUE else shown[:_LONG_VALUE] + '...'}")
    return f" {{{'; '.join(parts)}}}" if parts else ""


def _fit(lines: Sequence[str], room: int, what: str) -> list[str]:
    kept: list[str] = []
    for number, line in enumerate(lines):
        room -= _length(line)
        if room < 0:
            kept.append(f"... and {_count(len(lines) - number, f'more {what}')}; ask for a region")
            break
        kept.append(line)
    return kept


def _length(line: str) -> int:
    return len(line) + 1


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN_TEXT else f"{words[:_SHOWN_TEXT]}..."


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
