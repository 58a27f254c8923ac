"""Renders HTML as Markdown (CommonMark, with GitHub tables and strikethrough)."""

from __future__ import annotations

import re

from dovetail_browser.formatter import Formatter
from dovetail_browser.html_events import read_events
from dovetail_browser.text_renderer import render

__all__ = ["to_markdown"]

# Escape only where it has a meaning: not an underscore in a word or a star between spaces.
_SPECIAL = re.compile(r"[\\`]|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)|<(?=[a-zA-Z/!?])|\](?=\()|~~")
_BRACKETS = re.compile(r"[\[\]]")
_AT_LINE_START = re.compile(r"(?:[#>]|[-+*](?=\s)|\d{1,9}[.)](?=\s)|={3,}$|-{3,}$)")
_TICKS = re.compile("`+")
_MARKS = {"strong": "**", "emphasis": "*", "deleted": "~~"}


def to_markdown(source: str, base_url: str, main_only: bool = False) -> str:
    """Render HTML, from `read_source` or as served, as Markdown."""
    return render(read_events(source, base_url, main_only), _Markdown())


class _Markdown(Formatter):
    """Formats parts of a text as Markdown."""

    quote = "> "

    def escape(self, text: str, in_link: bool) -> str:
        escaped = _SPECIAL.sub(r"\\\g<0>", text)
        return _BRACKETS.sub(r"\\\g<0>", escaped.replace("\\](", "](")) if in_link else escaped

    def paragraph(self, text: str) -> str:
        match = _AT_LINE_START.match(text)
        if match is None:
            return text
        at = match.end() - 1 if match[0][0].isdigit() else match.start()
        return f"{text[:at]}\\{text[at:]}"

    def heading(self, level: int, text: str) -> str:
        return f"{'#' * level} {text}"

    def emphasis(self, kind: str, text: str) -> str:
        mark = _MARKS[kind]
        return text if text.startswith(mark) or text.endswith(mark) else f"{mark}{text}{mark}"

    def code(self, text: str) -> str:
        ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
        pad = " " if text.startswith("`") or text.endswith("`") else ""
        return f"{ticks}{pad}{text}{pad}{ticks}"

    def code_block(self, text: str, language: str) -> str:
        fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
        return f"{fence}{language}\n{text}\n{fence}"

    def link(self, text: str, url: str) -> str:
        return f"[{text}]({_destination(url)})"

    def image(self, alt: str, url: str) -> str:
        return f"![{alt}]({_destination(url)})"

    def item(self, number: int | None) -> str:
        return "- " if number is None else f"{number}. "

    def description(self) -> str:
        return ": "

    def rule(self) -> str:
        return "---"

    def line_break(self) -> str:
        return "\\\n"

    def table(self, rows: list[list[str]], has_head: bool) -> str:
        head = rows[0] if has_head else [""] * len(rows[0])
        body = rows[1:] if has_head else rows
        lines = [_row(head), "|" + "---|" * len(head), *map(_row, body)]
        return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _destination(url: str) -> str:
    if re.search(r"[\s<>]", url):
        return "<" + re.sub(r"[\s<>]", lambda match: f"%{ord(match[0]):02X}", url) + ">"
    return f"<{url}>" if "(" in url or ")" in url else url
