"""Real pages: documentation as Debian ships it, fetched once by apt-get and served from a folder.

Nothing of it is in the repository. Pages are taken at fixed distances from the sorted list of all
pages of a package. The packages themselves were chosen with their figures known: pages of the first
have much around their text, and stand for sites that can become small; the others are nearly all
text and links, which no cleaning may take away. docs/browser.md has the figures of a broader set.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

# Package -> how many of its pages. What scripts and styles they link to is in the others.
PACKAGES = {
    "python-pandas-doc": 8,
    "python-attr-doc": 1,
    "python-scrapy-doc": 1,
    "mkdocs-doc": 1,
    "git-doc": 1,
    "libjs-bootstrap5-doc": 1,
}
SCRIPTS = ("libjs-sphinxdoc", "libjs-jquery", "libjs-underscore")
_SMALLEST = 16_000


class SavedPage(NamedTuple):
    """A page, and the folder that its site is in."""

    package: str
    folder: Path
    path: Path

    @property
    def original(self) -> str:
        """The HTML as served."""
        return self.path.read_text("utf-8", "replace")


def saved_pages(cache: Path) -> list[SavedPage]:
    """The pages of the set."""
    root = cache / "root"
    for package in SCRIPTS:
        _unpack(package, 0, cache, root)
    return [
        SavedPage(package, _site_of(root / name), root / name)
        for package, count in PACKAGES.items()
        for name in _unpack(package, count, cache, root)
    ]


def _unpack(package: str, count: int, cache: Path, root: Path) -> list[str]:
    """Unpack all that is no page, and some of the pages; the names of these."""
    done = cache / f"{package}-{count}.txt"
    if not done.exists():
        archive = _download(package, cache)
        chosen = _choose(archive, count)
        _extract(archive, root, "--exclude=*.html", "--exclude=_images", "--exclude=_sources")
        if chosen:
            _extract(archive, root, *chosen)
        archive.unlink()
        done.write_text("\n".join(chosen))
    return done.read_text().splitlines()


def _download(package: str, cache: Path) -> Path:
    cache.mkdir(parents=True, exist_ok=True)
    command = ["apt-get", "download", "-qq", package]
    if subprocess.run(command, cwd=cache, capture_output=True).returncode:
        subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True)
        subprocess.run(command, cwd=cache, check=True, capture_output=True)
    (archive,) = cache.glob(f"{package}_*.deb")
    return archive


def _choose(archive: Path, count: int) -> list[str]:
    """So many of the pages, at equal distances in their order by name."""
    listing = subprocess.run(
        ["dpkg-deb", "-c", archive], check=True, capture_output=True, text=True
    )
    files = [line.split(maxsplit=5) for line in listing.stdout.splitlines()]
    pages = sorted(
        name
        for mode, _, size, _, _, name in files
        if mode.startswith("-") and name.endswith(".html") and int(size) > _SMALLEST
    )
    step = len(pages) // count if count else 0
    return [pages[step * number + step // 2] for number in range(count)]


def _extract(archive: Path, root: Path, *which: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    content = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", archive], check=True, capture_output=True
    )
    command = ["tar", "--extract", "--directory", str(root), *which]
    subprocess.run(command, input=content.stdout, check=True, capture_output=True)


def _site_of(path: Path) -> Path:
    """The folder that holds the whole site of a page."""
    above = [parent for parent in path.parents if parent.name == "html"]
    return above[-1] if above else path.parent


class _Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Tests say what they have to say themselves."""


@contextlib.contextmanager
def serving(page: SavedPage) -> Iterator[str]:
    """The address of a page while its site is served."""
    handler = functools.partial(_Handler, directory=str(page.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, args=[0.02], daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}/{page.path.relative_to(page.folder)}"
        site.shutdown()
