"""Builds the site into site/ and checks it.

usage: python -m tools.site

The steps: write the pages into build/pages, build them with warnings as errors, and check every
link, every anchor, the host of every asset, and that the reference has every public name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import site_links, site_reference
from tools.site_pages import copy_pages, unlink_headings

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "build" / "pages"
SITE = ROOT / "site"


def main() -> int:
    """Build and check; the exit code is 1 if a check fails."""
    copy_pages(ROOT, PAGES)
    shutil.rmtree(SITE, ignore_errors=True)
    program = Path(sys.executable).parent / "zensical"
    built = subprocess.run(
        [str(program), "build", "--strict", "--clean"],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1"},
        check=False,
    )
    if built.returncode:
        return built.returncode
    for page in (SITE / "reference").rglob("*.html"):
        page.write_text(unlink_headings(page.read_text("utf-8")), "utf-8")
    failed = site_links.main([str(SITE)]) | site_reference.main([str(SITE)])
    pages = len(list(SITE.rglob("*.html")))
    if not failed:
        print(f"{pages} pages in {SITE.relative_to(ROOT)}/: all links, anchors and names are there")
    return failed


if __name__ == "__main__":
    sys.exit(main())
