"""Find code, headings, blocks, tags and links in Markdown.

Uses regular expressions that are linear in the text: a full syntax tree would be too slow for an
index of a hundred thousand notes, and offsets refer to the file. The definitions are Obsidian's;
Logseq's properties and `#[[several words]]` are supported too.
"""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple
from urllib.parse import unquote

__all__ = [
    "Heading",
    "Link",
    "find_block",
    "find_block_ids",
    "find_headings",
    "find_links",
    "find_properties",
    "find_tags",
    "mask_code",
    "tag_spans",
]

_FENCE = re.compile(
    r"^[ \t]{0,3}(?:>[ \t]?)*[ \t]*(?:[-*+][ \t]+)?(?P<mark>`{3,}|~{3,})(?P<info>[^\n]*)$", re.M
)
# Headings, and links of each kind, of a note; a million of them take a gigabyte of memory.
_MAX_FOUND = 100_000
_BACKTICKS = re.compile(r"`+|\n")
# Starts with a literal character, which is many times faster to search than a line start.
_HEADING = re.compile(r"#(#{0,5})(?=[ \t])[^\n]*")
_HEADING_LINE = re.compile(r" {0,3}#{1,6}(?=[ \t])")
_INDENT = re.compile(r" {0,3}")
_CLOSING_MARKS = re.compile(r"(?:^|[ \t])#+$")
# The characters that end a tag are Obsidian's.
# Starts with a literal character, which is many times faster to search.
_TAG = re.compile(
    r"#(?P<tag>[^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)",
    re.M,
)
_LOGSEQ_TAG = re.compile(r"(?:(?<=\s)|^)#\[\[(?P<tag>[^\[\]\n]+)\]\]", re.M)
_PROPERTY = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?P<key>[A-Za-z][\w/-]*)::[ \t](?P<value>[^\n]*)$", re.M
)
_WIKILINK = re.compile(
    r"\[\[(?P<target>[^\[\]|#\n]*?)(?P<anchor>#[^\[\]|\n]*?)?(?P<alias>\\?\|[^\[\]\n]*)?\]\]"
)
_MARKDOWN_LINK = re.compile(
    r"\[(?P<text>[^\[\]\n]*(?:\[[^\[\]\n]*\][^\[\]\n]*)*)\]"
    r"\((?P<open><?)(?P<target>(?<=<)[^<>\n]*|(?<=\()[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?"
    r"(?P<title>[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#")
_BLOCK_ID = re.compile(r"(?:^|[ \t])\^(?P<id>[A-Za-z0-9-]+)[ \t]*\r?$", re.M)
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")


class Heading(NamedTuple):
    """A heading; `start` is the offset of its line, `body` that of the next line."""

    level: int
    text: str
    line: int
    start: int
    body: int


class Link(NamedTuple):
    """A link to another file of the vault, with the position of its target in the text."""

    kind: Literal["wikilink", "markdown"]
    target: str
    anchor: str
    alias: str
    is_embed: bool
    line: int
    start: int
    end: int
    # The span of the target as written, so that only this part is replaced.
    target_start: int
    target_end: int
    is_bracketed: bool = False


def mask_code(text: str) -> str:
    """Return the text with code replaced by spaces; offsets do not change."""
    if "`" not in text and "~~~" not in text:
        return text
    pieces: list[str] = []
    place = 0
    opening: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        mark = fence["mark"]
        if opening is None:
            if mark[0] == "`" and "`" in fence["info"]:
                continue
            opening = fence
        elif (
            mark[0] == opening["mark"][0]
            and len(mark) >= len(opening["mark"])
            and not fence["info"].strip()
        ):
            pieces.append(_mask_inline(text[place : opening.start()]))
            pieces.append(_blank(text[opening.start() : fence.end()]))
            place, opening = fence.end(), None
    if opening is not None:
        pieces.append(_mask_inline(text[place : opening.start()]))
        pieces.append(_blank(text[opening.start() :]))
        place = len(text)
    pieces.append(_mask_inline(text[place:]))
    return "".join(pieces)


def _mask_inline(text: str) -> str:
    """Blank each code span: from a run of backticks to the next run of that length in its line."""
    if "`" not in text:
        return text
    # A regular expression would search the rest of the line once for each run without a partner.
    starts, ends = array("I"), array("I")
    for run in _BACKTICKS.finditer(text):
        starts.append(run.start())
        ends.append(run.end() if run[0] != "\n" else run.start())
    closing = array("I", bytes(starts.itemsize * len(starts)))
    following: dict[int, int] = {}
    for number in reversed(range(len(starts))):
        length = ends[number] - starts[number]
        if length == 0:
            following.clear()
            continue
        closing[number] = following.get(length, 0)
        following[length] = ends[number]
    masked, place = io.StringIO(), 0
    for start, end in zip(starts, closing, strict=True):
        if end and start >= place:
            masked.write(text[place:start])
            masked.write(_blank(text[start:end]))
            place = end
    masked.write(text[place:])
    return masked.getvalue()


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def find_headings(masked: str, text: str, start: int = 0) -> list[Heading]:
    """Return the headings after the frontmatter, in order."""
    found = []
    line, counted = text.count("\n", 0, start) + 1, start
    for match in _HEADING.finditer(masked, start):
        begin = _start_of_heading(masked, match.start())
        if begin < start:
            continue
        line += text.count("\n", counted, begin)
        counted = begin
        following = text.find("\n", begin)
        body = len(text) if following < 0 else following + 1
        # Inline code is blanked in `masked`, but belongs to the heading's text.
        words = _CLOSING_MARKS.sub("", text[match.end(1) : match.end()].strip()).rstrip()
        found.append(Heading(len(match[1]) + 1, words, line, begin, body))
        if len(found) == _MAX_FOUND:
            break
    return found


