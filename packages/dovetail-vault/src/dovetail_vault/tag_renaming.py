"""Rename a tag in one note: in the text, the YAML frontmatter and Logseq's properties."""

from __future__ import annotations

import re

from dovetail import ToolError
from dovetail_vault.frontmatter import lines_of_key, parse_frontmatter
from dovetail_vault.markdown import tag_spans
from dovetail_vault.note import Note
from dovetail_vault.replacements import replace_spans

__all__ = ["check_tag", "rename_tag"]

_TAG = re.compile(r"[^\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+")


def check_tag(text: str) -> str:
    """Return a tag without its `#`. Raises ToolError if it is not valid."""
    tag = text.removeprefix("#").strip("/")
    if not _TAG.fullmatch(tag) or tag.replace("/", "").isdigit():
        raise ToolError(
            f"{text!r} is not a valid tag: use letters, digits, _ - and /, and at least one "
            "character that is not a digit"
        )
    return tag


def rename_tag(path: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Return the text with a tag and its nested tags renamed, and the number of replacements."""
    note = Note(path, text)
    places: list[tuple[int, int]] = []
    wanted = old.casefold()
    for tag, start, _ in tag_spans(note.masked, note.body_start):
        if tag.casefold() == wanted or tag.casefold().startswith(f"{wanted}/"):
            places.append((start, start + len(old)))
    for start, end in _property_lines(note):
        listed = re.compile(rf"(?<![\w/-]){re.escape(old)}(?=/|[^\w/-]|\Z)", re.I)
        places += [match.span() for match in listed.finditer(text, start, end)]
    return replace_spans(text, ((start, end, new) for start, end in sorted(set(places))))


def _property_lines(note: Note) -> list[tuple[int, int]]:
    """Return the spans of the values of `tags` in the frontmatter and of `tags::` in the text."""
    found = []
    if parse_frontmatter(note.text).problem is None:
        for key in note.frontmatter:
            if key.lower() in ("tags", "tag"):
                lines = lines_of_key(note.text, key)
                if lines is not None:
                    found.append((lines[0] + len(key) + 1, lines[1]))
    for match in re.finditer(r"^[ \t]*(?:[-*+][ \t]+)?tags?::[ \t]+", note.masked, re.M | re.I):
        end = note.text.find("\n", match.end())
        found.append((match.end(), len(note.text) if end < 0 else end))
    return found
