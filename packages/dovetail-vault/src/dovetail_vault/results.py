"""What the tools answer, as types; their schemas are what clients are told."""

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
    """Which part of all results this is."""

    total: int
    returned: int
    limit: int
    offset: int
    has_more: bool
    # False: there are at least so many, the rest was not looked at.
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
    # How the query was understood.
    interpreted: str
    # Matching lines of all notes; null where further notes match that this page does not show.
    total_matches: int | None
    file_count: int
    files_searched: int
    # The index is not complete yet: there may be more.
    indexing: bool
    # Text was left out to keep to maxChars.
    truncated: bool
    took_ms: float
    pagination: Pagination
    # What answered: text, regex, semantic, hybrid; lexical where a model was wanted and is missing.
    mode: str
    # Why it was another than was asked for, or how far the model has come.
    remark: str | None = None


class TitleMatch(_Result):
    """A note whose title, name or alias matches."""

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
    """A folder and how many notes it has, those of its folders included."""

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
    # The headings above it and itself: what to give as `heading`.
    path: list[str]


class NoteRead(_Result):
    """A note, or the part of it that was asked for."""

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
    # Why this note of several could not be read.
    error: str | None = None


class ReadResult(_Result):
    """What was read."""

    notes: list[NoteRead]


class Written(_Result):
    """A note was written."""

    path: str
    uri: str
    created: bool
    etag: str
    previous_size: int | None
    current_size: int


class Broken(_Result):
    """A link that leads nowhere, or would."""

    source: str
    line: int
    target: str


class Deleted(_Result):
    """What became of a note that was to be deleted."""

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
    """What a note says of itself."""

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
    """What notes say of themselves."""

    notes: list[Metadata]
    count: int
    errors: list[MetadataError]
    pagination: Pagination


class Moc(_Result):
    """A map of content: a note that is a list of links."""

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
    """What one edit did."""

    op: str
    target: str
    count: int


class Edited(_Result):
    """What the edits did, or would do."""

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
    """Links or tags of one note that were rewritten."""

    path: str
    count: int


class Moved(_Result):
    """A note was moved, or would be."""

    source: str
    target: str
    uri: str
    moved: bool
    dry_run: bool
    rewritten: list[Rewritten]
    links_rewritten: int
    # Notes that changed under our hands; their links still name the old place.
    failed: list[MetadataError]


class LinkNode(_Result):
    """A note of the graph."""

    path: str
    title: str
    uri: str
    distance: int


class LinkEdge(_Result):
    """A link between two notes; `target` is null where it leads nowhere."""

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
    """A tag and how many notes have it; `total` counts those with tags below it as well."""

    tag: str
    count: int
    total: int


class TagList(_Result):
    """Tags of the vault, and what a renaming did."""

    tags: list[TagCount]
    count: int
    renamed: list[Rewritten]
    failed: list[MetadataError]
    dry_run: bool
    pagination: Pagination