def _start_of_heading(masked: str, marks: int) -> int:
    """Return the start of the line if the marks are its first characters, else -1."""
    begin = masked.rfind("\n", 0, marks) + 1
    return begin if _INDENT.fullmatch(masked, begin, marks) else -1


def find_tags(masked: str, start: int = 0) -> list[str]:
    """Return the inline tags after the frontmatter, as written, without `#`."""
    return [tag for tag, _, _ in tag_spans(masked, start)]


def tag_spans(masked: str, start: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield each inline tag and its span, without `#`."""
    if "#" not in masked:
        return
    for match in _TAG.finditer(masked, start):
        tag = match["tag"].rstrip("/")
        if tag and _is_word_start(masked, match.start()) and not tag.replace("/", "").isdigit():
            yield tag, match.start("tag"), match.start("tag") + len(tag)
    if "#[[" in masked:
        for match in _LOGSEQ_TAG.finditer(masked, start):
            if _is_word_start(masked, match.start()):
                yield match["tag"], match.start("tag"), match.end("tag")


def _is_word_start(text: str, place: int) -> bool:
    """Whether the position is at the start of the text or after whitespace."""
    return place == 0 or text[place - 1].isspace()


def find_properties(masked: str, start: int = 0) -> dict[str, str]:
    """Return Logseq's `key:: value` properties; the first value of a key counts."""
    if "::" not in masked:
        return {}
    found: dict[str, str] = {}
    for match in _PROPERTY.finditer(masked, start):
        found.setdefault(match["key"].lower(), match["value"].strip(" \t\r"))
    return found


def find_links(masked: str) -> list[Link]:
    """Return wikilinks and Markdown links to files, in order; URLs are skipped."""
    if "](" not in masked and "[[" not in masked:
        return []
    found = list(islice(_wikilinks(masked), _MAX_FOUND)) if "[[" in masked else []
    if "](" in masked:
        found += islice(_markdown_links(masked), _MAX_FOUND)
    found.sort(key=lambda link: link.start)
    line, counted = 1, 0
    placed = []
    for link in found:
        line += masked.count("\n", counted, link.start)
        counted = link.start
        placed.append(link._replace(line=line))
    return placed


def _wikilinks(masked: str) -> Iterator[Link]:
    for match in _WIKILINK.finditer(masked):
        target = match["target"].strip()
        yield Link(
            "wikilink",
            target,
            match["anchor"] or "",
            (match["alias"] or "").lstrip("\\").removeprefix("|"),
            masked[match.start() - 1 : match.start()] == "!",
            0,
            match.start(),
            match.end(),
            match.start("target"),
            match.end("target"),
        )


def _markdown_links(masked: str) -> Iterator[Link]:
    for match in _MARKDOWN_LINK.finditer(masked):
        written = match["target"]
        if not written or _SCHEME.match(written):
            continue
        target, mark, anchor = written.partition("#")
        start = match.start("target")
        yield Link(
            "markdown",
            unquote(target),
            f"{mark}{anchor}",
            match["text"],
            masked[match.start() - 1 : match.start()] == "!",
            0,
            match.start(),
            match.end(),
            start,
            start + len(target),
            bool(match["open"]),
        )


def find_block_ids(masked: str) -> Iterator[str]:
    """Yield the ids of blocks, without ^."""
    return (match["id"] for match in _BLOCK_ID.finditer(masked))


def find_block(masked: str, text: str, name: str) -> tuple[int, int] | None:
    """Return the span of the block with this id: a list item or a paragraph."""
    for match in _BLOCK_ID.finditer(masked):
        if match["id"] != name:
            continue
        line_start = text.rfind("\n", 0, match.start("id")) + 1
        end = match.end()
        end = end if text[end - 1 : end] != "\r" else end - 1
        if text[line_start : match.start("id") - 1].strip() == "":
            # An id on a line of its own belongs to the block above it.
            end_of_block = line_start
            while end_of_block > 0 and text[end_of_block - 1] in "\r\n":
                end_of_block -= 1
            line_start = text.rfind("\n", 0, end_of_block) + 1
        if _LIST_ITEM.match(text, line_start):
            return line_start, end
        while line_start > 0:
            previous = text.rfind("\n", 0, line_start - 1) + 1
            line = text[previous : line_start - 1]
            if not line.strip() or _HEADING_LINE.match(line):
                break
            line_start = previous
        return line_start, end
    return None
