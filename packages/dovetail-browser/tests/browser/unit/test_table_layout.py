"""Detection of data tables, and their rows."""

from __future__ import annotations

import pytest

from dovetail_browser.html_events import read_events
from dovetail_browser.table_layout import TableLayout, find_data_tables


@pytest.mark.parametrize(
    ("html", "count"),
    [
        ("<table><tr><td>a<td>b</table>", 1),
        ("<table><tr><td>a<tr><td>b</table>", 0),
        ("<table><tr><td>a<td><ul><li>b</ul></table>", 0),
        ("<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", 1),
        ("<table></table>", 0),
    ],
)
def test_a_data_table_has_columns_and_plain_cells(html: str, count: int) -> None:
    assert len(find_data_tables(list(read_events(html, "")))) == count


def test_rows_are_padded_and_empty_rows_omitted() -> None:
    table = TableLayout()
    table.start_row()
    table.add_cell("a", is_head=True)
    table.start_row()
    table.columns = "2"
    table.add_cell("b", is_head=False)
    table.columns = ""
    table.add_cell("c", is_head=False)
    table.start_row()
    table.add_cell("", is_head=False)
    assert table.has_head
    assert table.rows() == [["a", "", ""], ["b", "", "c"]]


@pytest.mark.parametrize("columns", ["999", "99999999999", "-1", "x", "²", ""])
def test_a_large_colspan_is_limited(columns: str) -> None:
    table = TableLayout()
    table.columns = columns
    table.add_cell("a", is_head=False)
    assert 1 <= len(table.rows()[0]) <= 60
