"""Draws the contact sheets of the design studio into docs/images and writes docs/gallery.md.

usage: python -m tools.gallery [--page]

With --page only the page is written, and nothing is drawn.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dovetail_design.findings import CODES
from dovetail_design.library.icons import load_icons
from dovetail_design.library.pictures import KINDS, list_pictures
from dovetail_design.library.presets import PRESETS
from dovetail_design.library.shapes import CATEGORIES, list_shapes
from dovetail_design.library.templates import list_templates
from dovetail_design.model import Design, parse_design
from dovetail_design.rendering import RenderOptions, render_png, render_webp
from tools.gallery_elements import draw_elements

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PAGE = ROOT / "docs" / "gallery.md"

Plain = dict[str, Any]
Cell = tuple[str, list[Plain]]
_INK, _GROUND = "#2d3047", "#f4f6fa"
_ICON_STEP = 16


def sheet(cells: Sequence[Cell], columns: int, cell: tuple[int, int]) -> Design:
    """Cells in rows, each with its name below; the elements of a cell begin at 0, 0."""
    wide, high = cell
    gap, caption = 16, 26
    elements: list[Plain] = []
    for number, (name, parts) in enumerate(cells):
        left = gap + (number % columns) * (wide + gap)
        top = gap + (number // columns) * (high + caption + gap)
        elements += [{**part, "x": part["x"] + left, "y": part["y"] + top} for part in parts]
        place = {"x": left, "y": top + high + 4, "width": wide, "height": caption - 4}
        elements.append({"type": "text", "text": name, **place, "fontSize": 12, "fill": _INK})
    rows = -(-len(cells) // columns)
    return parse_design(
        {
            "width": gap + columns * (wide + gap),
            "height": gap + rows * (high + caption + gap),
            "background": "#ffffff",
            "elements": elements,
        }
    )


def _tile(size: tuple[int, int], fill: str = _GROUND) -> Plain:
    wide, high = size
    return {
        "type": "rectangle",
        "x": 0,
        "y": 0,
        "width": wide,
        "height": high,
        "fill": fill,
        "borderRadius": 8,
    }


def element_cells() -> list[Cell]:
    """Every type of element and group of styles."""
    return [(name, [_tile((260, 180)), *parts]) for name, parts in draw_elements().items()]


def shape_cells() -> list[Cell]:
    """Every shape."""
    return [
        (shape.id, [_tile((96, 96)), {**shape.as_element(8, 8, 80, 80), "fill": "#2f6fde"}])
        for shape in list_shapes()
    ]


def icon_cells() -> list[Cell]:
    """Every sixteenth icon, in both weights."""
    icons = list(load_icons().values())[::_ICON_STEP]
    return [
        (
            icon.name if len(icon.name) <= 15 else f"{icon.name[:13]}\u2026",
            [
                _tile((120, 64)),
                icon.as_element((12, 12, 40, 40), fill=_INK),
                icon.as_element((68, 12, 40, 40), fill="#c2542d", weight="fill"),
            ],
        )
        for icon in icons
    ]


def picture_cells() -> list[Cell]:
    """Every picture, by kind."""
    cells = []
    for picture in list_pictures():
        wide, high = 200, 125
        scale = min(wide / picture.width, high / picture.height)
        size = (picture.width * scale, picture.height * scale)
        place = ((wide - size[0]) / 2, (high - size[1]) / 2, *size)
        ground = [_tile((wide, high))] if picture.kind == "clipart" else []
        cells.append((picture.name, [*ground, *picture.as_elements(place, picture.name)]))
    return cells


def template_cells() -> list[Cell]:
    """Every template with its samples, drawn small."""
    cells = []
    for template in list_templates():
        wide, high = 300, 300
        scale = min(wide / template.width, high / template.height)
        width, height = round(template.width * scale), round(template.height * scale)
        drawn = render_png(template.design(), RenderOptions(max_width=width * 2))
        uri = f"data:image/png;base64,{base64.b64encode(drawn).decode()}"
        image = {
            "type": "image",
            "src": uri,
            "x": (wide - width) / 2,
            "y": (high - height) / 2,
            "width": width,
            "height": height,
        }
        cells.append((template.id, [_tile((wide, high), "#e6e9ef"), image]))
    return cells


SHEETS: dict[str, tuple[Any, int, tuple[int, int]]] = {
    "elements": (element_cells, 4, (260, 180)),
    "shapes": (shape_cells, 10, (96, 96)),
    "icons": (icon_cells, 8, (120, 64)),
    "pictures": (picture_cells, 5, (200, 125)),
    "templates": (template_cells, 4, (300, 300)),
}


def draw() -> None:
    """Write every sheet as a small WebP."""
    IMAGES.mkdir(exist_ok=True)
    for name, (cells, columns, size) in SHEETS.items():
        design = sheet(cells(), columns, size)
        data = render_webp(design, RenderOptions(quality=80))
        (IMAGES / f"design-{name}.webp").write_bytes(data)
        print(f"design-{name}.webp: {design.width} x {design.height}, {len(data):,} bytes")


def write_page() -> str:
    """The page: pictures and what is on them."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# Design studio gallery"
    yield ""
    yield "`make gallery` draws these sheets with the studio's renderer and writes this page."
    yield ""
    yield "## Elements"
    yield ""
    yield "![Every type of element and group of styles](images/design-elements.webp)"
    yield ""
    yield "## Templates"
    yield ""
    yield (
        "`list_templates` lists the templates, and `apply_template` fills their slots. "
        "This sheet shows them with sample data:"
    )
    yield ""
    yield "![All templates](images/design-templates.webp)"
    yield ""
    yield "| Template | Category | Size | Slots |"
    yield "|---|---|---|---|"
    for template in list_templates():
        slots = ", ".join(f"`{slot}`" for slot in _folded(template.slots))
        size = f"{template.width} x {template.height}"
        yield f"| `{template.id}` | {template.category} | {size} | {slots} |"
    yield ""
    yield "## Canvas presets"
    yield ""
    yield "| Preset | Size |"
    yield "|---|---|"
    for preset in PRESETS.values():
        yield f"| `{preset.id}` | {preset.width} x {preset.height} |"
    yield ""
    yield "## Shapes"
    yield ""
    yield "`list_shapes` returns the paths, for an `svg` element."
    yield ""
    yield "![All shapes](images/design-shapes.webp)"
    yield ""
    for category, title in CATEGORIES.items():
        names = ", ".join(f"`{shape.id}`" for shape in list_shapes(category))
        yield f"- {title} (`{category}`): {names}"
    yield ""
    yield "## Icons"
    yield ""
    yield (
        f"The studio has {len(load_icons()):,} icons in two weights: Phosphor Icons, under the MIT "
        f"licence. Find them with `search_icons`. This sheet shows every {_ICON_STEP}th:"
    )
    yield ""
    yield "![Some of the icons](images/design-icons.webp)"
    yield ""
    yield "## Pictures"
    yield ""
    yield (
        "Find pictures with `search_clipart`, `search_illustrations` and `search_stock_images`. "
        "They are generated by rules and always look the same. Use one as the `src` of an image "
        "(`embedded:pattern/waves`) or as a group of elements."
    )
    yield ""
    yield "![All pictures](images/design-pictures.webp)"
    yield ""
    for kind in KINDS:
        names = ", ".join(f"`{picture.name}`" for picture in list_pictures(kind))
        yield f"- {kind}: {names}"
    yield ""
    yield "## Warnings"
    yield ""
    yield (
        "`describe_design` and the warnings of every change use these codes. Each warning names "
        "the elements and says how to fix it."
    )
    yield ""
    yield "| Code | Meaning |"
    yield "|---|---|"
    for code, meaning in CODES.items():
        yield f"| `{code}` | {meaning} |"


def _folded(slots: Any) -> list[str]:
    """Numbered slots as one: point_1, point_2... are `point_1...4`."""
    groups: dict[str, list[str]] = {}
    for slot in slots:
        base, _, number = slot.rpartition("_")
        is_numbered = bool(base) and number.isdigit()
        groups.setdefault(base if is_numbered else slot, []).append(number if is_numbered else "")
    return [
        name if numbers == [""] else f"{name}_{numbers[0]}...{numbers[-1]}"
        for name, numbers in groups.items()
    ]


def main() -> None:
    """Draw and write."""
    if "--page" not in sys.argv[1:]:
        draw()
    PAGE.write_text(write_page(), "utf-8")


if __name__ == "__main__":
    main()
