"""Finds data tables, and collects their cells in rows of equal length."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dovetail_browser.html_events import End, Event, Start
from dovetail_browser.html_vocabulary import words

__all__ = ["TableLayout", "find_data_tables"]

_WIDEST = 60
# Cells of data tables contain words or sentences; these elements indicate a layout table.
_NO_DATA = words("table h1 h2 h3 h4 form pre ul ol dl nav main article section")


def find_data_tables(events: Sequence[Event]) -> set[int]:
    """Return the indexes of the tables that contain data, not page layout."""
    found: set[int] = set()
    # Index, whether data, cells of the widest row, cells of this row.
    opened: list[list[int]] = []
    for place, event in enumerate(events):
        match event:
            case Start(tag, _):
                if opened and tag in _NO_DATA:
                    opened[-1][1] = 0
                if tag == "table":
                    opened.append([place, 1, 0, 0])
                elif opened and tag == "tr":
                    opened[-1][3] = 0
                elif opened and tag in ("td", "th"):
                    opened[-1][3] += 1
                    opened[-1][2] = max(opened[-1][2], opened[-1][3])
            case End("table") if opened:
                place, is_data, widest, _ = opened.pop()
                if is_data and widest > 1:
                    found.add(place)
    return found


class TableLayout:
    """Collects the cells of a table."""

    def __init__(self) -> None:
        # The colspan of the current cell.
        self.columns = ""
        self.has_head = False
        self._rows: list[list[str]] = []

    def start_row(self) -> None:
        """Start a row."""
        self._rows.append([])

    def add_cell(self, text: str, is_head: bool) -> None:
        """Add a cell, which may span columns."""
        if not self._rows:
            self._rows.append([])
        row = self._rows[-1]
        if len(self._rows) == 1 and is_head:
            self.has_head = True
        if len(row) < _WIDEST:
            row.append(text)
            width = int(self.columns) if re.fullmatch(r"\d{1,3}", self.columns) else 1
            row.extend([""] * min(max(width, 1) - 1, _WIDEST - len(row)))

    def rows(self) -> list[list[str]]:
        """Return the rows that are not empty, padded to the same length."""
        said = [row for row in self._rows if any(row)]
        width = max(map(len, said), default=0)
        return [row + [""] * (width - len(row)) for row in said]
