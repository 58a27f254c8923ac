from __future__ import annotations

import io
from typing import Any

from pptx import Presentation
from pptx.enum.text import PP_ALIGN

from dovetail_design.model import parse_design
from dovetail_design.rendering import render_pptx

TABLE = {
    "type": "table", "x": 10, "y": 10, "width": 300, "height": 90, "tableRows": 2,
    "tableColumns": 2, "tableColumnWidths": [2, 1], "tableColumnAlignments": ["left", "right"],
    "tableHeaderData": [{"col": 1, "text": "Amount"}], "tableAlternateRowColor": "#eeeeee",
    "tableCellData": [{"row": 1, "col": 1, "text": "12.50"}], "tableCellTextColor": "#102030",
}  # fmt: skip


def test_cells_have_their_texts_sizes_and_looks() -> None:
    design = parse_design({"width": 400, "height": 200, "elements": [TABLE]})
    [frame] = Presentation(io.BytesIO(render_pptx(design))).slides[0].shapes
    table: Any = frame.table
    assert [column.width / 9525 for column in table.columns] == [200, 100]
    assert [row.height / 9525 for row in table.rows] == [30, 30, 30]
    header, cell = table.cell(0, 1), table.cell(2, 1)
    assert (header.text_frame.text, cell.text_frame.text) == ("Amount", "12.50")
    for one in (header, cell):
        assert one.text_frame.paragraphs[0].alignment == PP_ALIGN.RIGHT
    font = cell.text_frame.paragraphs[0].runs[0].font
    assert (font.size.pt, font.bold, str(font.fill.fore_color.rgb)) == (10.5, False, "102030")
    assert header.text_frame.paragraphs[0].runs[0].font.bold
    assert str(cell.fill.fore_color.rgb) == "EEEEEE"
    assert cell._tc.tcPr.xml.count("<a:ln") >= 4
