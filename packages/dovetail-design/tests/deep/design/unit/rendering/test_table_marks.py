from __future__ import annotations

from typing import Any

from dovetail_design.model import HeaderCell, Table, TableCell
from dovetail_design.model.colours import Rgba
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark, TextMark
from dovetail_design.rendering.outlines import Box
from dovetail_design.rendering.table_marks import table_marks


def table(**properties: Any) -> tuple[Mark, ...]:
    box: dict[str, Any] = {
        "x": 0,
        "y": 0,
        "width": 300,
        "height": 120,
        "tableRows": 2,
        "tableColumns": 3,
    }
    return table_marks(Table(**{**box, **properties}), DrawingContext())


def texts(marks: tuple[Mark, ...]) -> dict[str, TextMark]:
    return {mark.block.text: mark for mark in marks if isinstance(mark, TextMark)}


def stripes(marks: tuple[Mark, ...]) -> list[tuple[object, object]]:
    return [(mark.outline, mark.fill) for mark in marks if isinstance(mark, PathMark) and mark.fill]


def test_rows_and_columns_share_the_box() -> None:
    found = texts(
        table(
            tableHeaderData=(HeaderCell(1, "head"),),
            tableCellData=(TableCell(1, 2, "last"),),
            tableCellPadding=5,
        )
    )
    assert (found["head"].x, found["last"].x) == (105, 205)
    assert 0 < found["head"].y < 40
    assert 80 < found["last"].y < 120
    assert (found["head"].block.weight, found["last"].block.weight) == (600, 400)


def test_widths_and_heights_are_proportions() -> None:
    found = texts(
        table(
            tableColumnWidths=(1, 1, 4),
            tableRowHeights=(2, 1),
            tableHasHeader=False,
            tableCellData=(TableCell(0, 2, "wide"), TableCell(1, 1, "low")),
            tableCellPadding=0,
        )
    )
    assert (found["wide"].x, found["wide"].block.width) == (100, 200)
    assert found["low"].y > 80


def test_headers_and_odd_rows_are_coloured() -> None:
    marks = table(
        tableRows=3, tableHeaderBackground="red", tableAlternateRowColor="blue",
        tableHasVerticalHeader=True,
    )  # fmt: skip
    assert stripes(marks) == [
        (Box(0, 0, 300, 30), Rgba(255, 0, 0)),
        (Box(0, 60, 300, 30), Rgba(0, 0, 255)),
        (Box(0, 30, 100, 90), Rgba(255, 0, 0)),
    ]


def test_a_cell_outside_the_table_is_left_out() -> None:
    assert texts(table(tableCellData=(TableCell(9, 0, "x"), TableCell(0, 9, "y")))) == {}


def test_text_that_does_not_fit_its_cell_is_cut() -> None:
    marks = table(tableCellData=(TableCell(0, 0, "many words " * 20),))
    (cut,) = (mark for mark in marks if isinstance(mark, GroupMark))
    assert cut.clip == Box(0, 40, 100, 40)


def test_lines_can_be_left_out() -> None:
    def lines(marks: tuple[Mark, ...]) -> int:
        return sum(isinstance(mark, PathMark) and mark.stroke is not None for mark in marks)

    assert lines(table()) == 2 + 2 + 1
    assert lines(table(tableBorderWidth=0)) == 0
    assert lines(table(tableBorderColor="none")) == 0
