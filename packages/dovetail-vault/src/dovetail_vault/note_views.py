"""Build the texts of read-note and the results of get-note-metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from dovetail import ToolError
from dovetail_serverkit.answer_size import json_size
from dovetail_vault.frontmatter import split_frontmatter
from dovetail_vault.limits import DEFAULT_CHARS, cut
from dovetail_vault.results import Metadata
from dovetail_vault.sections import find_section, find_target_block, outline_paths
from dovetail_vault.vault import OpenedNote
from dovetail_vault.words import without_surrogates

__all__ = ["NoteText", "ReadRequest", "View", "metadata_of", "read_view", "shorten_metadata"]

View = Literal["content", "outline", "section", "frontmatter", "full"]
_PREVIEW = 200
# As in the index.
_MAX_TITLE = 1_000
# Characters of a path, and of all remarks on a note.
_MAX_PATH = 100
_REMARKS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Selects a part of a note."""

    view: View = "content"
    heading: str | list[str] | None = None
    block: str | None = None
    start_line: int | None = None
    line_count: int | None = None
    max_chars: int = DEFAULT_CHARS


class NoteText(NamedTuple):
    """The requested part of a note, and a line on the note: path, etag, what was left out."""

    text: str
    remark: str

    @property
    def size(self) -> int:
        """The number of characters of both as JSON."""
        return json_size(self.text) + json_size(self.remark)


class _Part(NamedTuple):
    text: str
    remarks: list[str]


def read_view(opened: OpenedNote, request: ReadRequest) -> NoteText:
    """Return the requested part of a note, within `max_chars`."""
    room = request.max_chars - _REMARKS
    if request.view == "outline":
        part = _listed("outline", _outline(opened), room)
    elif request.view == "frontmatter":
        part = _frontmatter(opened, room)
    elif request.view == "full":
        part = _everything(opened, request, room)
    else:
        part = _content(opened, request, room)
    remarks = [_shorten(opened.path), f"etag {opened.file.etag}", *part.remarks]
    if opened.encoding != "utf-8":
        remarks.append(f"encoding {opened.encoding}")
    if opened.note.problem is not None:
        remarks.append(f"frontmatter: {opened.note.problem[:_MAX_PATH]}")
    return NoteText(part.text, cut("; ".join(remarks), _REMARKS))


def _shorten(path: str) -> str:
    return path if len(path) <= _MAX_PATH else f"…{path[-_MAX_PATH:]}"


def _outline(opened: OpenedNote) -> Iterator[str]:
    for heading, path in outline_paths(opened.note):
        yield f"{heading.line}: {'#' * heading.level} {path[-1]}"


def _frontmatter(opened: OpenedNote, room: int) -> _Part:
    """Return the YAML as it is written, so that it can be edited as text."""
    block, _ = split_frontmatter(opened.text)
    if block is None:
        return _Part("", ["no frontmatter"])
    return _listed("frontmatter", without_surrogates(block).splitlines(), room)


def _listed(name: str, lines: Iterable[str], room: int) -> _Part:
    """Return as many of the first lines as fit."""
    taken: list[str] = []
    left = room
    for line in lines:
        left -= json_size(line)
        if left < 0:
            return _Part("\n".join(taken), [f"{name} cut at maxChars"])
        taken.append(line)
    return _Part("\n".join(taken), [])


def _everything(opened: OpenedNote, request: ReadRequest, room: int) -> _Part:
    """Return the text, then outline, tags and links, which get at most a fifth each."""
    note, parts, remarks = opened.note, [], []
    links = dict.fromkeys(link.target for link in note.links if link.target)
    lists: list[tuple[str, Iterable[str]]] = [
        ("outline", _outline(opened)),
        ("tags", map(without_surrogates, note.tags)),
        ("links", map(without_surrogates, links)),
    ]
    for name, lines in lists:
        part = _listed(name, lines, room // 5 - len(name))
        remarks += part.remarks
        if part.text:
            parts.append(f"{name}:\n{part.text}")
    added = "\n\n".join(parts)
    content = _content(opened, request, room - json_size(added) - len("\n\n"))
    return _Part("\n\n".join(filter(None, [content.text, added])), [*content.remarks, *remarks])


def _content(opened: OpenedNote, request: ReadRequest, room: int) -> _Part:
    text = opened.text
    start, end = 0, len(text)
    if request.block is not None:
        start, end = find_target_block(opened.note, request.block)
    elif request.heading is not None:
        section = find_section(opened.note, request.heading)
        start, end = section.start, section.end
    first = text.count("\n", 0, start) + 1
    lines = without_surrogates(text[start:end]).split("\n")
    skipped = max(0, (request.start_line or 1) - first)
    wanted = lines[skipped:]
    if not wanted:
        last = first + len(lines) - 1
        raise ToolError(f"startLine is {request.start_line}, but {opened.path!r} ends at {last}")
    if request.line_count is not None:
        wanted = wanted[: request.line_count]
    content = "\n".join(wanted)
    shown = cut(content, room)
    count = len(wanted)
    is_cut = len(shown) < len(content)
    if is_cut:
        # Whole lines, or the beginning of one that is too long.
        count = max(1, shown.count("\n"))
        whole = "\n".join(wanted[:count])
        shown, is_cut = whole[: len(shown)], len(whole) > len(shown)
    remarks = [f"line {first + skipped} cut at maxChars"] if is_cut else []
    total = text.count("\n") + 1
    if count == total:
        return _Part(shown, remarks)
    following = first + skipped + count
    is_last = skipped + count >= len(lines)
    # A section ends with the line break before the next heading.
    last = following - 2 if is_last and end < len(text) and not lines[-1] else following - 1
    remarks.append(f"lines {first + skipped}-{last} of {total}")
    if not is_last:
        remarks.append(f"continue with startLine={following}")
    return _Part(shown, remarks)


def metadata_of(opened: OpenedNote) -> Metadata:
    """Return the metadata of a note."""
    note = opened.note
    body = opened.text[note.body_start :]
    preview = " ".join(
        text.strip()
        for text in body[: _PREVIEW * 10].splitlines()
        if not text.lstrip().startswith("#")
    ).strip()
    return Metadata(
        path=opened.path,
        title=without_surrogates(note.title[:_MAX_TITLE]),
        frontmatter=note.frontmatter,
        frontmatter_problem=note.problem,
        tags=list(map(without_surrogates, note.tags)),
        aliases=list(map(without_surrogates, note.aliases)),
        content_length=len(body),
        content_preview=without_surrogates(preview[:_PREVIEW]),
        size=opened.file.size,
        modified=opened.file.modified,
        etag=opened.file.etag,
    )


def shorten_metadata(metadata: Metadata, size: int) -> Metadata:
    """Return metadata of at most this size as JSON: without parts that do not fit."""
    empty: dict[str, Any] = {"frontmatter": {}, "tags": [], "aliases": [], "content_preview": ""}
    for name, nothing in empty.items():
        if json_size(metadata) <= size:
            break
        if getattr(metadata, name):
            metadata = replace(metadata, **{name: nothing}, omitted=[*metadata.omitted, name])
    return metadata
