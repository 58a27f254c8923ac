"""Find sections and blocks of a note by heading path or block id."""

from __future__ import annotations

from typing import NamedTuple

from dovetail import ToolError
from dovetail_vault.markdown import Heading, find_block
from dovetail_vault.note import Note
from dovetail_vault.words import without_surrogates

__all__ = ["Section", "find_section", "find_target_block", "heading_path", "outline_paths"]

_MAX_SHOWN = 30


class Section(NamedTuple):
    """A heading with everything below it: the span [start, end); its text starts at `body`."""

    heading: Heading
    start: int
    body: int
    end: int
    # The end of its own text, where the first subheading starts.
    own_end: int


def outline_paths(note: Note) -> list[tuple[Heading, list[str]]]:
    """Return each heading with its path: the texts of its parent headings and its own."""
    above: list[Heading] = []
    found = []
    for heading in note.headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        found.append((heading, [without_surrogates(one.text) for one in above]))
    return found


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
    outline = outline_paths(note)
    wanted = heading_path(heading)
    exact = [heading] if isinstance(heading, str) else heading
    matching = [
        place
        for place, (_, path) in enumerate(outline)
        if _ends_with(path, wanted) or _ends_with(path, exact)
    ]
    if not matching:
        shown = ", ".join(repr(" > ".join(path)) for _, path in outline[:_MAX_SHOWN])
        raise ToolError(
            f"{note.path!r} has no heading {' > '.join(wanted)!r}; it has: {shown or 'none'}"
        )
    if len(matching) > 1:
        lines = ", ".join(
            f"{' > '.join(outline[place][1])!r} (line {outline[place][0].line})"
            for place in matching[:_MAX_SHOWN]
        )
        raise ToolError(
            f"{' > '.join(wanted)!r} is ambiguous in {note.path!r}: {lines}. Pass a list that "
            "includes the parent headings"
        )
    return _section(note, matching[0])


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


def _ends_with(path: list[str], wanted: list[str]) -> bool:
    if not wanted or len(wanted) > len(path):
        return False
    return [_key(text) for text in path[-len(wanted) :]] == [_key(text) for text in wanted]


def _key(text: str) -> str:
    return " ".join(text.casefold().split())


def find_target_block(note: Note, name: str) -> tuple[int, int]:
    """Return the span of the block with an id. Raises ToolError if there is none."""
    found = find_block(note.masked, note.text, name.lstrip("^"))
    if found is None:
        raise ToolError(f"{note.path!r} has no block ^{name.lstrip('^')}")
    return found
