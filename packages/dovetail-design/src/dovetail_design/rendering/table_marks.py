"""Tables as marks: stripes, lines and the text of the cells."""

from __future__ import annotations

from dovetail_design.model.colours import Rgba, parse_colour
from dovetail_design.model.elements import Table
from dovetail_design.rendering.drawing_context import DrawingContext
from dovetail_design.rendering.marks import GroupMark, Mark, PathMark, StrokeLine, TextMark
from dovetail_design.rendering.outlines import Box, path_of_points
from dovetail_design.rendering.painting_values import border_of, box_of, visible_paint
from dovetail_design.rendering.text_blocks import (
    TextBlock,
    clean_text,
    is_right_to_left,
    weight_number,
)

__all__ = ["table_marks"]

DEFAULT_SIZE = 14.0
_LINE_HEIGHT = 1.25
_TEXT = Rgba(31, 41, 55)
_HEADER_TEXT = Rgba(17, 24, 39)
_HEADER_FILL = Rgba(243, 244, 246)
_BORDER = Rgba(209, 213, 219)


def table_marks(element: Table, context: DrawingContext) -> tuple[Mark, ...]:
    """The whole table."""
    grid = _Grid(element)
    marks: list[Mark] = []
    fill = visible_paint(element.fill, box_of(element))
    if fill is not None:
        marks.append(PathMark(box_of(element), fill))
    marks += _stripes(element, grid)
    marks += _lines(element, grid)
    marks += _texts(element, grid, context)
    border = border_of(element)
    if border is not None:
        marks.append(PathMark(box_of(element), None, border))
    return tuple(marks)


class _Grid:
    """The edges of rows and columns; the header is row 0 if there is one."""

    def __init__(self, element: Table) -> None:
        self.headers = 1 if element.tableHasHeader else 0
        rows = element.tableRows + self.headers
        heights, widths = element.tableRowHeights, element.tableColumnWidths
        self.xs = _edges(element.x, element.width, element.tableColumns, widths)
        self.ys = _edges(element.y, element.height, rows, heights)

    @property
    def rows(self) -> int:
        return len(self.ys) - 1

    @property
    def columns(self) -> int:
        return len(self.xs) - 1

    def cell(self, row: int, column: int) -> Box:
        x, y = self.xs[column], self.ys[row]
        return Box(x, y, self.xs[column + 1] - x, self.ys[row + 1] - y)

    def row(self, row: int) -> Box:
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


def _stripes(element: Table, grid: _Grid) -> list[Mark]:
    marks: list[Mark] = []
    if element.tableAlternateRowColor is not None:
        colour = parse_colour(element.tableAlternateRowColor)
        odd = range(grid.headers + 1, grid.rows, 2)
        marks += [PathMark(grid.row(row), colour) for row in odd]
    header = _HEADER_FILL
    if element.tableHeaderBackground is not None:
        header = parse_colour(element.tableHeaderBackground)
    if grid.headers:
        marks.append(PathMark(grid.row(0), header))
    if element.tableHasVerticalHeader:
        top = grid.ys[grid.headers]
        column = Box(grid.xs[0], top, grid.xs[1] - grid.xs[0], grid.ys[-1] - top)
        marks.append(PathMark(column, header))
    return marks


def _lines(element: Table, grid: _Grid) -> list[Mark]:
    width = element.tableBorderWidth
    colour = _BORDER
    if element.tableBorderColor is not None:
        colour = parse_colour(element.tableBorderColor)
    if not width or not colour.alpha:
        return []
    line = StrokeLine(colour, width)
    left, right, top, bottom = grid.xs[0], grid.xs[-1], grid.ys[0], grid.ys[-1]
    level = [[(left, y), (right, y)] for y in grid.ys[1:-1]]
    upright = [[(x, top), (x, bottom)] for x in grid.xs[1:-1]]
    inner: list[Mark] = [
        PathMark(path_of_points(ends, closed=False), None, line) for ends in level + upright
    ]
    return [*inner, PathMark(box_of(element), None, line)]


def _texts(element: Table, grid: _Grid, context: DrawingContext) -> list[Mark]:
    size = element.tableCellFontSize or element.fontSize or DEFAULT_SIZE
    weight, is_italic = weight_number(element.fontWeight), element.fontStyle != "normal"
    cell_colour = _or(element.tableCellTextColor, _TEXT)
    header_colour = _or(element.tableHeaderTextColor, _HEADER_TEXT)
    marks: list[Mark] = []
    for row, column, text in _cells(element, grid):
        is_header = (grid.headers and row == 0) or (element.tableHasVerticalHeader and column == 0)
        box = grid.cell(row, column)
        align = element.tableHeaderAlignment if is_header else element.tableCellAlignment
        is_rtl = is_right_to_left(text)
        own_weight = max(weight, 600) if is_header else weight
        block = TextBlock(
            text,
            context.typesetter.families(element.fontFamily, text, own_weight, is_italic),
            size,
            own_weight,
            is_italic,
            max(box.width - 2 * element.tableCellPadding, 1.0),
            "right" if is_rtl and align == "left" else align,
            _LINE_HEIGHT,
            is_rtl=is_rtl,
        )
        height = context.typesetter.measure(block).height
        colour = header_colour if is_header else cell_colour
        # Baselines on whole pixels give sharper text.
        x, y = box.x + element.tableCellPadding, round(box.y + (box.height - height) / 2)
        mark = TextMark(block, x, y, colour)
        # Clip only what does not fit, because clipping is expensive.
        fits = height <= box.height
        marks.append(mark if fits else GroupMark((TextMark(block, x, box.y, colour),), clip=box))
    return marks


def _cells(element: Table, grid: _Grid) -> list[tuple[int, int, str]]:
    found = []
    if grid.headers:
        found += [(0, cell.col, cell.text) for cell in element.tableHeaderData or ()]
    found += [
        (cell.row + grid.headers, cell.col, cell.text) for cell in element.tableCellData or ()
    ]
    return [
        (row, column, clean_text(text))
        for row, column, text in found
        if row < grid.rows and column < grid.columns and text
    ]


def _or(text: str | None, default: Rgba) -> Rgba:
    return default if text is None else parse_colour(text)
