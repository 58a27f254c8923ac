"""Checks the pages of a built site: links, anchors, and where their assets are loaded from.

usage: python -m tools.site_links site

Links to other hosts are not followed. An asset (a script, a style sheet, an image, a font) must be
part of the site, so that reading it needs no other host.
"""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["find_problems", "main", "read_page"]

# The attribute of each element that loads something.
_ASSETS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "embed": "src",
    "use": "href",
}
# A <link> with one of these loads nothing from its address.
_NO_ASSET = {"canonical", "alternate", "next", "prev", "edit", "author", "license"}
# The theme loads this script for pages with diagrams, and only for them.
_DIAGRAMS = "https://unpkg.com/mermaid"
_STYLE_URL = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


@dataclass
class Page:
    """The anchors of a page, its links, and the addresses of its assets."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        self.page.anchors.update(values[key] for key in ("id", "name") if values.get(key))
        if tag == "a" and "href" in values:
            self.page.links.append(values["href"])
        elif tag == "link" and not _NO_ASSET & set(values.get("rel", "").split()):
            self.page.assets.append(values.get("href", ""))
        elif tag in _ASSETS and values.get(_ASSETS[tag]):
            self.page.assets.append(values[_ASSETS[tag]])
        if "mermaid" in values.get("class", "").split():
            self.page.assets.append(_DIAGRAMS)
        self.page.assets += _style_addresses(values.get("style", ""))
        for candidate in values.get("srcset", "").split(","):
            self.page.assets += candidate.split()[:1]

    def handle_endtag(self, tag: str) -> None:
        if tag == "style":
            self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.page.assets += _style_addresses(data)


def read_page(html: str) -> Page:
    """Read the anchors, links and assets of one page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.page


def find_problems(site: Path) -> Iterator[str]:
    """One line for each link that leads nowhere and each asset that is not in the site."""
    pages = {
        path.relative_to(site).as_posix(): read_page(path.read_text("utf-8"))
        for path in sorted(site.rglob("*.html"))
    }
    if "index.html" not in pages:
        yield f"{site}: there is no index.html"
    for name, page in pages.items():
        # The server shows this page for any address, so its links begin at the root.
        base = "" if name == "404.html" else name
        for link in page.links:
            yield from (f"{name}: {link}: {why}" for why in _check_link(link, base, pages, site))
        for asset in page.assets:
            yield from (f"{name}: {asset}: {why}" for why in _check_asset(asset, base, site))
    for style in sorted(site.rglob("*.css")):
        name = style.relative_to(site).as_posix()
        for asset in _style_addresses(style.read_text("utf-8")):
            yield from (f"{name}: {asset}: {why}" for why in _check_asset(asset, name, site))


def main(argv: Sequence[str]) -> int:
    """Check the site in the given folder and print the problems."""
    problems = list(find_problems(Path(argv[0])))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def _style_addresses(style: str) -> list[str]:
    return [first or second for first, second in _STYLE_URL.findall(style)]


def _check_link(link: str, base: str, pages: dict[str, Page], site: Path) -> Iterator[str]:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        if parts.scheme not in ("http", "https", "mailto"):
            yield "expected a relative link, http, https or mailto"
        return
    target = _resolve(parts.path, base)
    page = pages.get(target)
    if page is None:
        if not (site / target).is_file():
            yield "there is no such page"
    elif parts.fragment and unquote(parts.fragment) not in page.anchors:
        yield f"{target} has no such anchor"


def _check_asset(asset: str, base: str, site: Path) -> Iterator[str]:
    parts = urlsplit(asset)
    if parts.scheme == "data" or not (parts.netloc or parts.path):
        return
    if parts.scheme or parts.netloc:
        yield "an asset of another host"
    elif not (site / _resolve(parts.path, base)).is_file():
        yield "there is no such file"


def _resolve(path: str, base: str) -> str:
    """The file that an address means, below the folder of the site."""
    if not path:
        return base or "index.html"
    joined = posixpath.normpath(posixpath.join("/", posixpath.dirname(base), unquote(path)))
    relative = joined.lstrip("/")
    if path.endswith(("/", "/.", "/..")) or path in (".", "..") or not relative:
        return posixpath.join(relative, "index.html")
    return relative


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
