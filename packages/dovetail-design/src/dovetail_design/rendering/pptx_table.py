"""Tables of PowerPoint."""

from __future__ import annotations

from typing import Any

from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn
from pptx.util import Emu, Pt

from dovetail_design.model.elements import Table
from dovetail_design.rendering.marks import StrokeLine
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.pptx_paint import outline_markup, set_paint
from dovetail_design.rendering.table_marks import TableLayout

__all__ = ["fill_table"]

# "No style, no grid": everything is said by the cells.
_STYLE = "{2D5ABB26-0587-4C30-8999-92F81FD0307C}"
_POINTS = 72 / 96
_ALIGN = {"left": PP_ALIGN.LEFT, "center": PP_ALIGN.CENTER, "right": PP_ALIGN.RIGHT}
_SIDES = ("a:lnL", "a:lnR", "a:lnT", "a:lnB")


def fill_table(frame: Any, element: Table, layout: TableLayout, family: str, emu: float) -> None:
    """Write the cells of a table of python-pptx; `emu` is the size of a pixel."""
    table = frame.table
    properties = table._tbl.tblPr
    for name in ("firstRow", "bandRow"):
        properties.attrib.pop(name, None)
    properties.find(qn("a:tableStyleId")).text = _STYLE
    for column, width in zip(table.columns, layout.widths, strict=True):
        column.width = Emu(round(width * emu))
    for row, height in zip(table.rows, layout.heights, strict=True):
        row.height = Emu(round(height * emu))
    padding = Emu(round(element.tableCellPadding * emu))
    for row in range(layout.rows):
        for column in range(layout.columns):
            cell = table.cell(row, column)
            cell.margin_left = cell.margin_right = padding
            cell.margin_top = cell.margin_bottom = 0
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            colour = layout.fill(row, column)
            set_paint(cell.fill, colour, Box(0, 0, 1, 1))
            _set_borders(cell, layout.line, emu)
            _write(cell, layout, row, column, family, emu)


def _set_borders(cell: Any, line: StrokeLine | None, emu: float) -> None:
    if line is None:
        return
    properties = cell._tc.get_or_add_tcPr()
    for at, tag in enumerate(_SIDES):
        markup = outline_markup(line, emu, tag=tag)
        assert markup is not None
        # Before the fill, as the format demands.
        properties.insert(at, parse_xml(markup))


def _write(cell: Any, layout: TableLayout, row: int, column: int, family: str, emu: float) -> None:
    text = layout.texts.get((row, column), "")
    size = Pt(layout.font_size * emu / 9525 * _POINTS)
    for at, words in enumerate(text.split("\n")):
        frame = cell.text_frame
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.alignment = _ALIGN[layout.alignment(row, column)]
        run = paragraph.add_run()
        run.text = words
        run.font.size, run.font.name = size, family
        run.font.bold = layout.weight(row, column) >= 600
        run.font.italic = layout.is_italic
        set_paint(run.font.fill, layout.colour(row, column), Box(0, 0, 1, 1))
