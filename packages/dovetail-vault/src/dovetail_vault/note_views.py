"""Build the results of read-note and get-note-metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dovetail_vault.results import Metadata, NoteRead, OutlineEntry
from dovetail_vault.sections import find_section, find_target_block, outline_paths
from dovetail_vault.vault import OpenedNote, Vault
from dovetail_vault.words import without_surrogates

__all__ = ["ReadRequest", "View", "metadata_of", "read_view"]

View = Literal["content", "outline", "section", "frontmatter", "full"]
_PREVIEW = 200


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
        title=without_surrogates(note.title),
        uri=vault.uri_of(opened.path),
        size=file.size,
        modified=file.modified,
        etag=file.etag,
        encoding=opened.encoding,
        frontmatter_problem=note.problem,
    )
    if request.view in ("frontmatter", "full"):
        result.frontmatter = note.frontmatter
    if request.view in ("outline", "full"):
        result.outline = [
            OutlineEntry(
                level=heading.level,
                text=path[-1],
                line=heading.line,
                path=path,
            )
            for heading, path in outline_paths(note)
        ]
    if request.view == "full":
        result.tags = [without_surrogates(tag) for tag in note.tags]
        links = dict.fromkeys(link.target for link in note.links if link.target)
        result.links = [without_surrogates(link) for link in links]
    if request.view in ("content", "section", "full"):
        _add_content(result, opened, request)
    return result


def _add_content(result: NoteRead, opened: OpenedNote, request: ReadRequest) -> None:
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
        if used > request.max_chars and shown:
            break
        shown.append(line)
    content = without_surrogates("\n".join(shown))
    is_truncated = len(content) > request.max_chars
    result.content = content[: request.max_chars] if is_truncated else content
    result.start_line = first_line + skipped
    result.total_lines = text.count("\n") + 1
    is_last = skipped + len(shown) >= len(lines)
    result.truncated = is_truncated or not is_last
    result.next_start_line = None if is_last else first_line + skipped + len(shown)


def metadata_of(vault: Vault, opened: OpenedNote) -> Metadata:
    """Return the metadata of a note."""
    note = opened.note
    title, line = note.title_and_line
    body = opened.text[note.body_start :]
    preview = " ".join(
        text.strip()
        for text in body[: _PREVIEW * 10].splitlines()
        if not text.lstrip().startswith("#")
    ).strip()
    return Metadata(
        path=opened.path,
        uri=vault.uri_of(opened.path),
        title=without_surrogates(title),
        title_line=line,
        frontmatter=note.frontmatter,
        frontmatter_problem=note.problem,
        tags=[without_surrogates(tag) for tag in note.tags],
        inline_tags=[without_surrogates(tag) for tag in note.inline_tags],
        aliases=[without_surrogates(alias) for alias in note.aliases],
        has_content=bool(body.strip()),
        content_length=len(body),
        content_preview=without_surrogates(preview[:_PREVIEW]),
        size=opened.file.size,
        modified=opened.file.modified,
        etag=opened.file.etag,
    )
