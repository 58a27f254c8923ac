"""Adds a built site to a folder that holds the sites of all versions.

usage: python -m tools.site_versions SITE FOLDER VERSION [ALIAS ...]

FOLDER/VERSION becomes a copy of SITE, each FOLDER/ALIAS becomes another copy, and
FOLDER/versions.json is what the version switch on the pages reads, in the format of mike. An alias
belongs to one version at a time. FOLDER/index.html leads to the first alias, or to the version.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_version", "main", "merge_versions"]

_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
_REDIRECT = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>dovetail</title>
    <meta http-equiv="refresh" content="0; url={name}/">
  </head>
  <body><a href="{name}/">Documentation</a></body>
</html>
"""


def merge_versions(
    versions: list[dict[str, Any]], version: str, aliases: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the list with this version, newest first; other versions lose these aliases."""
    others = [
        {**entry, "aliases": [alias for alias in entry["aliases"] if alias not in aliases]}
        for entry in versions
        if entry["version"] != version
    ]
    entry = {"version": version, "title": version, "aliases": list(aliases)}
    return sorted([entry, *others], key=_order, reverse=True)


def add_version(site: Path, folder: Path, version: str, aliases: Sequence[str]) -> None:
    """Copy a built site into the folder of all versions."""
    for name in (version, *aliases):
        if not _NAME.fullmatch(name):
            raise ValueError(f"a version is letters, digits, '.', '_' and '-', got {name!r}")
    folder.mkdir(parents=True, exist_ok=True)
    listing = folder / "versions.json"
    known = json.loads(listing.read_text("utf-8")) if listing.exists() else []
    for name in (version, *aliases):
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(site, folder / name)
    listing.write_text(json.dumps(merge_versions(known, version, aliases), indent=2) + "\n")
    start = next(iter(aliases), version)
    # A preview of the main branch does not become the first page once there is a release.
    if "stable" in aliases or not (folder / "stable").exists():
        (folder / "index.html").write_text(_REDIRECT.format(name=start), "utf-8")
    # GitHub Pages must not drop folders that begin with an underscore.
    (folder / ".nojekyll").touch()


def main(argv: Sequence[str]) -> int:
    """Add a version; the exit code is 2 for wrong arguments."""
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    site, folder, version, *aliases = argv
    add_version(Path(site), Path(folder), version, aliases)
    return 0


def _order(entry: dict[str, Any]) -> tuple[bool, list[int]]:
    """Releases by number; names such as "main" come last."""
    numbers = re.findall(r"\d+", entry["version"])
    is_release = entry["version"][0].isdigit()
    return is_release, [int(number) for number in numbers]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
