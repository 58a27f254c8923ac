"""The result types of the tools; clients see them as JSON Schema.

Fields with their default value are left out: an assistant pays for every character.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "Deleted",
    "Edited",
    "FileMatches",
    "LineMatch",
    "LinkEdge",
    "Links",
    "Listed",
    "Metadata",
    "MetadataResult",
    "Moc",
    "Mocs",
    "Moved",
    "NoteError",
    "NoteRef",
    "Page",
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


class _Result(msgspec.Struct, rename="camel", omit_defaults=True):
    pass


class Page(_Result, kw_only=True):
    """A part of a list."""

    # Number of results on all pages.
    total: int
    # Pass it as `offset` for the next page; missing on the last one.
    next_offset: int | None = None


class LineMatch(_Result, kw_only=True):
    """A line that matches, and the lines around it that are not shown elsewhere."""

    line: int
    text: str
    before: list[str] = []
    after: list[str] = []


class FileMatches(_Result, kw_only=True):
    """A note that matches."""

    path: str
    matches: list[LineMatch] = []
    # Number of matching lines that are not shown.
    more_matches: int = 0
    # The properties that `where` compares.
    properties: dict[str, Any] = {}


class SearchResult(Page, kw_only=True):
    """Notes that match a query."""

    files: list[FileMatches]
    # False if there are at least `total` notes and the rest was not checked.
    total_is_exact: bool = True
    # The parsed query, if it has operators.
    interpreted: str = ""
    # True while the index is incomplete: there may be more matches.
    indexing: bool = False
    # The mode that was used, if it is not text: regex, semantic, hybrid or lexical.
    mode: str = "text"
    # Why the mode differs from the requested one, or what is missing.
    remark: str = ""


class TitleMatch(_Result, kw_only=True):
    """A note whose title, file name or alias matches."""

    file: str
    # Missing if it is the name of the file.
    title: str = ""


class TitleMatches(Page, kw_only=True):
    """Notes found by title."""

    results: list[TitleMatch]
    # Similar titles, if none matches.
    suggestions: list[str] = []


class TreeEntry(_Result, kw_only=True):
    """A folder and its number of notes, including subfolders."""

    folder: str
    notes: int


class NoteRef(_Result, kw_only=True):
    """A note and its version."""

    path: str
    title: str
    size: int
    modified: str
    etag: str


class Listed(Page, kw_only=True):
    """Notes of a folder; details or folders with the views of these names."""

    notes: list[str]
    details: list[NoteRef] = []
    folders: list[TreeEntry] = []
    indexing: bool = False


class Written(_Result, kw_only=True):
    """A note that was written."""

    path: str
    etag: str
    size: int
    created: bool = False


class LinkEdge(_Result, kw_only=True):
    """A link; `target` is missing if it is broken. The note that was asked for is left out."""

    source: str = ""
    target: str = ""
    line: int
    # The link's text, if the link is broken or ambiguous.
    written: str = ""
    # Other notes with the same name.
    ambiguous: list[str] = []


class Deleted(_Result, kw_only=True):
    """The result of deleting a note."""

    path: str
    deleted: bool
    trashed_to: str | None = None
    # Number of links to the note, and the first of them.
    broken: int = 0
    broken_links: list[LinkEdge] = []


class TaggedNote(_Result, kw_only=True):
    """A note and its tags."""

    path: str
    tags: list[str]


class TagMatches(Page, kw_only=True):
    """Notes with tags."""

    notes: list[TaggedNote]
    # Similar tags, for those that no note has.
    suggestions: list[str] = []


class Metadata(_Result, kw_only=True):
    """Title, properties, tags and a preview of a note."""

    path: str
    title: str
    frontmatter: dict[str, Any] = {}
    frontmatter_problem: str | None = None
    tags: list[str] = []
    aliases: list[str] = []
    content_length: int
    content_preview: str = ""
    size: int
    modified: str
    etag: str
    # The parts that do not fit into maxChars.
    omitted: list[str] = []


class NoteError(_Result, kw_only=True):
    """A note that could not be read or changed."""

    file: str
    error: str


class MetadataResult(Page, kw_only=True):
    """Metadata of notes."""

    notes: list[Metadata]
    errors: list[NoteError] = []


class Moc(_Result, kw_only=True):
    """A map of content: a note that lists links."""

    path: str
    title: str = ""
    link_count: int
    # The first notes that it links to; get-links has all.
    linked_notes: list[str]


class Mocs(Page, kw_only=True):
    """Maps of content."""

    mocs: list[Moc]


class Edited(_Result, kw_only=True):
    """The effect of the edits, or of a dry run."""

    path: str
    etag: str
    size: int
    changed: bool
    dry_run: bool = False
    # Number of places that were changed.
    replacements: int
    diff: str


class Rewritten(_Result, kw_only=True):
    """The number of links or tags rewritten in one note."""

    path: str
    count: int


class Moved(_Result, kw_only=True):
    """The effect of a move, of renaming a tag, or of a dry run."""

    source: str
    target: str
    dry_run: bool = False
    # Number of links or tags rewritten, in how many notes, and the first of these.
    replacements: int
    notes: int
    rewritten: list[Rewritten] = []
    # Notes that could not be rewritten; their links still point to the old path.
    failed: list[NoteError] = []


class Links(Page, kw_only=True):
    """Links of a note, links further away, broken links, or notes without links."""

    outgoing: list[LinkEdge] = []
    incoming: list[LinkEdge] = []
    further: list[LinkEdge] = []
    broken: list[LinkEdge] = []
    orphans: list[str] = []


class TagCount(_Result, kw_only=True):
    """A tag and its number of notes; `total` includes nested tags, if there are any."""

    tag: str
    count: int
    total: int | None = None


class TagList(Page, kw_only=True):
    """Tags of the vault."""

    tags: list[TagCount]
