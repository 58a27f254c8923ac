"""Reduces HTML to what is needed to read a page and to address its elements.

Classes, styles and most attributes are removed, and so are wrappers without attributes.
Attributes that identify an interactive element are kept, among them `selector`, which
`page_source` adds to elements that have no other. Optional end tags and quotes are omitted; the
result is valid HTML.
"""

from __future__ import annotations

import re
from html import escape

from dovetail_browser.html_events import End, Start, Text, read_events
from dovetail_browser.html_vocabulary import CODE_LANGUAGE, VOID, words

__all__ = ["clean_html"]

_SPACES = re.compile(r"[ \t\r\n\f]+")
_UNQUOTED = re.compile(r"[^\s\"'=<>`]+")
_CODE_LANGUAGE = re.compile(CODE_LANGUAGE)

# Attributes to keep, by purpose; all others are removed.
_ADDRESS = words(
    "id name role for selector clickable data-testid data-test-id data-test data-cy data-qa"
)
_CONTENT = words("href src alt title placeholder label datetime abbr")
_STATE = words(
    "type value checked selected disabled readonly required multiple open contenteditable "
    "action method min max step pattern maxlength accept controls colspan rowspan start"
)
# Attributes with text, which is truncated.
_WORDS = words("alt title placeholder aria-label aria-description aria-valuetext")
_LONGEST_WORDS = 200
_KEPT = _ADDRESS | _CONTENT | _STATE
_ARIA_DROPPED = words(
    "aria-hidden aria-live aria-atomic aria-relevant aria-busy aria-owns aria-posinset "
    "aria-setsize aria-colindex aria-rowindex aria-colcount aria-rowcount"
)
_NATIVE_ROLES = {
    "a": "link",
    "button": "button",
    "nav": "navigation",
    "main": "main",
    "table": "table",
    "ul": "list",
    "ol": "list",
    "li": "listitem",
    "img": "img",
    "article": "article",
    "header": "banner",
    "footer": "contentinfo",
    "aside": "complementary",
    "form": "form",
}

# Elements without meaning if they have no attribute; the second set also breaks the line.
_INLINE_WRAPPERS = words(
    "span font small big u nobr tt bdi bdo data picture ins wbr time abbr var samp kbd "
    "cite slot svg g text foreignobject mark dfn acronym tspan"
)
_BLOCK_WRAPPERS = words(
    "div section article center header footer aside hgroup figure tbody thead tfoot "
    "colgroup col fieldset address main nav frame-content"
)
_KEEP_WITHOUT_ATTRIBUTES = words("main nav header footer aside fieldset article")
_SEMANTIC = words("kbd samp mark var cite dfn ins")
_BLOCKS = _BLOCK_WRAPPERS | words(
    "p ul ol li dl dt dd table tr td th h1 h2 h3 h4 h5 h6 pre blockquote form details "
    "summary hr figcaption caption option optgroup select legend dialog body"
)
# Kept even if they are empty.
_CONTROLS = words(
    "a button input select textarea img hr br td th tr summary video audio iframe canvas "
    "object embed progress meter frame-content svg"
)
# End tags that HTML allows to omit before a sibling of the same kind or at the parent's end.
_OPTIONAL_END = words("li dt dd td th tr option")
# On other elements an id is only a link target within the page.
_IDS_KEPT = words(
    "div section article main nav header footer aside form fieldset label table ul ol dl details "
    "dialog pre output video audio img iframe canvas frame-content"
)
_INTERACTIVE_MARKS = words("clickable contenteditable selector")
_VERBATIM = words("pre textarea")


def clean_html(source: str, base_url: str, main_only: bool = False) -> str:
    """Return cleaned HTML, from `read_source` or as served; `main_only` keeps the main content."""
    writer = _Writer()
    for event in read_events(source, base_url, main_only):
        match event:
            case Start(tag, attributes):
                writer.start(tag, attributes)
            case Text(text):
                writer.text(text)
            case End(tag):
                writer.end(tag)
    return writer.result()


class _Open:
    """An open element: the index of its start tag, and what its end tag needs."""

    __slots__ = ("attributes", "piece", "tag", "written")

    def __init__(self, tag: str, attributes: dict[str, str], piece: int, written: bool) -> None:
        self.tag = tag
        self.attributes = attributes
        self.piece = piece
        self.written = written


