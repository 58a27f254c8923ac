"""Sanitises untrusted SVG documents.

The result contains only shapes, groups and gradients. Scripts, event handlers, entities, styles,
foreign objects, animations and external references are rejected instead of dropped, so that
authors learn that their drawing would look different.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dovetail import ToolError

__all__ = ["SvgDrawing", "looks_like_svg", "read_svg"]

MAX_ELEMENTS = 20_000
MAX_DEPTH = 64
_DEFAULT_SIDE = 100.0


def _words(text: str) -> list[str]:
    return text.split()


_DRAWN = frozenset(
    _words(
        "svg g defs path rect circle ellipse line polyline polygon linearGradient radialGradient "
        "stop clipPath"
    )
)
_SILENT = frozenset(["title", "desc", "metadata"])
_ATTRIBUTES = frozenset(
    _words(
        "id d x y x1 y1 x2 y2 cx cy r rx ry fx fy width height points viewBox transform "
        "fill fill-rule fill-opacity stroke stroke-width stroke-opacity stroke-linecap "
        "stroke-linejoin stroke-miterlimit stroke-dasharray stroke-dashoffset opacity offset "
        "stop-color stop-opacity gradientUnits gradientTransform spreadMethod clip-path clip-rule "
        "clipPathUnits color preserveAspectRatio"
    )
)
# Harmless and without effect on the drawing: dropped silently.
_IGNORED = re.compile(
    r"(?:xmlns(?::.*)?|version|class|role|focusable|aria-.*|data-.*|xml:.*|.*:.*)\Z"
)
_STYLE = re.compile(r"\s*([\w-]+)\s*:\s*([^;]+?)\s*(?:;|\Z)")
_LOCAL_URL = re.compile(r"url\(\s*['\"]?#[\w.-]+['\"]?\s*\)(?:\s+[\w#(),.]+)?\Z")
_LENGTH = re.compile(r"\s*(\d+\.?\d*|\.\d+)(px|pt)?\s*\Z")


class SvgDrawing(NamedTuple):
    """A sanitised document and its size in pixels."""

    markup: str
    width: float
    height: float


def looks_like_svg(data: bytes) -> bool:
    """Return whether bytes look like an SVG document."""
    head = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return head.startswith((b"<svg", b"<?xml", b"<!doctype", b"<!--"))


def read_svg(data: bytes) -> SvgDrawing:
    """Return the sanitised document; raises ToolError."""
    cleaner = _Cleaner()
    parser = expat.ParserCreate(namespace_separator=None)
    parser.StartElementHandler = cleaner.start
    parser.EndElementHandler = cleaner.end
    parser.StartDoctypeDeclHandler = cleaner.doctype
    parser.EntityDeclHandler = cleaner.entity
    parser.ExternalEntityRefHandler = cleaner.entity
    parser.SkippedEntityHandler = cleaner.entity
    parser.ProcessingInstructionHandler = cleaner.instruction
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ToolError(f"The SVG is not well-formed: {error}") from None
    if cleaner.size is None:
        raise ToolError("The SVG has no <svg> element at its top")
    return SvgDrawing("".join(cleaner.parts), *cleaner.size)


class _Cleaner:
    """Writes the allowed parts while the parser reads."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.size: tuple[float, float] | None = None
        self.depth = self.count = 0
        # Nesting depth inside a title or description, whose text is dropped.
        self.silent = 0
        # The depth of the outermost open <clipPath>, or 0.
        self.clip_depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.count += 1
        if self.count > MAX_ELEMENTS or self.depth > MAX_DEPTH:
            raise ToolError(f"The SVG has more than {MAX_ELEMENTS} elements or {MAX_DEPTH} levels")
        name = name.rpartition(":")[2]
        if self.silent or name in _SILENT:
            self.silent += 1
            return
        if name not in _DRAWN:
            raise ToolError(
                f"The SVG contains <{name[:40]}>, which is not allowed; allowed: "
                f"{', '.join(sorted(_DRAWN))}"
            )
        kept = _clean(name, attributes)
        if name == "clipPath" and not self.clip_depth:
            self.clip_depth = self.depth
        if self.clip_depth and "clip-path" in kept:
            # A long chain overflows the renderer's stack, and two references in each clip take
            # exponential time.
            raise ToolError("The SVG uses clip-path on or inside <clipPath>, which is not allowed")
        if self.size is None:
            if name != "svg":
                raise ToolError(f"The SVG begins with <{name[:40]}> and not with <svg>")
            self.size = _size(kept)
            kept = {
                "xmlns": "http://www.w3.org/2000/svg",
                "xmlns:xlink": "http://www.w3.org/1999/xlink",
                **kept,
                "width": f"{self.size[0]:g}",
                "height": f"{self.size[1]:g}",
            }
        written = "".join(f" {key}={quoteattr(value)}" for key, value in kept.items())
        self.parts.append(f"<{name}{written}>")

    def end(self, name: str) -> None:
        if self.depth == self.clip_depth:
            self.clip_depth = 0
        self.depth -= 1
        if self.silent:
            self.silent -= 1
        else:
            self.parts.append(f"</{name.rpartition(':')[2]}>")

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise ToolError("The SVG declares entities of its own, which is not allowed")

    def entity(self, *_: object) -> int:
        raise ToolError("The SVG declares or uses entities, which is not allowed")

    def instruction(self, target: str, _: str) -> None:
        raise ToolError(
            f"The SVG contains a processing instruction ({target[:40]}), which is not allowed"
        )


def _clean(name: str, attributes: dict[str, str]) -> dict[str, str]:
    kept = {}
    for key, value in attributes.items():
        if key == "style":
            kept.update(_clean(name, dict(_STYLE.findall(value))))
        elif key.rpartition(":")[2] == "href":
            # Gradients may refer to each other.
            kept["xlink:href"] = _local_reference(value)
        elif key.lower().startswith("on"):
            raise ToolError(f"The SVG contains an event handler ({key[:40]}), which is not allowed")
        elif key in _ATTRIBUTES:
            kept[key] = _safe_value(key, value)
        elif not _IGNORED.match(key) and (
            "url(" in value.lower() or "javascript:" in value.lower()
        ):
            raise ToolError(f"The SVG's attribute {key[:40]!r} is not allowed")
    return kept


def _local_reference(value: str) -> str:
    if not value.strip().startswith("#"):
        raise ToolError(
            f"The SVG refers to {value[:60]!r}; only references inside the document are allowed"
        )
    return value.strip()


def _safe_value(key: str, value: str) -> str:
    word = value.strip().lower()
    if "url(" in word and not _LOCAL_URL.match(word):
        raise ToolError(
            f"The SVG's {key} refers to {value[:60]!r}; only url(#id) inside the document "
            "is allowed"
        )
    return value


def _size(attributes: dict[str, str]) -> tuple[float, float]:
    found = [_LENGTH.match(attributes.get(side, "")) for side in ("width", "height")]
    try:
        view = [float(part) for part in attributes.get("viewBox", "").replace(",", " ").split()]
    except ValueError:
        view = []
    sides = [float(one[1]) if one else 0.0 for one in found]
    if not all(sides) and len(view) == 4:
        sides = view[2:]
    if not all(sides):
        sides = [_DEFAULT_SIDE, _DEFAULT_SIDE]
    if not all(0 < side <= 100_000 for side in sides):
        raise ToolError(f"The SVG is {sides[0]:g} x {sides[1]:g}; the sides must be 1 to 100000")
    return sides[0], sides[1]
