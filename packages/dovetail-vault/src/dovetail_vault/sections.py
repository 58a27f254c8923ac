"""Find sections and blocks of a note by heading path or block id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from dovetail import ToolError
from dovetail_vault.markdown import Heading, find_block, find_block_ids
from dovetail_vault.note import Note
from dovetail_vault.titles import did_you_mean, nearest_names
from dovetail_vault.words import without_surrogates

__all__ = ["Section", "find_section", "find_target_block", "heading_path", "outline_paths"]

_MAX_SHOWN = 30
_MAX_TEXT = 100
# Names that are compared with one that does not exist.
_MAX_COMPARED = 1_000
# Characters of all headings in an error.
_MAX_LISTED = 1_000


class Section(NamedTuple):
    """A heading with everything below it: the span [start, end); its text starts at `body`."""

    heading: Heading
    start: int
    body: int
    end: int
    # The end of its own text, where the first subheading starts.
    own_end: int


def outline_paths(
    note: Note, convert: Callable[[str], str] = without_surrogates
) -> Iterator[tuple[Heading, list[str]]]:
    """Yield each heading with its path: the texts of its parent headings and its own.

    Each text is converted once: a long heading can have many others below it.
    """
    above: list[tuple[int, str]] = []
    for heading in note.headings:
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, convert(heading.text)))
        yield heading, [text for _, text in above]


def heading_path(text: str | list[str]) -> list[str]:
    """Parse `A > B`, `A::B`, `## A` or a list into heading texts, outermost first."""
    if isinstance(text, list):
        return [part.lstrip("#").strip() for part in text]
    for separator in (" > ", "::"):
        if separator in text:
            return [part.lstrip("#").strip() for part in text.split(separator)]
    return [text.lstrip("#").strip()]


def find_section(note: Note, heading: str | list[str]) -> Section:
    """Return the section with this heading path. Raises ToolError that lists the headings."""
    wanted = heading_path(heading)
    exact = [heading] if isinstance(heading, str) else heading
    endings = [[_key(text) for text in ending] for ending in (wanted, exact)]
    matching = [
        place
        for place, (_, path) in enumerate(outline_paths(note, _key))
        if any(ending and path[-len(ending) :] == ending for ending in endings)
    ]
    if len(matching) == 1:
        return _section(note, matching[0])
    shown = _shorten(" > ".join(wanted))
    if not matching:
        first = islice(outline_paths(note), _MAX_SHOWN)
        listed = ", ".join(repr(" > ".join(map(_shorten, path))) for _, path in first)
        headings = note.headings[:_MAX_COMPARED]
        names = (_shorten(without_surrogates(heading.text)) for heading in headings)
        hint = did_you_mean(nearest_names(wanted[-1], names))
        raise ToolError(
            f"{note.path!r} has no heading {shown!r}{hint}; it has: "
            f"{listed[:_MAX_LISTED] or 'none'}"
        )
    chosen = set(matching[:_MAX_SHOWN])
    lines = ", ".join(
        f"{' > '.join(map(_shorten, path))!r} (line {found.line})"
        for place, (found, path) in enumerate(outline_paths(note))
        if place in chosen
    )[:_MAX_LISTED]
    raise ToolError(
        f"{shown!r} is ambiguous in {note.path!r}: {lines}. Pass a list that includes the parent "
        "headings"
    )


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def _section(note: Note, place: int) -> Section:
    headings = note.headings
    heading = headings[place]
    end = own_end = len(note.text)
    if place + 1 < len(headings):
        own_end = headings[place + 1].start
    for other in headings[place + 1 :]:
        if other.level <= heading.level:
            end = other.start
            break
    return Section(heading, heading.start, heading.body, end, min(own_end, end))


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def find_target_block(note: Note, name: str) -> tuple[int, int]:
    """Return the span of the block with an id. Raises ToolError if there is none."""
    found = find_block(note.masked, note.text, name.lstrip("^"))
    if found is None:
        ids = islice(find_block_ids(note.masked), _MAX_COMPARED)
        hint = did_you_mean(nearest_names(name, ids))
        raise ToolError(f"{note.path!r} has no block ^{name.lstrip('^')[:_MAX_TEXT]}{hint}")
    return found
