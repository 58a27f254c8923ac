"""Build the results of read-note and get-note-metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec

from dovetail_vault.note import Note
from dovetail_vault.results import Metadata, NoteRead, OutlineEntry
from dovetail_vault.sections import find_section, find_target_block, outline_paths
from dovetail_vault.vault import OpenedNote, Vault
from dovetail_vault.words import without_surrogates

__all__ = ["ReadRequest", "View", "metadata_of", "read_view", "take_within"]

T = TypeVar("T")

View = Literal["content", "outline", "section", "frontmatter", "full"]
_PREVIEW = 200
# As in the index.
_MAX_TITLE = 1_000
# Characters of all tags of a note in its metadata.
_MAX_LISTED = 60_000
# Characters of JSON around the text of an outline entry, and around an item of a list.
_ENTRY = 60
_ITEM = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Selects a part of a note."""

    view: View = "content"
    heading: str | list[str] | None = None
    block: str | None = None
    start_line: int | None = None
    line_count: int | None = None
    max_chars: int = 60_000


def read_view(vault: Vault, opened: OpenedNote, request: ReadRequest) -> NoteRead:
    """Return the requested part of a note."""
    note = opened.note
    file = opened.file
    result = NoteRead(
        path=opened.path,
        title=without_surrogates(note.title[:_MAX_TITLE]),
        uri=vault.uri_of(opened.path),
        size=file.size,
        modified=file.modified,
        etag=file.etag,
        encoding=opened.encoding,
        frontmatter_problem=note.problem,
    )
    # The content gets what the other parts leave, which is at least a fifth.
    share = request.max_chars // 5 if request.view == "full" else request.max_chars
    used = _add_parts(result, note, request.view, share)
    if request.view in ("content", "section", "full"):
        _add_content(result, opened, request, max(1, request.max_chars - used))
    return result


def _add_parts(result: NoteRead, note: Note, view: View, share: int) -> int:
    """Add what the view has besides the text, each part within `share`; return the characters."""
    total = 0
    if view in ("frontmatter", "full"):
        used = len(msgspec.json.encode(note.frontmatter))
        if used <= share:
            result.frontmatter = note.frontmatter
            total += used
        else:
            result.omitted.append("frontmatter")
    if view in ("outline", "full"):
        outline = outline_paths(note)
        entries, used = take_within(
            outline, share, lambda pair: sum(map(len, pair[1])) + len(pair[1][-1]) + _ENTRY
        )
        result.outline = [
            OutlineEntry(level=heading.level, text=path[-1], line=heading.line, path=path)
            for heading, path in entries
        ]
        total += used
        if len(entries) < len(note.headings):
            result.omitted.append("outline")
    if view == "full":
        links = list(dict.fromkeys(link.target for link in note.links if link.target))
        for name, texts in (("tags", note.tags), ("links", links)):
            shown, used = take_within(texts, share, lambda text: len(text) + _ITEM)
            setattr(result, name, [without_surrogates(text) for text in shown])
            total += used
            if len(shown) < len(texts):
                result.omitted.append(name)
    return total


def take_within(
    items: Iterable[T], most: int, length_of: Callable[[T], int]
) -> tuple[list[T], int]:
    """Return the first items whose lengths are at most `most` together, and their length."""
    taken, used = [], 0
    for item in items:
        length = length_of(item)
        if used + length > most:
            break
        taken.append(item)
        used += length
    return taken, used


def _add_content(
    result: NoteRead, opened: OpenedNote, request: ReadRequest, max_chars: int
) -> None:
    text = opened.text
    start, end = 0, len(text)
    if request.block is not None:
        start, end = find_target_block(opened.note, request.block)
    elif request.heading is not None:
        section = find_section(opened.note, request.heading)
        start, end = section.start, section.end
    first_line = text.count("\n", 0, start) + 1
    lines = text[start:end].split("\n")
    skipped = max(0, (request.start_line or 1) - first_line)
    wanted = lines[skipped:]
    if request.line_count is not None:
        wanted = wanted[: request.line_count]
    shown: list[str] = []
    used = 0
    for line in wanted:
        used += len(line) + 1
        if used > max_chars and shown:
            break
        shown.append(line)
    content = without_surrogates("\n".join(shown))
    is_truncated = len(content) > max_chars
    result.content = content[:max_chars] if is_truncated else content
    result.start_line = first_line + skipped
    result.total_lines = text.count("\n") + 1
    is_last = skipped + len(shown) >= len(lines)
    result.truncated = is_truncated or not is_last
    result.next_start_line = None if is_last else first_line + skipped + len(shown)


def metadata_of(vault: Vault, opened: OpenedNote) -> Metadata:
    """Return the metadata of a note."""
    note = opened.note
    title, line = note.title_and_line

    def listed(texts: list[str]) -> list[str]:
        shown, _ = take_within(texts, _MAX_LISTED, lambda text: len(text) + _ITEM)
        return [without_surrogates(text) for text in shown]

    body = opened.text[note.body_start :]
    preview = " ".join(
        text.strip()
        for text in body[: _PREVIEW * 10].splitlines()
        if not text.lstrip().startswith("#")
    ).strip()
    return Metadata(
        path=opened.path,
        uri=vault.uri_of(opened.path),
        title=without_surrogates(title[:_MAX_TITLE]),
        title_line=line,
        frontmatter=note.frontmatter,
        frontmatter_problem=note.problem,
        tags=listed(note.tags),
        inline_tags=listed(note.inline_tags),
        aliases=listed(note.aliases),
        has_content=bool(body.strip()),
        content_length=len(body),
        content_preview=without_surrogates(preview[:_PREVIEW]),
        size=opened.file.size,
        modified=opened.file.modified,
        etag=opened.file.etag,
    )
