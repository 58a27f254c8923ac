"""The result types of the tools; clients see them as JSON Schema."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "AppliedEdit",
    "Broken",
    "ContextLine",
    "Deleted",
    "Edited",
    "FileMatches",
    "LineContext",
    "LineMatch",
    "LinkEdge",
    "LinkNode",
    "Links",
    "Listed",
    "Metadata",
    "MetadataError",
    "MetadataResult",
    "Moc",
    "Mocs",
    "Moved",
    "NoteRead",
    "NoteRef",
    "OutlineEntry",
    "Pagination",
    "ReadResult",
    "Rewritten",
    "SearchResult",
    "TagCount",
    "TagList",
    "TagMatches",
    "TaggedNote",
    "TitleMatch",
    "TitleMatches",
    "TreeEntry",
    "Written",
]


class _Result(msgspec.Struct, rename="camel", kw_only=True):
    pass


class Pagination(_Result):
    """The position of this page among all results."""

    total: int
    returned: int
    limit: int
    offset: int
    has_more: bool
    # False if there are at least this many and the rest was not checked.
    total_is_exact: bool = True


class NoteRef(_Result):
    """A note and its version."""

    path: str
    title: str
    uri: str
    size: int
    modified: str
    etag: str


class ContextLine(_Result):
    """A line around a match."""

    number: int
    text: str
    is_match: bool


class LineContext(_Result):
    """The lines around a match."""

    lines: list[ContextLine]
    highlighted: str


class LineMatch(_Result):
    """A line that matches."""

    line: int
    content: str
    context: LineContext | None = None


class FileMatches(_Result):
    """A note that matches."""

    path: str
    title: str
    uri: str
    score: int
    match_count: int
    matches: list[LineMatch]
    size: int
    modified: str
    etag: str


class SearchResult(_Result):
    """Notes that match a query."""

    files: list[FileMatches]
    # The query as it was parsed.
    interpreted: str
    # Number of matching lines in all notes; null if not all matching notes are on this page.
    total_matches: int | None
    file_count: int
    files_searched: int
    # True while the index is incomplete: there may be more matches.
    indexing: bool
    # True if text was left out because of maxChars.
    truncated: bool
    took_ms: float
    pagination: Pagination
    # text, regex, semantic or hybrid; lexical if there is no model for semantic or hybrid.
    mode: str
    # Why the mode differs from the requested one, or how many notes are embedded so far.
    remark: str | None = None


class TitleMatch(_Result):
    """A note whose title, file name or alias matches."""

    file: str
    title: str
    line: int
    score: float
    uri: str


class TitleMatches(_Result):
    """Notes found by title."""

    results: list[TitleMatch]
    count: int
    files_searched: int
    pagination: Pagination


class TreeEntry(_Result):
    """A folder and its number of notes, including subfolders."""

    folder: str
    notes: int


class Listed(_Result):
    """Notes of a folder."""

    notes: list[str]
    details: list[NoteRef]
    folders: list[TreeEntry]
    count: int
    indexing: bool
    pagination: Pagination


class OutlineEntry(_Result):
    """A heading."""

    level: int
    text: str
    line: int
    # Its parent headings and itself; can be passed as `heading`.
    path: list[str]


class NoteRead(_Result):
    """A note, or the requested part of it."""

    path: str
    title: str
    uri: str
    size: int
    modified: str
    etag: str
    encoding: str
    content: str | None = None
    frontmatter: dict[str, Any] | None = None
    frontmatter_problem: str | None = None
    outline: list[OutlineEntry] | None = None
    tags: list[str] | None = None
    links: list[str] | None = None
    start_line: int | None = None
    total_lines: int | None = None
    truncated: bool = False
    next_start_line: int | None = None
    # The parts of which only the beginning fits into maxChars, or nothing.
    omitted: list[str] = msgspec.field(default_factory=list)
    # Why this note could not be read, if several were requested.
    error: str | None = None


class ReadResult(_Result):
    """The notes that were read."""

    notes: list[NoteRead]


class Written(_Result):
    """A note that was written."""

    path: str
    uri: str
    created: bool
    etag: str
    previous_size: int | None
    current_size: int


class Broken(_Result):
    """A link that is broken, or would be."""

    source: str
    line: int
    target: str


class Deleted(_Result):
    """The result of deleting a note."""

    path: str
    deleted: bool
    trashed_to: str | None
    broken_links: list[Broken]


class TaggedNote(_Result):
    """A note and its tags."""

    path: str
    title: str
    uri: str
    tags: list[str]


class TagMatches(_Result):
    """Notes with tags."""

    notes: list[TaggedNote]
    count: int
    pagination: Pagination


class Metadata(_Result):
    """Title, properties, tags and a preview of a note."""

    path: str
    uri: str
    title: str
    title_line: int
    frontmatter: dict[str, Any]
    frontmatter_problem: str | None
    tags: list[str]
    inline_tags: list[str]
    aliases: list[str]
    has_content: bool
    content_length: int
    content_preview: str
    size: int
    modified: str
    etag: str


class MetadataError(_Result):
    """A note that could not be read."""

    file: str
    error: str


class MetadataResult(_Result):
    """Metadata of notes."""

    notes: list[Metadata]
    count: int
    errors: list[MetadataError]
    pagination: Pagination


class Moc(_Result):
    """A map of content: a note that lists links."""

    path: str
    title: str
    uri: str
    tags: list[str]
    linked_notes: list[str]
    link_count: int
    linked_mocs: list[str]


class Mocs(_Result):
    """Maps of content."""

    mocs: list[Moc]
    count: int


class AppliedEdit(_Result):
    """The effect of one edit."""

    op: str
    target: str
    count: int


class Edited(_Result):
    """The effect of the edits, or of a dry run."""

    path: str
    uri: str
    etag: str
    applied: list[AppliedEdit]
    changed: bool
    dry_run: bool
    diff: str
    previous_size: int
    current_size: int


class Rewritten(_Result):
    """The number of links or tags rewritten in one note."""

    path: str
    count: int


class Moved(_Result):
    """The effect of a move, or of a dry run."""

    source: str
    target: str
    uri: str
    moved: bool
    dry_run: bool
    rewritten: list[Rewritten]
    links_rewritten: int
    # Notes that could not be rewritten; their links still point to the old path.
    failed: list[MetadataError]


class LinkNode(_Result):
    """A note in the link graph."""

    path: str
    title: str
    uri: str
    distance: int


class LinkEdge(_Result):
    """A link between two notes; `target` is null if the link is broken."""

    source: str
    target: str | None
    written: str
    line: int
    ambiguous: list[str]


class Links(_Result):
    """Notes and the links between them."""

    nodes: list[LinkNode]
    edges: list[LinkEdge]
    pagination: Pagination


class TagCount(_Result):
    """A tag and its number of notes; `total` includes notes with nested tags."""

    tag: str
    count: int
    total: int


class TagList(_Result):
    """Tags of the vault, and the effect of a rename."""

    tags: list[TagCount]
    count: int
    renamed: list[Rewritten]
    failed: list[MetadataError]
    dry_run: bool
    pagination: Pagination
