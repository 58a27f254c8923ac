"""Resolves which elements a message means: "the title", "all text", "the circle", "the logo"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail_design.model import ELEMENT_TYPES, AnyElement, Design, Text

__all__ = ["Target", "find_target", "name_of"]

_TYPE_WORDS: dict[str, str] = {
    **{name: name for name in ELEMENT_TYPES},
    "box": "rectangle",
    "rect": "rectangle",
    "square": "rectangle",
    "panel": "rectangle",
    "button": "rectangle",
    "ellipse": "circle",
    "oval": "circle",
    "picture": "image",
    "photo": "image",
    "icon": "svg",
    "shape": "svg",
    "logo": "svg",
    "code": "qr",
    "qrcode": "qr",
}
_TITLE = re.compile(r"\b(?:title|headline|heading|header)\b")
_SECOND = re.compile(r"\b(?:subtitle|subheading|subheadline|tagline)\b")
_ALL_TEXT = re.compile(r"\b(?:texts|all (?:the )?text|every text|letters|fonts?)\b")
_ALL = re.compile(r"\b(?:everything|all elements|all of it|the whole design|all)\b")
_WORD = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True)
class Target:
    """Elements and how a reply refers to them."""

    elements: tuple[AnyElement, ...]
    words: str

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        return [element.id for element in self.elements]


def name_of(element: AnyElement) -> str:
    """Return how a reply refers to an element."""
    if element.name:
        return element.name
    if isinstance(element, Text):
        return f'text "{" ".join(element.text.split())[:30]}"'
    return f"{element.type} {element.id}"


def find_target(words: str, design: Design) -> Target | None:
    """Return the elements that the text names, or None."""
    phrase = words.lower().strip()
    shown = [element for element in design.elements if element.visible]
    texts = [element for element in shown if isinstance(element, Text)]
    if _ALL_TEXT.search(phrase) and texts:
        return Target(tuple(texts), "all texts")
    named = _by_name(phrase, shown)
    if named:
        return Target(tuple(named), name_of(named[0]))
    sized = sorted(texts, key=lambda element: -(element.fontSize or 16))
    if _SECOND.search(phrase) and len(sized) > 1:
        return Target((sized[1],), name_of(sized[1]))
    if _TITLE.search(phrase) and sized:
        return Target((sized[0],), name_of(sized[0]))
    kinds = [_TYPE_WORDS[word] for word in _singular(phrase) if word in _TYPE_WORDS]
    if _ALL.search(phrase) and shown and not kinds:
        return Target(tuple(shown), "everything")
    found = [element for element in shown if element.type in kinds]
    if not found:
        return None
    if _is_plural(phrase):
        return Target(tuple(found), f"{len(found)} elements")
    # The largest one is the most prominent.
    best = max(found, key=lambda element: element.width * element.height)
    return Target((best,), name_of(best))


def _by_name(phrase: str, elements: Sequence[AnyElement]) -> list[AnyElement]:
    words = set(_WORD.findall(phrase))
    best: list[AnyElement] = []
    most = 0
    for element in elements:
        if element.id and element.id.lower() in phrase.split():
            return [element]
        parts = set(_WORD.findall((element.name or "").lower()))
        if parts and parts <= words and len(parts) > most:
            best, most = [element], len(parts)
        elif parts and parts <= words and len(parts) == most and best and _same(best[0], element):
            best.append(element)
    return best


def _same(one: AnyElement, other: AnyElement) -> bool:
    return one.name == other.name


def _singular(phrase: str) -> list[str]:
    words = _WORD.findall(phrase)
    return [
        *words,
        *(word.removesuffix("s").removesuffix("e") for word in words),
        *(word.removesuffix("s") for word in words),
    ]


def _is_plural(phrase: str) -> bool:
    words = _WORD.findall(phrase)
    return "all" in words or any(
        word.endswith("s") and word.removesuffix("s") in _TYPE_WORDS for word in words
    )
