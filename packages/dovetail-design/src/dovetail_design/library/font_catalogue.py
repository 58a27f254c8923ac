"""The content of list_fonts: available families, what they suit, and which go together.

The families come from the font book, which includes the operator's fonts; the advice names only
bundled families.
"""

from __future__ import annotations

from typing import Any

from dovetail_design.fonts import Family, FontBook, bundled_book

__all__ = ["FONT_CATEGORIES", "PAIRINGS", "RECOMMENDATIONS", "font_advice", "list_fonts"]

FONT_CATEGORIES = ("sans-serif", "serif", "display", "script", "monospace", "other")

# Family -> appearance, and what it suits.
_NOTES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Inter": ("Clear and neutral, many weights", ("headlines", "body", "interface", "slides")),
    "Roboto": ("Even and friendly", ("body", "interface", "forms")),
    "Roboto Condensed": ("Narrow, fits long words", ("labels", "tables", "headlines")),
    "Open Sans": ("Open and warm", ("body", "letters", "presentations")),
    "Noto Serif": ("Sturdy book face", ("body", "quotes", "certificates", "menus")),
    "Bebas Neue": ("Tall capitals only", ("posters", "headlines", "sports")),
    "Lobster": ("Bold brush script", ("logos", "menus", "accents")),
    "Dancing Script": ("Lively handwriting", ("invitations", "names", "accents")),
    "JetBrains Mono": ("Letters of one width", ("code", "numbers", "tickets")),
    "Noto Sans Hebrew": ("Hebrew letters", ("hebrew",)),
    "Noto Sans Arabic": ("Arabic letters", ("arabic",)),
}

RECOMMENDATIONS: dict[str, tuple[str, ...]] = {
    "headlines": ("Inter", "Bebas Neue", "Noto Serif"),
    "body": ("Open Sans", "Inter", "Noto Serif"),
    "elegant": ("Noto Serif", "Dancing Script"),
    "modern": ("Inter", "Roboto", "Roboto Condensed"),
    "playful": ("Lobster", "Dancing Script"),
    "technical": ("JetBrains Mono", "Roboto Condensed"),
    "certificates": ("Noto Serif", "Dancing Script"),
    "posters": ("Bebas Neue", "Inter"),
}

# Headline, body, and purpose.
PAIRINGS: tuple[tuple[str, str, str], ...] = (
    ("Inter", "Inter", "interfaces and slides: one family, two weights"),
    ("Noto Serif", "Open Sans", "reports, menus, anything to be read at length"),
    ("Bebas Neue", "Roboto", "posters, sports, sales"),
    ("Dancing Script", "Noto Serif", "invitations and certificates"),
    ("Lobster", "Open Sans", "cafes, food, markets"),
    ("Roboto Condensed", "Roboto", "tables, schedules, labels"),
    ("Inter", "JetBrains Mono", "technical posts with numbers or code"),
    ("Noto Serif", "Inter", "quotes and editorial posts"),
)


def list_fonts(category: str | None = None, book: FontBook | None = None) -> list[dict[str, Any]]:
    """Return the families of a category, or all; raises ValueError."""
    if category is not None and category not in FONT_CATEGORIES:
        allowed = ", ".join(FONT_CATEGORIES)
        raise ValueError(f"no font category {category!r}; the categories are {allowed}")
    families = (book or bundled_book()).families()
    return [_show(family) for family in families if category in (None, family.category)]


def font_advice() -> dict[str, Any]:
    """Return recommendations by purpose, and pairs of headline and body."""
    return {
        "recommendations": {purpose: list(names) for purpose, names in RECOMMENDATIONS.items()},
        "pairings": [
            {"headline": headline, "body": body, "bestFor": purpose}
            for headline, body, purpose in PAIRINGS
        ],
    }


def _show(family: Family) -> dict[str, Any]:
    style, purposes = _NOTES.get(family.name, ("The operator's own", ()))
    return {
        "family": family.name,
        "category": family.category,
        "weights": list(family.weights),
        "italic": family.has_italic,
        "style": style,
        "bestFor": list(purposes),
        "source": family.source,
    }
