"""A parsed note: title, tags, properties, headings, links."""

from __future__ import annotations

from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from dovetail_vault.frontmatter import as_list, parse_frontmatter
from dovetail_vault.markdown import (
    Heading,
    Link,
    find_headings,
    find_links,
    find_properties,
    find_tags,
    mask_code,
)
from dovetail_vault.paths import fold_name

__all__ = ["Note", "leaf_of"]

_TAG_KEYS = ("tags", "tag")
_ALIAS_KEYS = ("aliases", "alias")


def leaf_of(path: str) -> str:
    """Return the folded name of a note without folders and suffix, by which links find it.

    Logseq stores the namespace `a/b` as `a___b.md`.
    """
    name = path.rpartition("/")[2].removesuffix(".md")
    return fold_name(name.rpartition("___")[2])


class Note:
    """The text of a note; its parts are parsed on first access."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._frontmatter = parse_frontmatter(text)

    @property
    def frontmatter(self) -> dict[str, Any]:
        """The values of the YAML frontmatter."""
        return self._frontmatter.values

    @property
    def problem(self) -> str | None:
        """What is wrong with the frontmatter, if anything."""
        return self._frontmatter.problem

    @property
    def body_start(self) -> int:
        """The offset of the text after the frontmatter."""
        return self._frontmatter.end

    @cached_property
    def masked(self) -> str:
        """The text with code blanked, at the same offsets."""
        return mask_code(self.text)

    @cached_property
    def properties(self) -> dict[str, str]:
        """Logseq's properties."""
        return find_properties(self.masked, self.body_start)

    @cached_property
    def headings(self) -> list[Heading]:
        """All headings in order."""
        return find_headings(self.masked, self.text, self.body_start)

    @cached_property
    def links(self) -> list[Link]:
        """All links to other files."""
        return find_links(self.masked)

    @cached_property
    def inline_tags(self) -> list[str]:
        """The tags in the text, without duplicates."""
        return list(dict.fromkeys(find_tags(self.masked, self.body_start)))

    @cached_property
    def tags(self) -> list[str]:
        """All tags of frontmatter, properties and text, without duplicates."""
        found: dict[str, str] = {}
        values = {key.lower(): value for key, value in self.frontmatter.items()}
        for key in _TAG_KEYS:
            for tag in as_list(values.get(key)):
                found.setdefault(
                    tag.lstrip("#").rstrip("/").casefold(), tag.lstrip("#").rstrip("/")
                )
        for key in _TAG_KEYS:
            for tag in _listed(self.properties.get(key, "")):
                found.setdefault(tag.casefold(), tag)
        for tag in self.inline_tags:
            found.setdefault(tag.casefold(), tag)
        found.pop("", None)
        return list(found.values())

    @cached_property
    def aliases(self) -> list[str]:
        """Other names of the note."""
        values = {key.lower(): value for key, value in self.frontmatter.items()}
        names: list[str] = []
        for key in _ALIAS_KEYS:
            value = values.get(key)
            if isinstance(value, str):
                names += [part.strip() for part in value.split(",")]
            elif isinstance(value, list):
                names += [str(part) for part in value if part is not None]
        names += _listed(self.properties.get("alias", ""))
        return [name for name in dict.fromkeys(names) if name]

    @cached_property
    def title_and_line(self) -> tuple[str, int]:
        """The first heading of level 1, else the title property, else the file name."""
        for heading in self.headings:
            if heading.level == 1 and heading.text:
                return _without_tags(heading.text), heading.line
        for title in (self.frontmatter.get("title"), self.properties.get("title")):
            if isinstance(title, str | int | float) and str(title).strip():
                return str(title).strip(), 1
        return PurePosixPath(self.path).stem.replace("___", "/"), 1

    @property
    def title(self) -> str:
        """The title of the note."""
        return self.title_and_line[0]


def _listed(value: str) -> list[str]:
    """Split `a, [[b c]], #d` into names."""
    names = (
        part.strip().lstrip("#").removeprefix("[[").removesuffix("]]") for part in value.split(",")
    )
    return [name for name in names if name]


def _without_tags(text: str) -> str:
    words = text.split()
    while len(words) > 1 and words[-1].startswith("#") and len(words[-1]) > 1:
        words.pop()
    return " ".join(words)
