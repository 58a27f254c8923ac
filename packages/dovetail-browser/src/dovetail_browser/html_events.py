"""HTML as a stream of what is to be read: starts, texts and ends, in order.

The one place that parses. Hidden content, active content and what only a machine reads never
come out of it; URLs come out absolute. It works on what `page_source` returns and, as far as
attributes tell, on HTML as it was served. Nothing here recurses: depth is data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from dovetail_browser.characters import drop_unseen
from dovetail_browser.html_vocabulary import SECRET_AUTOCOMPLETE, VOID, words
from dovetail_browser.inline_style import is_hidden_by_style, visibility_of

__all__ = ["End", "Event", "Start", "Text", "read_events"]

# Elements that are dropped with everything in them.
_SKIPPED = words(
    "script style template noscript link meta head title base noembed noframes param "
    "source track datalist area annotation annotation-xml desc defs symbol"
)
# Their children are a fallback that no browser draws.
_OPAQUE = words("canvas video audio object iframe meter progress")
_URLS = words("href src action formaction poster cite data longdesc background")
_SCRIPT_URL = re.compile(r"(?:javascript|vbscript|livescript|data):", re.I)
_SPACES_IN_URL = re.compile(r"[\x00-\x20]+")
_BESIDE_MAIN = words("nav header footer aside")
_ROLES_BESIDE_MAIN = words("navigation banner contentinfo complementary search")
_SECRET_FIELD = re.compile(SECRET_AUTOCOMPLETE, re.I)

# Where nesting counts: what has to be closed by hand. Paragraphs, items and cells close themselves.
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_SELF_CLOSING = VOID | words(
    "p li dt dd td th tr option optgroup tbody thead tfoot colgroup rt rp html head body"
)
_DEEPEST = 500


class Start(NamedTuple):
    """An element begins."""

    tag: str
    attributes: dict[str, str]


class Text(NamedTuple):
    """Text, as written."""

    text: str


class End(NamedTuple):
    """An element ends; there is one for every start, also of void elements."""

    tag: str


Event = Start | Text | End


def read_events(source: str, base_url: str, main_only: bool = False) -> Iterator[Event]:
    """What there is to read in HTML; with `main_only`, in its main content."""
    parser = LexborHTMLParser(_shallow(drop_unseen(source)))
    body = parser.body
    if body is None:
        return
    base = _base_url(parser, base_url)
    start = _find_main(parser) if main_only else None
    yield from _walk(start or body, base, _Filters(main_only, start is not None))


def _shallow(source: str) -> str:
    """The source without what is nested deeper than anybody means: parsing it takes the square."""
    if source.count("<") <= _DEEPEST:
        return source
    pieces: list[str] = []
    depth = place = 0
    for match in _TAG.finditer(source):
        if match[2].lower() in _SELF_CLOSING:
            continue
        depth = max(0, depth + (-1 if match[1] else 1))
        if depth == _DEEPEST + 1 and not match[1]:
            pieces.append(source[place : match.start()])
            place = len(source)
        elif depth == _DEEPEST and match[1]:
            # What lies in between is gone, its end tag with it.
            place = source.find(">", match.end()) + 1 or len(source)
    return "".join(pieces) + source[place:] if pieces else source


def _base_url(parser: LexborHTMLParser, base_url: str) -> str:
    node = parser.css_first("base[href]")
    href = node.attributes.get("href") if node is not None else None
    return _join(base_url, href) or base_url if href else base_url


def _find_main(parser: LexborHTMLParser) -> LexborNode | None:
    for selector in ("main, [role=main]", "article"):
        found = parser.css(selector)
        if found:
            return max(found, key=lambda node: len(node.text()))
    return None


class _Open(NamedTuple):
    """An element that was entered, and where to go on after its end."""

    tag: str
    following: LexborNode | None
    # What held before it.
    is_visible: bool
    is_shut: bool


def _walk(root: LexborNode, base: str, filters: _Filters) -> Iterator[Event]:
    opened: list[_Open] = []
    is_visible, is_shut = True, False
    node = root.first_child if root.tag == "body" else root
    while node is not None or opened:
        if node is None:
            done = opened.pop()
            node, is_visible, is_shut = done.following, done.is_visible, done.is_shut
            yield End(done.tag)
            continue
        following = None if node is root else node.next
        if node.is_text_node:
            text = node.text_content
            if text and not is_shut and (is_visible or text.isspace()):
                yield Text(text)
        elif node.is_element_node and not filters.drops(node, is_shut):
            tag, attributes = node.tag or "", _plain(node)
            before, is_visible = is_visible, visibility_of(attributes, is_visible)
            # A hidden element may have visible children; nothing it says of itself is kept.
            yield Start(tag, _kept_attributes(tag, attributes, base) if is_visible else {})
            child = None if tag in VOID or tag in _OPAQUE else node.first_child
            if child is not None:
                opened.append(_Open(tag, following, before, is_shut))
                is_shut = tag == "details" and "open" not in attributes
                node = child
                continue
            is_visible = before
            yield End(tag)
        node = following


class _Filters(NamedTuple):
    """Which elements are left out with everything in them."""

    main_only: bool
    has_main: bool

    def drops(self, node: LexborNode, is_shut: bool) -> bool:
        """Whether this element is left out; in closed details everything but the summary is."""
        tag = node.tag or ""
        if tag in _SKIPPED or (is_shut and tag != "summary"):
            return True
        attributes = node.attributes
        if "hidden" in attributes or (tag == "dialog" and "open" not in attributes):
            return True
        if tag == "input" and _lower(attributes.get("type")) == "hidden":
            return True
        style = attributes.get("style")
        if style and is_hidden_by_style(style):
            return True
        return self.main_only and self._is_beside_main(tag, attributes.get("role"))

    def _is_beside_main(self, tag: str, role: str | None) -> bool:
        if self.has_main:
            return tag == "nav" or role == "navigation"
        return tag in _BESIDE_MAIN or role in _ROLES_BESIDE_MAIN


def _plain(node: LexborNode) -> dict[str, str]:
    return {name.lower(): value or "" for name, value in node.attributes.items()}


def _lower(value: str | None) -> str:
    return (value or "").strip().lower()


def _kept_attributes(tag: str, attributes: dict[str, str], base: str) -> dict[str, str]:
    kept = {}
    for name, value in attributes.items():
        if name.startswith("on"):
            if name == "onclick":
                kept["clickable"] = ""
            continue
        if name in _URLS:
            url = _join(base, value)
            if url is None:
                if name == "href":
                    kept["clickable"] = ""
                continue
            kept[name] = url
        elif name == "value" and tag == "input" and _is_secret(attributes):
            continue
        else:
            kept[name] = value
    return kept


def _is_secret(attributes: dict[str, str]) -> bool:
    if _lower(attributes.get("type")) in ("password", "file"):
        return True
    return _SECRET_FIELD.search(attributes.get("autocomplete", "")) is not None


def _join(base: str, value: str) -> str | None:
    """The absolute URL; None where it would run or carry data instead of naming a place."""
    bare = _SPACES_IN_URL.sub("", value)
    if _SCRIPT_URL.match(bare):
        return None
    if bare.startswith("#") or not base:
        return bare
    try:
        url = urljoin(base, value.strip())
        if _is_same_document(url, base):
            return url[url.index("#") :]
    except ValueError:
        return value
    return url


def _is_same_document(url: str, base: str) -> bool:
    if "#" not in url:
        return False
    return url.partition("#")[0] == urlsplit(base)._replace(fragment="").geturl()
