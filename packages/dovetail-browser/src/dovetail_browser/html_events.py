"""Parses HTML into a stream of start, text and end events.

The only module that parses HTML. Hidden content, scripts and metadata are dropped; URLs are made
absolute. Input is the output of `page_source`, or HTML as served, where hidden content is
recognized by attributes only. No function recurses, so nesting depth is not limited by the stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from dovetail_browser.html_vocabulary import SECRET_AUTOCOMPLETE, VOID, words
from dovetail_browser.inline_style import is_hidden_by_style, visibility_of
from dovetail_browser.text_filters import drop_invisible

__all__ = ["End", "Event", "Start", "Text", "read_events"]

# Elements that are dropped with their content.
_SKIPPED = words(
    "script style template noscript link meta head title base noembed noframes param "
    "source track datalist area annotation annotation-xml desc defs symbol"
)
# Elements whose children are fallback content that browsers do not render.
_OPAQUE = words("canvas video audio object iframe meter progress")
_URLS = words("href src action formaction poster cite data longdesc background")
_SCRIPT_URL = re.compile(r"(?:javascript|vbscript|livescript|data):", re.I)
_SPACES_IN_URL = re.compile(r"[\x00-\x20]+")
_BESIDE_MAIN = words("nav header footer aside")
_ROLES_BESIDE_MAIN = words("navigation banner contentinfo complementary search")
_SECRET_FIELD = re.compile(SECRET_AUTOCOMPLETE, re.I)

# For counting depth: paragraphs, items and cells close implicitly, so only other tags count.
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_SELF_CLOSING = VOID | words(
    "p li dt dd td th tr option optgroup tbody thead tfoot colgroup rt rp html head body"
)
_DEEPEST = 500


class Start(NamedTuple):
    """The start of an element."""

    tag: str
    attributes: dict[str, str]


class Text(NamedTuple):
    """Text, as in the source."""

    text: str


class End(NamedTuple):
    """The end of an element; there is one for every start, also for void elements."""

    tag: str


Event = Start | Text | End


def read_events(source: str, base_url: str, main_only: bool = False) -> Iterator[Event]:
    """Yield the events of HTML; with `main_only`, those of its main content."""
    parser = LexborHTMLParser(_shallow(drop_invisible(source)))
    body = parser.body
    if body is None:
        return
    base = _base_url(parser, base_url)
    start = _find_main(parser) if main_only else None
    yield from _walk(start or body, base, _Filters(main_only, start is not None))


def _shallow(source: str) -> str:
    """Drop extremely deep nesting, because parsing takes quadratic time."""
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
            # Skip the end tag of the dropped content as well.
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
    """An open element, and the node that follows it."""

    tag: str
    following: LexborNode | None
    # The state before it.
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
            # A hidden element may have visible children; its own attributes are dropped.
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
    """Decides which elements are dropped with their content."""

    main_only: bool
    has_main: bool

    def drops(self, node: LexborNode, is_shut: bool) -> bool:
        """Whether to drop this element; closed details keep only their summary."""
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
    """Return the absolute URL; None for script and data URLs."""
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
