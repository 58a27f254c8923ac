"""Finds missing fonts and missing characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dovetail_design.findings.contents import texts_of
from dovetail_design.findings.finding import Finding
from dovetail_design.findings.scene import Scene
from dovetail_design.model import Barcode, Element, Table, Text
from dovetail_design.rendering import DrawingContext, missing_letters

__all__ = ["find_missing_fonts", "find_missing_glyphs", "missing_glyphs"]

_MOST_SHOWN = 40


def find_missing_fonts(scene: Scene) -> Iterator[Finding]:
    """Yield one finding per family, with all elements that use it."""
    users: dict[str, list[str]] = {}
    for item in scene.items:
        element = item.element
        if isinstance(element, Text | Table | Barcode):
            users.setdefault(element.fontFamily, []).append(item.id)
    for asked, ids in users.items():
        choice = scene.context.book.choose(asked)
        if choice.is_substitute:
            yield Finding(
                "missing-font",
                f"The font {asked!r} is missing; {choice.family!r} is used instead",
                tuple(ids),
                f"Set fontFamily to {choice.family!r} or another family from list_fonts.",
            )


def find_missing_glyphs(scene: Scene) -> Iterator[Finding]:
    """Yield one finding per element with characters that no font has."""
    yield from missing_glyphs([item.element for item in scene.items], scene.context)


def missing_glyphs(elements: Iterable[Element], context: DrawingContext) -> Iterator[Finding]:
    """Yield one finding per element with characters that no font has."""
    for element in elements:
        if not isinstance(element, Text | Table | Barcode):
            continue
        text = "".join(texts_of(element))
        missing = missing_letters(element, text, context)
        if missing:
            listed = ", ".join(f"{one} (U+{ord(one):04X})" for one in missing[:_MOST_SHOWN])
            more = len(missing) - _MOST_SHOWN
            yield Finding(
                "missing-glyph",
                f"No font has {listed}{f' and {more} more' if more > 0 else ''}, which "
                f"{element.name or element.id!r} shows as empty boxes",
                (element.id,),
                "Use other characters, or ask the operator for a font that has them: a Noto font "
                "of the system or a file in the folder of --fonts.",
            )
