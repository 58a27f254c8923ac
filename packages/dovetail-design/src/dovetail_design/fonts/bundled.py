"""The bundled fonts, and their substitutions for other families.

Tables only: the files are in `files/`, their licences in `licences/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["CATEGORIES", "FALLBACKS", "STAND_INS", "Face", "bundled_faces"]

_FILES = Path(__file__).with_name("files")


class Face(NamedTuple):
    """A font file, or one font of a collection: a family at one weight and slant."""

    family: str
    weight: int
    is_italic: bool
    path: Path
    # Index in a collection.
    number: int = 0


# Family -> (file name stem, suffix, names of its faces).
_FAMILIES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Inter": (
        "Inter",
        "otf",
        ("Light", "Regular", "Italic", "Medium", "SemiBold", "Bold", "BoldItalic", "ExtraBold"),
    ),
    "Roboto": ("Roboto", "ttf", ("Regular", "Medium", "Bold")),
    "Roboto Condensed": ("RobotoCondensed", "ttf", ("Regular", "Bold")),
    "Open Sans": ("OpenSans", "ttf", ("Regular", "Italic", "Semibold", "Bold")),
    "Noto Serif": ("NotoSerif", "ttf", ("Regular", "Italic", "Bold")),
    "Bebas Neue": ("BebasNeue", "otf", ("Regular",)),
    "Lobster": ("Lobster", "otf", ("Regular",)),
    "Dancing Script": ("DancingScript", "otf", ("Regular", "Bold")),
    "JetBrains Mono": ("JetBrainsMono", "ttf", ("Regular", "Bold")),
    "Noto Sans Hebrew": ("NotoSansHebrew", "ttf", ("Regular", "Bold")),
    "Noto Sans Arabic": ("NotoSansArabic", "ttf", ("Regular", "Bold")),
}

_FACES: dict[str, tuple[int, bool]] = {
    "Light": (300, False),
    "Regular": (400, False),
    "Italic": (400, True),
    "Medium": (500, False),
    "SemiBold": (600, False),
    "Semibold": (600, False),
    "Bold": (700, False),
    "BoldItalic": (700, True),
    "ExtraBold": (800, False),
}

CATEGORIES: dict[str, str] = {
    "Inter": "sans-serif",
    "Roboto": "sans-serif",
    "Roboto Condensed": "sans-serif",
    "Open Sans": "sans-serif",
    "Noto Sans Hebrew": "sans-serif",
    "Noto Sans Arabic": "sans-serif",
    "Noto Serif": "serif",
    "Bebas Neue": "display",
    "Lobster": "script",
    "Dancing Script": "script",
    "JetBrains Mono": "monospace",
}

# Fallback families, in this order, for characters that the chosen family lacks.
FALLBACKS = ("Inter", "Noto Sans Hebrew", "Noto Sans Arabic", "JetBrains Mono", "Noto Serif")

# Common families that are not bundled -> the most similar bundled one.
STAND_INS: dict[str, str] = {
    "anton": "Bebas Neue",
    "arial": "Roboto",
    "arial black": "Inter",
    "calibri": "Open Sans",
    "cambria": "Noto Serif",
    "comic sans ms": "Dancing Script",
    "consolas": "JetBrains Mono",
    "courier": "JetBrains Mono",
    "courier new": "JetBrains Mono",
    "crimson text": "Noto Serif",
    "cursive": "Dancing Script",
    "garamond": "Noto Serif",
    "georgia": "Noto Serif",
    "great vibes": "Dancing Script",
    "helvetica": "Roboto",
    "helvetica neue": "Roboto",
    "impact": "Bebas Neue",
    "lato": "Open Sans",
    "lora": "Noto Serif",
    "menlo": "JetBrains Mono",
    "merriweather": "Noto Serif",
    "monospace": "JetBrains Mono",
    "montserrat": "Inter",
    "nunito": "Open Sans",
    "oswald": "Roboto Condensed",
    "pacifico": "Lobster",
    "playfair display": "Noto Serif",
    "poppins": "Inter",
    "pt serif": "Noto Serif",
    "raleway": "Inter",
    "righteous": "Bebas Neue",
    "roboto mono": "JetBrains Mono",
    "sans-serif": "Inter",
    "segoe ui": "Open Sans",
    "serif": "Noto Serif",
    "source code pro": "JetBrains Mono",
    "source sans pro": "Open Sans",
    "system-ui": "Inter",
    "tahoma": "Open Sans",
    "times": "Noto Serif",
    "times new roman": "Noto Serif",
    "trebuchet ms": "Open Sans",
    "ubuntu": "Roboto",
    "verdana": "Open Sans",
}


def bundled_faces() -> tuple[Face, ...]:
    """Return every bundled face."""
    return tuple(
        Face(family, *_FACES[name], _FILES / f"{stem}-{name}.{suffix}")
        for family, (stem, suffix, names) in _FAMILIES.items()
        for name in names
    )
