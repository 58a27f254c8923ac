"""The text of one block while it is collected: links, emphasis and code in their notation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dovetail_browser.html_vocabulary import words
from dovetail_browser.notation import Notation

__all__ = ["InlineText"]

_SPACES = re.compile(r"[ \t\r\n\f]+")
# Stands for <br> until the line is written; the parser lets no control character through.
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
    """A stack of spans; the outermost is the block itself."""

    def __init__(self, notation: Notation) -> None:
        self._notation = notation
        self._spans = [_Span("", {})]
        self._links = 0
        # Whether there is only one line to be had, and no emphasis in it.
        self.is_heading = False

    @property
    def is_nested(self) -> bool:
        """Whether something inline, or a cell, has not ended."""
        return len(self._spans) > 1

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins; of no interest unless it has a notation."""
        if tag in _EMPHASIS or tag in _CODE or tag == "a":
            self._spans.append(_Span(tag, attributes))
            self._links += tag == "a"

    def end(self, tag: str) -> bool:
        """An element ends; whether it was one of those that have a notation."""
        if len(self._spans) == 1 or self._spans[-1].tag != tag:
            return False
        span = self._spans.pop()
        self._links -= tag == "a"
        raw = "".join(span.pieces)
        text = self._spell(span, _one_line(raw).strip(_BREAK))
        # White space belongs outside of the marks.
        lead = " " if raw[:1].isspace() else ""
        trail = " " if raw[-1:].isspace() else ""
        self._add(f"{lead}{text}{trail}" if text else lead or trail)
        return True

    def start_cell(self) -> None:
        """What follows is the text of a cell."""
        self._spans.append(_Span(_CELL, {}))

    def end_cell(self) -> str:
        """The text of the cell that ends."""
        text = self.take(" ")
        self._spans.pop()
        return text

    def add_text(self, text: str) -> None:
        """Text of the page."""
        is_code = self._spans[-1].tag in _CODE
        self._add(text if is_code else self._notation.escape(text, self._links > 0))

    def add_code(self, text: str) -> None:
        """A block of code where there is no room for a block."""
        self._add(self._notation.code(_one_line(text)))

    def add_mark(self, mark: str) -> None:
        """Something that is written as it is."""
        self._add(mark)

    def add_break(self) -> None:
        """The end of a line."""
        self._add(_BREAK)

    def add_image(self, alt: str, url: str) -> None:
        """An image; one without words says nothing to a reader."""
        words_of_it = _one_line(alt)
        if words_of_it:
            escaped = self._notation.escape(words_of_it, in_link=True)
            is_plain = self._links > 0 or not url
            self._add(escaped if is_plain else self._notation.image(escaped, url))

    def take(self, line_break: str | None = None) -> str:
        """What was collected, which is gone then."""
        text = _one_line("".join(self._spans[-1].pieces))
        self._spans[-1].pieces.clear()
        if _BREAK not in text:
            return text
        joint = self._notation.line_break() if line_break is None else line_break
        return _AROUND_BREAK.sub(lambda _: joint, text.strip(f"{_BREAK} "))

    def _add(self, piece: str) -> None:
        self._spans[-1].pieces.append(piece)

    def _spell(self, span: _Span, text: str) -> str:
        if span.tag in _CODE:
            return self._notation.code(text.replace(_BREAK, " ")) if text else ""
        if span.tag == "a":
            return self._spell_link(span.attributes, text.replace(_BREAK, " "))
        if not text or self.is_heading:
            return text
        return self._notation.emphasis(_EMPHASIS[span.tag], text)

    def _spell_link(self, attributes: dict[str, str], text: str) -> str:
        url = attributes.get("href", "")
        label = text or attributes.get("aria-label") or attributes.get("title") or ""
        if not text:
            label = self._notation.escape(_one_line(label), in_link=True)
        # A place on the same page is of no use to somebody who reads all of it.
        if not url or not label or url.startswith("#") or self._links:
            return text
        return self._notation.link(label, url)


def _one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip(" ")
