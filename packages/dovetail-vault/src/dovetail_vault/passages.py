"""Split a note into passages that are short enough to embed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dovetail_vault.note import Note
from dovetail_vault.sections import outline_paths
from dovetail_vault.words import without_surrogates

__all__ = ["Passage", "passages_of"]

# Characters per passage: models read about 250 words and ignore the rest.
_MAX_LENGTH = 1_000
# Characters of a heading that are repeated in each passage below it.
_MAX_HEADING = 200
# A shorter section is joined with the next one.
_MIN_LENGTH = 200
# Passages per note, so that one very long note does not use up all capacity.
_MAX_PASSAGES = 64


class Passage(NamedTuple):
    """Its first line, counted from 1, and its text preceded by the note's title and headings."""

    line: int
    text: str


def passages_of(note: Note) -> list[Passage]:
    """Return the passages of a note: its sections, long ones split, short ones joined."""
    title = _shorten(note.title)
    found: list[Passage] = []
    pending: Passage | None = None
    for start, end, path in _sections(note):
        above = " > ".join(part for part in path if part != title)
        for line, body in _pieces(note.text, start, end):
            text = f"{above}\n{body}" if above else body
            if pending is not None and len(pending.text) < _MIN_LENGTH:
                pending = Passage(pending.line, f"{pending.text}\n{text}")
            else:
                if pending is not None:
                    found.append(pending)
                pending = Passage(line, text)
            if len(found) == _MAX_PASSAGES:
                return _titled(title, found)
    if pending is None:
        pending = Passage(note.title_and_line[1], "")
    return _titled(title, [*found, pending])


def _titled(title: str, passages: list[Passage]) -> list[Passage]:
    return [Passage(line, f"{title}\n{text}".strip()) for line, text in passages]


def _sections(note: Note) -> Iterator[tuple[int, int, list[str]]]:
    """Yield start and end of each section's own text, and the headings above it."""
    ends = [heading.start for heading in note.headings] + [len(note.text)]
    yield note.body_start, ends[0], []
    for (heading, path), end in zip(outline_paths(note, _shorten), ends[1:], strict=True):
        yield heading.body, end, path


def _shorten(text: str) -> str:
    return without_surrogates(text[:_MAX_HEADING])


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield parts of a text that end with a paragraph, a line or a word, with their lines."""
    line, counted = text.count("\n", 0, start) + 1, start
    while start < end:
        cut = min(end, start + _MAX_LENGTH)
        if cut < end:
            places = (text.rfind(sign, start, cut) for sign in ("\n\n", "\n", " "))
            cut = next((place for place in places if place > start), cut)
        body = text[start:cut]
        if body.strip():
            begin = start + len(body) - len(body.lstrip())
            line, counted = line + text.count("\n", counted, begin), begin
            yield line, without_surrogates(body.strip())
        start = cut
