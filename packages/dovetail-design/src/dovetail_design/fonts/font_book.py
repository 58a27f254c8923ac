"""The available font families, and which one is used for a requested name.

Nothing here draws: the book has names, weights and files. The operator may add a folder of fonts.
System fonts are not in the book, so that a design looks the same everywhere; the typesetter uses
them only for characters that no font of the book has.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dovetail_design.fonts.bundled import (
    CATEGORIES,
    FALLBACKS,
    STAND_INS,
    Face,
    bundled_faces,
)
from dovetail_design.fonts.font_files import read_folder

__all__ = ["DEFAULT_FAMILY", "Family", "FontBook", "FontChoice", "bundled_book"]

DEFAULT_FAMILY = "Inter"


class Family(NamedTuple):
    """A family in a list."""

    name: str
    category: str
    weights: tuple[int, ...]
    has_italic: bool
    # "embedded", or "folder" for the operator's fonts.
    source: str


class FontChoice(NamedTuple):
    """The family that is used for a requested one."""

    family: str
    asked: str
    is_substitute: bool


class FontBook:
    """The bundled families, and those of the operator's folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        own = () if folder is None else read_folder(folder)
        self.faces: tuple[Face, ...] = (*own, *bundled_faces())
        self._by_word: dict[str, Family] = {}
        for face in self.faces:
            if face.family.lower() not in self._by_word:
                self._by_word[face.family.lower()] = self._family(face.family, face in own)
        self._own_families = tuple(dict.fromkeys(face.family for face in own))

    def _family(self, name: str, is_own: bool) -> Family:
        faces = [face for face in self.faces if face.family.lower() == name.lower()]
        return Family(
            name,
            CATEGORIES.get(name, "other"),
            tuple(sorted({face.weight for face in faces})),
            any(face.is_italic for face in faces),
            "folder" if is_own else "embedded",
        )

    def families(self) -> tuple[Family, ...]:
        """Return every family, the operator's first."""
        return tuple(self._by_word.values())

    def choose(self, asked: str) -> FontChoice:
        """Return the family for a name or a CSS list of names, or a substitute."""
        words = [word.strip().strip("'\"") for word in asked.split(",")]
        for word in words:
            found = self._by_word.get(word.lower())
            if found is not None:
                return FontChoice(found.name, asked, word != words[0])
        for word in words:
            if word.lower() in STAND_INS:
                return FontChoice(STAND_INS[word.lower()], asked, is_substitute=True)
        return FontChoice(DEFAULT_FAMILY, asked, is_substitute=True)

    def chain(self, family: str) -> tuple[str, ...]:
        """Return the family followed by its fallbacks for missing characters."""
        return tuple(dict.fromkeys((family, *FALLBACKS, *self._own_families)))

    def substitutions(self, families: Sequence[str]) -> tuple[FontChoice, ...]:
        """Return the substitutions for these names."""
        choices = (self.choose(name) for name in dict.fromkeys(families))
        return tuple(choice for choice in choices if choice.is_substitute)


@functools.cache
def bundled_book() -> FontBook:
    """Return the book of the bundled fonts."""
    return FontBook()
