"""A note as passages, each short enough for a model of language and able to stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dovetail_vault.note import Note
from dovetail_vault.sections import outline_paths
from dovetail_vault.words import without_surrogates

__all__ = ["Passage", "passages_of"]

# Characters: models read some 250 words and leave out the rest.
_LONGEST = 1_000
# A section of so few is put together with the one behind it.
_SHORT = 200
# Of one note; a book in one file does not push all others out.
_MOST = 64


class Passage(NamedTuple):
    """The line it begins in, counted from 1, and its text under the note's title and headings."""

    line: int
    text: str


def passages_of(note: Note) -> list[Passage]:
    """The sections of a note, long ones in pieces, short ones together."""
    title = without_surrogates(note.title)
    found: list[Passage] = []
    pending: Passage | None = None
    for start, end, path in _sections(note):
        above = " > ".join(part for part in path if part != title)
        for line, body in _pieces(note.text, start, end):
            text = f"{above}\n{body}" if above else body
            if pending is not None and len(pending.text) < _SHORT:
                pending = Passage(pending.line, f"{pending.text}\n{text}")
            else:
                if pending is not None:
                    found.append(pending)
                pending = Passage(line, text)
            if len(found) == _MOST:
                return _titled(title, found)
    if pending is None:
        pending = Passage(note.title_and_line[1], "")
    return _titled(title, [*found, pending])


def _titled(title: str, passages: list[Passage]) -> list[Passage]:
    return [Passage(line, f"{title}\n{text}".strip()) for line, text in passages]


def _sections(note: Note) -> Iterator[tuple[int, int, list[str]]]:
    """Where each section's own text begins and ends, and the headings it stands under."""
    outline = outline_paths(note)
    ends = [heading.start for heading, _ in outline] + [len(note.text)]
    yield note.body_start, ends[0], []
    for (heading, path), end in zip(outline, ends[1:], strict=True):
        yield heading.body, end, path


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The text between two places, in pieces that end with a paragraph, a line or a word."""
    line, counted = text.count("\n", 0, start) + 1, start
    while start < end:
        cut = min(end, start + _LONGEST)
        if cut < end:
            places = (text.rfind(sign, start, cut) for sign in ("\n\n", "\n", " "))
            cut = next((place for place in places if place > start), cut)
        body = text[start:cut]
        if body.strip():
            begin = start + len(body) - len(body.lstrip())
            line, counted = line + text.count("\n", counted, begin), begin
            yield line, without_surrogates(body.strip())
        start = cut
