"""Tables as marks: stripes, lines and the text of the cells."""

from __future__ import annotations

from itertools import pairwise

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.elements import Table
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark, StrokeLine, TextMark
from dovetail_design.rendering.outlines import Box, path_of_points
from dovetail_design.rendering.painting_values import (
    border_of,
    box_of,
    colour_or_none,
    visible_paint,
)
from dovetail_design.rendering.text_blocks import (
    TextBlock,
    clean_text,
    is_right_to_left,
    weight_number,
)

__all__ = ["TableLayout", "table_marks"]

DEFAULT_SIZE = 14.0
_LINE_HEIGHT = 1.25
_TEXT = Rgba(31, 41, 55)
_HEADER_TEXT = Rgba(17, 24, 39)
_HEADER_FILL = Rgba(243, 244, 246)
_BORDER = Rgba(209, 213, 219)


def table_marks(element: Table, context: DrawingContext) -> tuple[Mark, ...]:
    """The whole table."""
    layout = TableLayout(element)
    marks: list[Mark] = []
    fill = visible_paint(element.fill, box_of(element))
    if fill is not None:
        marks.append(PathMark(box_of(element), fill))
    marks += _stripes(element, layout)
    marks += _lines(element, layout)
    marks += _texts(element, layout, context)
    border = border_of(element)
    if border is not None:
        marks.append(PathMark(box_of(element), None, border))
    return tuple(marks)


class TableLayout:
    """The cells of a table: edges, texts and looks; the header is row 0 if there is one."""

    def __init__(self, element: Table) -> None:
        self._element = element
        self.headers = 1 if element.tableHasHeader else 0
        rows = element.tableRows + self.headers
        heights, widths = element.tableRowHeights, element.tableColumnWidths
        self.xs = _edges(element.x, element.width, element.tableColumns, widths)
        self.ys = _edges(element.y, element.height, rows, heights)
        self.texts = _texts_by_cell(element, self)
        self.font_size = element.tableCellFontSize or element.fontSize or DEFAULT_SIZE
        self.is_italic = element.fontStyle != "normal"

    @property
    def rows(self) -> int:
        """How many rows there are, with the header."""
        return len(self.ys) - 1

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return len(self.xs) - 1

    @property
    def widths(self) -> list[float]:
        """The width of each column."""
        return [end - start for start, end in pairwise(self.xs)]

    @property
    def heights(self) -> list[float]:
        """The height of each row."""
        return [end - start for start, end in pairwise(self.ys)]

    @property
    def line(self) -> StrokeLine | None:
        """The line around every cell."""
        colour, width = _or(self._element.tableBorderColor, _BORDER), self._element.tableBorderWidth
        return StrokeLine(colour, width) if width and colour.alpha else None

    def is_header(self, row: int, column: int) -> bool:
        """Return whether a cell is a header."""
        in_column = self._element.tableHasVerticalHeader and column == 0
        return bool((self.headers and row == 0) or in_column)

    def alignment(self, row: int, column: int) -> str:
        """Return the alignment: of the column, or of all cells or headers."""
        element = self._element
        own = element.tableColumnAlignments or ()
        if column < len(own):
            return own[column]
        is_header = self.is_header(row, column)
        return element.tableHeaderAlignment if is_header else element.tableCellAlignment

    def weight(self, row: int, column: int) -> int:
        """Return the weight of a text."""
        weight = weight_number(self._element.fontWeight)
        return max(weight, 600) if self.is_header(row, column) else weight

    def colour(self, row: int, column: int) -> Rgba:
        """Return the colour of a text."""
        if self.is_header(row, column):
            return _or(self._element.tableHeaderTextColor, _HEADER_TEXT)
        return _or(self._element.tableCellTextColor, _TEXT)

    def fill(self, row: int, column: int) -> Rgba | None:
        """Return the colour behind a text."""
        element = self._element
        if self.is_header(row, column):
            return _or(element.tableHeaderBackground, _HEADER_FILL)
        is_odd = (row - self.headers) % 2 == 1
        return colour_or_none(element.tableAlternateRowColor) if is_odd else None

    def cell(self, row: int, column: int) -> Box:
        """Return the box of a cell."""
        x, y = self.xs[column], self.ys[row]
        return Box(x, y, self.xs[column + 1] - x, self.ys[row + 1] - y)

    def row(self, row: int) -> Box:
        """Return the box of a row."""
        return Box(
            self.xs[0], self.ys[row], self.xs[-1] - self.xs[0], self.ys[row + 1] - self.ys[row]
        )


