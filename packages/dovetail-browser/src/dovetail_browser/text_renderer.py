"""Renders HTML events as text with a `Formatter`: Markdown or plain text.

One pass over the events with explicit stacks, in linear time for any nesting depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dovetail_browser.block_layout import BlockLayout
from dovetail_browser.formatter import Formatter
from dovetail_browser.html_events import End, Event, Start, Text
from dovetail_browser.html_vocabulary import CODE_LANGUAGE, words
from dovetail_browser.inline_text import InlineText
from dovetail_browser.table_layout import TableLayout, find_data_tables

__all__ = ["render"]

_LANGUAGE = re.compile(CODE_LANGUAGE)
_NO_LANGUAGE = words("default none text plain plaintext notranslate")
_NAME_LANGUAGES = words("div pre code")
_BLOCKS = words(
    "p div section article main nav header footer aside address figure figcaption center "
    "form fieldset legend details summary dialog hgroup dl dt dd ul ol li blockquote "
    "table caption frame-content h1 h2 h3 h4 h5 h6 pre hr tr td th thead tbody tfoot"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Two of these without text between them are two words.
_CONTROLS = words("a button label select summary textarea")


@dataclass(slots=True)
class _List:
    next_number: int | None
    is_begun: bool = False


def render(events: Iterable[Event], formatter: Formatter) -> str:
    """Render the events of a page."""
    listed = list(events)
    renderer = _Renderer(formatter, find_data_tables(listed))
    for index, event in enumerate(listed):
        match event:
            case Start(tag, attributes):
                renderer.start(index, tag, attributes)
            case Text(text):
                renderer.text(text)
            case End(tag):
                renderer.end(tag)
    return renderer.finish()


class _Renderer:
    """Collects inline text and passes it to the layout when a block ends."""

    def __init__(self, formatter: Formatter, data_tables: set[int]) -> None:
        self._formatter = formatter
        self._data_tables = data_tables
        self._layout = BlockLayout()
        self._inline = InlineText(formatter)
        self._heading = 0
        self._lists: list[_List] = []
        # Open quotes and items in the layout.
        self._containers = 0
        self._tables: list[TableLayout | None] = []
        self._table: TableLayout | None = None
        # The language of each open element, and the code collected so far.
        self._languages: list[str] = []
        self._code: list[str] | None = None
        self._code_depth = 0
        self._code_language = ""
        self._unchosen = 0
        # Whether a control has ended and no text has followed yet.
        self._is_after_control = False

    # -- events ----------------------------------------------------------------------------------

    def start(self, index: int, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if tag in _NAME_LANGUAGES:
            self._languages.append(_language(attributes))
        if self._code is not None:
            self._start_in_code(tag)
            return
        if tag in _BLOCKS:
            self._break_block()
        if tag in _CONTROLS and self._is_after_control:
            self._inline.add_mark(" ")
        if tag == "table":
            self._start_table(is_data=index in self._data_tables)
            return
        handler = _STARTS.get(tag)
        if handler is not None:
            handler(self, tag, attributes)
        else:
            self._inline.start(tag, attributes)

    def text(self, text: str) -> None:
        """Text."""
        self._is_after_control = False
        if self._code is not None:
            self._code.append(text)
        elif not self._unchosen:
            self._inline.add_text(text)

    def end(self, tag: str) -> None:
        """Handle the end of the innermost element."""
        self._is_after_control |= tag in _CONTROLS
        if tag in _NAME_LANGUAGES:
            self._languages.pop()
        if self._code is not None:
            if tag in _BLOCKS:
                self._break_code(tag)
            if tag == "pre":
                self._end_code()
            return
        if self._inline.end(tag):
            return
        if tag in _HEADINGS:
            self._end_heading(tag)
        elif tag in _BLOCKS and tag != "table":
            self._break_block()
        handler = _ENDS.get(tag)
        if handler is not None:
            handler(self, tag)

    def finish(self) -> str:
        """Return the whole text."""
        self._break_block()
        return self._layout.text()

    # -- blocks ----------------------------------------------------------------------------------

    @property
    def _is_inside_text(self) -> bool:
        """Whether blocks are not possible: in a link or a data table."""
        return self._inline.is_nested or self._table is not None

    def _break_block(self) -> None:
        """Write the collected text as a block; where blocks are not possible, add a space."""
        if self._is_inside_text or self._heading:
            self._inline.add_mark(" ")
        else:
            self._layout.write(self._formatter.paragraph(self._inline.take()))

    def _start_heading(self, tag: str, _: dict[str, str]) -> None:
        if not self._is_inside_text:
            self._heading = _HEADINGS[tag]
            self._inline.is_heading = True

    def _end_heading(self, tag: str) -> None:
        if self._heading != _HEADINGS[tag] or self._is_inside_text:
            self._break_block()
            return
        text = self._inline.take(" ")
        if text:
            self._layout.write(self._formatter.heading(self._heading, text))
        self._heading = 0
        self._inline.is_heading = False

    def _start_list(self, tag: str, attributes: dict[str, str]) -> None:
        first = attributes.get("start", "")
        number = int(first) if re.fullmatch(r"\d{1,9}", first) else 1
        self._lists.append(_List(number if tag == "ol" else None))

    def _end_list(self, _: str) -> None:
        self._lists.pop()

    def _start_item(self, _: str, __: dict[str, str]) -> None:
        if self._is_inside_text:
            return
        current = self._lists[-1] if self._lists else _List(None)
        self._layout.enter_item(self._formatter.item(current.next_number), not current.is_begun)
        self._containers += 1
        current.is_begun = True
        if current.next_number is not None:
            current.next_number += 1

    def _start_description(self, _: str, __: dict[str, str]) -> None:
        if not self._is_inside_text:
            self._layout.enter_item(self._formatter.description(), opens_list=False)
            self._containers += 1

    def _start_quote(self, _: str, __: dict[str, str]) -> None:
        if not self._is_inside_text:
            self._layout.enter_quote(self._formatter.quote)
            self._containers += 1

    def _leave(self, _: str) -> None:
        if not self._is_inside_text and self._containers:
            self._containers -= 1
            self._layout.leave()

    def _write_rule(self, _: str, __: dict[str, str]) -> None:
        if not self._is_inside_text:
            self._layout.write(self._formatter.rule())

    # -- code ------------------------------------------------------------------------------------

    def _start_code(self, _: str, __: dict[str, str]) -> None:
        self._code = []
        self._code_depth = 1
        self._code_language = next((one for one in reversed(self._languages) if one), "")

    def _start_in_code(self, tag: str) -> None:
        self._code_language = self._languages[-1] or self._code_language
        self._code_depth += tag == "pre"
        self._break_code(tag)

    def _break_code(self, tag: str) -> None:
        """End a line of code at the end of a block element."""
        assert self._code is not None
        if tag == "br" or (tag in _BLOCKS and self._code and not self._code[-1].endswith("\n")):
            self._code.append("\n")

    def _end_code(self) -> None:
        self._code_depth -= 1
        if self._code_depth:
            return
        text = "".join(self._code or ()).strip("\n").rstrip()
        self._code = None
        if not text:
            return
        if self._is_inside_text or self._heading:
            self._inline.add_code(text)
        else:
            self._layout.write(self._formatter.code_block(text, self._code_language))

    # -- inline ----------------------------------------------------------------------------------

    def _write_image(self, _: str, attributes: dict[str, str]) -> None:
        self._inline.add_image(attributes.get("alt", ""), attributes.get("src", ""))

    def _write_break(self, _: str, __: dict[str, str]) -> None:
        self._inline.add_break()

    def _write_input(self, _: str, attributes: dict[str, str]) -> None:
        if attributes.get("type", "").lower() in ("checkbox", "radio"):
            self._inline.add_mark("[x] " if "checked" in attributes else "[ ] ")
        elif attributes.get("value"):
            self._inline.add_text(f" {attributes['value']} ")

    def _start_option(self, _: str, attributes: dict[str, str]) -> None:
        # Only the selected option is rendered; options do not nest.
        self._unchosen = int("selected" not in attributes)

    def _end_option(self, _: str) -> None:
        self._unchosen = 0

    # -- tables ----------------------------------------------------------------------------------

    def _start_table(self, is_data: bool) -> None:
        self._tables.append(self._table)
        if is_data and not self._is_inside_text and not self._heading:
            self._table = TableLayout()

    def _end_table(self, _: str) -> None:
        table, self._table = self._table, self._tables.pop()
        if table is None or table is self._table:
            self._break_block()
            return
        # Content outside of cells, for example a caption, goes above the table.
        self._layout.write(self._formatter.paragraph(self._inline.take(" ")))
        rows = table.rows()
        if rows:
            self._layout.write(self._formatter.table(rows, table.has_head))

    def _start_row(self, _: str, __: dict[str, str]) -> None:
        if self._table is not None:
            self._table.start_row()

    def _start_cell(self, _: str, attributes: dict[str, str]) -> None:
        if self._table is not None:
            self._table.columns = attributes.get("colspan", "")
            self._inline.start_cell()

    def _end_cell(self, tag: str) -> None:
        if self._table is not None:
            self._table.add_cell(self._inline.end_cell(), tag == "th")


def _language(attributes: dict[str, str]) -> str:
    found = _LANGUAGE.search(attributes.get("class", ""))
    name = found[1].lower() if found else ""
    return "" if name in _NO_LANGUAGE else name


_STARTS: dict[str, Callable[[_Renderer, str, dict[str, str]], None]] = {
    **dict.fromkeys(_HEADINGS, _Renderer._start_heading),
    "ul": _Renderer._start_list,
    "ol": _Renderer._start_list,
    "li": _Renderer._start_item,
    "dd": _Renderer._start_description,
    "blockquote": _Renderer._start_quote,
    "hr": _Renderer._write_rule,
    "pre": _Renderer._start_code,
    "img": _Renderer._write_image,
    "br": _Renderer._write_break,
    "input": _Renderer._write_input,
    "option": _Renderer._start_option,
    "tr": _Renderer._start_row,
    "td": _Renderer._start_cell,
    "th": _Renderer._start_cell,
}
_ENDS: dict[str, Callable[[_Renderer, str], None]] = {
    "ul": _Renderer._end_list,
    "ol": _Renderer._end_list,
    "li": _Renderer._leave,
    "dd": _Renderer._leave,
    "blockquote": _Renderer._leave,
    "option": _Renderer._end_option,
    "table": _Renderer._end_table,
    "td": _Renderer._end_cell,
    "th": _Renderer._end_cell,
}
