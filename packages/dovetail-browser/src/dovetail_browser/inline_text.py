"""Collects the inline text of one block, with links, emphasis and code formatted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dovetail_browser.formatter import Formatter
from dovetail_browser.html_vocabulary import words

__all__ = ["InlineText"]

_SPACES = re.compile(r"[ \t\r\n\f]+")
# Placeholder for <br>; input never contains it, because control characters are dropped.
_BREAK = "\x01"
_AROUND_BREAK = re.compile(" *\x01 *")
_EMPHASIS = {
    "strong": "strong",
    "b": "strong",
    "em": "emphasis",
    "i": "emphasis",
    "cite": "emphasis",
    "del": "deleted",
    "s": "deleted",
    "strike": "deleted",
}
_CODE = words("code kbd samp tt")
_CELL = "cell"


@dataclass(slots=True)
class _Span:
    """An inline element whose text is being collected."""

    tag: str
    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)


class InlineText:
    """A stack of inline elements; the outermost entry is the block."""

    def __init__(self, formatter: Formatter) -> None:
        self._formatter = formatter
        self._spans = [_Span("", {})]
        self._links = 0
        # Headings are one line without emphasis.
        self.is_heading = False

    @property
    def is_nested(self) -> bool:
        """Whether an inline element or a cell is open."""
        return len(self._spans) > 1

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element; elements without formatting are ignored."""
        if tag in _EMPHASIS or tag in _CODE or tag == "a":
            self._spans.append(_Span(tag, attributes))
            self._links += tag == "a"

    def end(self, tag: str) -> bool:
        """Handle the end of an element; return whether it has formatting."""
        if len(self._spans) == 1 or self._spans[-1].tag != tag:
            return False
        span = self._spans.pop()
        self._links -= tag == "a"
        raw = "".join(span.pieces)
        text = self._format(span, _one_line(raw).strip(_BREAK))
        # Markdown needs white space outside of the marks.
        lead = " " if raw[:1].isspace() else ""
        trail = " " if raw[-1:].isspace() else ""
        self._add(f"{lead}{text}{trail}" if text else lead or trail)
        return True

    def start_cell(self) -> None:
        """Begin the text of a cell."""
        self._spans.append(_Span(_CELL, {}))

    def end_cell(self) -> str:
        """End the cell and return its text."""
        text = self.take(" ")
        self._spans.pop()
        return text

    def add_text(self, text: str) -> None:
        """Add text of the page."""
        is_code = self._spans[-1].tag in _CODE
        self._add(text if is_code else self._formatter.escape(text, self._links > 0))

    def add_code(self, text: str) -> None:
        """Add a code block as inline code, in a place that cannot hold blocks."""
        self._add(self._formatter.code(_one_line(text)))

    def add_mark(self, mark: str) -> None:
        """Add text without escaping."""
        self._add(mark)

    def add_break(self) -> None:
        """Add a line break."""
        self._add(_BREAK)

    def add_image(self, alt: str, url: str) -> None:
        """Add an image; images without alternative text are dropped."""
        words_of_it = _one_line(alt)
        if words_of_it:
            escaped = self._formatter.escape(words_of_it, in_link=True)
            is_plain = self._links > 0 or not url
            self._add(escaped if is_plain else self._formatter.image(escaped, url))

    def take(self, line_break: str | None = None) -> str:
        """Return the collected text and clear it."""
        text = _one_line("".join(self._spans[-1].pieces))
        self._spans[-1].pieces.clear()
        if _BREAK not in text:
            return text
        joint = self._formatter.line_break() if line_break is None else line_break
        return _AROUND_BREAK.sub(lambda _: joint, text.strip(f"{_BREAK} "))

    def _add(self, piece: str) -> None:
        self._spans[-1].pieces.append(piece)

    def _format(self, span: _Span, text: str) -> str:
        if span.tag in _CODE:
            return self._formatter.code(text.replace(_BREAK, " ")) if text else ""
        if span.tag == "a":
            return self._format_link(span.attributes, text.replace(_BREAK, " "))
        if not text or self.is_heading:
            return text
        return self._formatter.emphasis(_EMPHASIS[span.tag], text)

    def _format_link(self, attributes: dict[str, str], text: str) -> str:
        url = attributes.get("href", "")
        label = text or attributes.get("aria-label") or attributes.get("title") or ""
        if not text:
            label = self._formatter.escape(_one_line(label), in_link=True)
        # Links within the page are dropped: the reader has the whole page.
        if not url or not label or url.startswith("#") or self._links:
            return text
        return self._formatter.link(label, url)


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip(" ")