def _edges(
    start: float, extent: float, count: int, shares: tuple[float, ...] | None
) -> list[float]:
    """Return edges in proportion to the sizes; missing sizes use the mean of the others."""
    given = list(shares or ())[:count]
    usual = sum(given) / len(given) if given else 1.0
    sizes = given + [usual] * (count - len(given))
    edges, whole = [start], sum(sizes)
    for size in sizes:
        edges.append(edges[-1] + extent * size / whole)
    return edges


def _stripes(element: Table, layout: TableLayout) -> list[Mark]:
    marks: list[Mark] = []
    for row in range(layout.rows):
        colour = layout.fill(row, layout.columns)
        if colour is not None:
            marks.append(PathMark(layout.row(row), colour))
    if element.tableHasVerticalHeader:
        top, header = layout.ys[layout.headers], layout.fill(layout.rows - 1, 0)
        column = Box(layout.xs[0], top, layout.xs[1] - layout.xs[0], layout.ys[-1] - top)
        marks.append(PathMark(column, header))
    return marks


def _lines(element: Table, layout: TableLayout) -> list[Mark]:
    line = layout.line
    if line is None:
        return []
    left, right, top, bottom = layout.xs[0], layout.xs[-1], layout.ys[0], layout.ys[-1]
    level = [[(left, y), (right, y)] for y in layout.ys[1:-1]]
    upright = [[(x, top), (x, bottom)] for x in layout.xs[1:-1]]
    inner: list[Mark] = [
        PathMark(path_of_points(ends, closed=False), None, line) for ends in level + upright
    ]
    return [*inner, PathMark(box_of(element), None, line)]


def _texts(element: Table, layout: TableLayout, context: DrawingContext) -> list[Mark]:
    marks: list[Mark] = []
    for (row, column), text in layout.texts.items():
        box = layout.cell(row, column)
        align, weight = layout.alignment(row, column), layout.weight(row, column)
        is_rtl = is_right_to_left(text)
        block = TextBlock(
            text,
            context.typesetter.families(element.fontFamily, text, weight, layout.is_italic),
            layout.font_size,
            weight,
            layout.is_italic,
            max(box.width - 2 * element.tableCellPadding, 1.0),
            "right" if is_rtl and align == "left" else align,
            _LINE_HEIGHT,
            is_rtl=is_rtl,
        )
        height = context.typesetter.measure(block).height
        colour = layout.colour(row, column)
        # Baselines on whole pixels give sharper text.
        x, y = box.x + element.tableCellPadding, round(box.y + (box.height - height) / 2)
        mark = TextMark(block, x, y, colour)
        # Clip only what does not fit, because clipping is expensive.
        fits = height <= box.height
        marks.append(mark if fits else GroupMark((TextMark(block, x, box.y, colour),), clip=box))
    return marks


def _texts_by_cell(element: Table, layout: TableLayout) -> dict[tuple[int, int], str]:
    found = []
    if layout.headers:
        found += [(0, cell.col, cell.text) for cell in element.tableHeaderData or ()]
    found += [
        (cell.row + layout.headers, cell.col, cell.text) for cell in element.tableCellData or ()
    ]
    return {
        (row, column): clean_text(text)
        for row, column, text in found
        if row < layout.rows and column < layout.columns and text
    }


def _or(text: str | None, default: Rgba) -> Rgba:
    return default if text is None else parse_colour(text)
