"""Text in SVG as letters, with the fonts in the file.

Every letter has its position, so a viewer must not shape the text again. Where a font joins or
replaces letters (ligatures, Arabic), letters with positions cannot show it; the caller then
writes outlines.
"""

from __future__ import annotations

import base64
import unicodedata
from typing import NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from dovetail_design.rendering.font_subsets import has_colour, subset_woff
from dovetail_design.rendering.graphics import skia
from dovetail_design.rendering.marks import TextMark
from dovetail_design.rendering.svg_shapes import attributes, number
from dovetail_design.rendering.text_blocks import TextBlock
from dovetail_design.rendering.typesetting import Typesetter

__all__ = ["SVG", "SvgFonts", "decoration"]

SVG = "{http://www.w3.org/2000/svg}"


class _Embedded(NamedTuple):
    typeface: skia.Typeface
    letters: set[str]


class SvgFonts:
    """The fonts of one SVG document, collected while its texts are written."""

    def __init__(self, typesetter: Typesetter) -> None:
        self._typesetter = typesetter
        self._embedded: dict[int, _Embedded] = {}

    def has_colour(self, block: TextBlock) -> bool:
        """Return whether a text has coloured letters, such as emoji."""
        return any(has_colour(one) for one in self._typesetter.typefaces(block))

    def runs(self, mark: TextMark) -> str | None:
        """Return a text as runs of letters, or None if letters cannot show it."""
        nodes = list(self._typesetter.written(mark.block, mark.x, mark.y))
        texts = [node for node in nodes if node.tag == f"{SVG}text" and node.text]
        written = "".join(node.text or "" for node in texts)
        if _plain(written) != _plain(mark.block.text):
            return None
        faces = {str(one.getFamilyName()): one for one in self._typesetter.typefaces(mark.block)}
        if any(_family(node) not in faces for node in texts if (node.text or "").strip()):
            return None
        parts = [decoration(node) for node in nodes if node.tag == f"{SVG}rect"]
        for node in texts:
            typeface = faces.get(_family(node))
            if typeface is None:
                continue
            self._embedded.setdefault(typeface.uniqueID(), _Embedded(typeface, set()))
            self._embedded[typeface.uniqueID()].letters.update(node.text or "")
            head = attributes(
                x=_places(node.get("x", "")),
                y=_places(node.get("y", "")),
                font_size=node.get("font-size"),
                **_describe(typeface),
            )
            parts.append(f'<text xml:space="preserve"{head}>{escape(node.text or "")}</text>')
        return "".join(parts)

    def style(self) -> str:
        """Return the style sheet with the fonts."""
        rules = []
        for typeface, letters in self._embedded.values():
            data = base64.b64encode(subset_woff(typeface, letters)).decode()
            described = "".join(
                f"{name.replace('_', '-')}:{value};"
                for name, value in _describe(typeface).items()
                if value is not None
            )
            rules.append(
                f'@font-face{{{described}src:url(data:font/woff;base64,{data}) format("woff")}}'
            )
        return f"<style>{''.join(rules)}</style>" if rules else ""


def _plain(text: str) -> str:
    """Return a text without spaces; common ligatures have a character of their own.

    Some fonts draw capitals for small letters.
    """
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _describe(typeface: skia.Typeface) -> dict[str, str | None]:
    return {
        "font_family": f"'{typeface.getFamilyName()}'",
        "font_weight": str(typeface.fontStyle().weight()),
        "font_style": "italic" if typeface.isItalic() else None,
    }


def _family(node: ElementTree.Element) -> str:
    """Return the first name of the family; skia writes all of them."""
    return node.get("font-family", "").partition(",")[0].strip()


def decoration(node: ElementTree.Element) -> str:
    """Return a line below or through a text."""
    kept = {name: node.get(name) for name in ("transform", "x", "y", "width", "height")}
    # The outline is that of the letters.
    return f"<rect{attributes(**kept, stroke='none')}/>"


def _places(text: str) -> str:
    return " ".join(number(float(part)) for part in text.split(",") if part.strip())