class _Writer:
    """Collects pieces; a start tag is filled in at the element's end, when its content is known."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._open: list[_Open] = []
        self._verbatim = 0
        # A pending space or line break before the next piece.
        self._gap = ""
        # Whether a block has just begun, where white space is ignored.
        self._is_at_start = True

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        kept = _keep(tag, attributes)
        written = _is_written(tag, kept)
        if (tag in _BLOCKS and not self._is_at_start) or tag == "br":
            self._gap = "\n"
        if written:
            self._close_gap()
        self._open.append(_Open(tag, kept, len(self._pieces), written))
        if written:
            self._pieces.append("")
            self._is_at_start = tag in _BLOCKS
        if tag in _VERBATIM:
            self._verbatim += 1

    def text(self, text: str) -> None:
        """Add text with collapsed white space."""
        if self._verbatim:
            self._close_gap()
            if self._is_at_start and text.startswith("\n"):
                self._pieces.append("\n")  # A parser drops the first line break.
            self._is_at_start = False
            self._pieces.append(escape(text, quote=False))
            return
        words = _SPACES.sub(" ", text)
        if words.startswith(" ") and not self._gap and not self._is_at_start:
            self._gap = " "
        stripped = words.strip(" ")
        if not stripped:
            return
        self._close_gap()
        self._is_at_start = False
        self._pieces.append(escape(stripped, quote=False))
        if words.endswith(" "):
            self._gap = " "

    def end(self, tag: str) -> None:
        """Handle the end of the innermost element."""
        element = self._open.pop()
        if tag in _VERBATIM:
            self._verbatim -= 1
        if element.written:
            is_empty = self._is_blank_since(element.piece + 1)
            if is_empty and tag not in _CONTROLS and not _is_interactive(tag, element.attributes):
                del self._pieces[element.piece :]
            else:
                if not is_empty and tag != "abbr":
                    element.attributes.pop("title", None)
                if tag == "option" and element.attributes.get("value") == self._pieces[-1]:
                    del element.attributes["value"]
                self._pieces[element.piece] = _opening(tag, element.attributes)
                if tag not in VOID:
                    if tag in _BLOCKS:
                        self._gap = ""
                    self._pieces.append(f"</{tag}>")
                self._is_at_start = False
        if tag in _BLOCKS and not self._is_at_start:
            self._gap = "\n"

    def result(self) -> str:
        """Return the whole HTML."""
        return _drop_optional_ends("".join(self._pieces).strip())

    def _is_blank_since(self, first: int) -> bool:
        return (
            all(
                self._pieces[at].isspace() or not self._pieces[at]
                for at in range(first, min(len(self._pieces), first + 4))
            )
            and len(self._pieces) - first < 4
        )

    def _close_gap(self) -> None:
        if self._gap and self._pieces:
            self._pieces.append(self._gap)
        self._gap = ""


def _is_written(tag: str, attributes: dict[str, str]) -> bool:
    if attributes:
        return True
    if tag in _KEEP_WITHOUT_ATTRIBUTES or tag in _SEMANTIC:
        return True
    return tag not in _INLINE_WRAPPERS and tag not in _BLOCK_WRAPPERS


def _keep(tag: str, attributes: dict[str, str]) -> dict[str, str]:
    kept = {
        name: value[:_LONGEST_WORDS] if name in _WORDS else value
        for name, value in attributes.items()
        if name in _KEPT or (name.startswith("aria-") and name not in _ARIA_DROPPED and value)
    }
    if tag == "button" and kept.get("type") in ("button", "submit"):
        del kept["type"]  # The usual types of a button.
    if kept.get("role", "none") in (_NATIVE_ROLES.get(tag), "presentation", "none", "generic"):
        kept.pop("role", None)
    if "id" in kept and not _is_addressed_by_id(tag, kept):
        del kept["id"]
    if tag in ("code", "pre") and "class" in attributes:
        language = _CODE_LANGUAGE.search(attributes["class"])
        if language is not None:
            kept["class"] = f"language-{language[1]}"
    if "tabindex" in attributes and not attributes["tabindex"].startswith("-"):
        kept.update({} if _is_interactive(tag, kept) else {"tabindex": attributes["tabindex"]})
    return kept


def _is_addressed_by_id(tag: str, kept: dict[str, str]) -> bool:
    return tag in _IDS_KEPT or _is_interactive(tag, kept)


def _is_interactive(tag: str, attributes: dict[str, str]) -> bool:
    if tag in ("a", "button", "input", "select", "textarea", "summary"):
        return True
    return "role" in attributes or not _INTERACTIVE_MARKS.isdisjoint(attributes)


def _opening(tag: str, attributes: dict[str, str]) -> str:
    if not attributes:
        return f"<{tag}>"
    return f"<{tag} {' '.join(_attribute(name, attributes[name]) for name in attributes)}>"


def _attribute(name: str, value: str) -> str:
    if not value:
        return name
    written = value.replace("&", "&amp;") if "&" in value else value
    if _UNQUOTED.fullmatch(written):
        return f"{name}={written}"
    if '"' in written and "'" not in written:
        return f"{name}='{written}'"
    return f'{name}="{written.replace(chr(34), "&quot;")}"'


_ENDS = re.compile(r"</(li|dt|dd|td|th|tr|option)>\s*(?=<(/?)([a-z0-9]+))")
_MAY_FOLLOW = {
    "li": ("li", "/ul", "/ol"),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd", "/dl"),
    "td": ("td", "th", "/tr", "/table"),
    "th": ("td", "th", "/tr", "/table"),
    "tr": ("tr", "/table"),
    "option": ("option", "optgroup", "/select", "/optgroup"),
}


def _drop_optional_ends(html: str) -> str:
    def drop(match: re.Match[str]) -> str:
        return "" if match[2] + match[3] in _MAY_FOLLOW[match[1]] else match[0]

    return _ENDS.sub(drop, html)
