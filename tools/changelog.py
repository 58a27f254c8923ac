"""Merges the fragments in changes/ into a section of CHANGELOG.md.

usage: python -m tools.changelog VERSION [--date YYYY-MM-DD]
       python -m tools.changelog --draft

A fragment is a file `<number>.<kind>.md` or `<number>.<word>.<kind>.md`; the number is the issue or
pull request, the word tells its fragments apart, the text is one or a few sentences for users.
Merging writes the section and deletes the fragments.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# In the order of the section.
KINDS = {"breaking": "Breaking", "added": "Added", "changed": "Changed", "fixed": "Fixed"}
MARKER = "<!-- releases, newest first -->\n"

_NAME = re.compile(rf"([0-9]+)(?:\.[a-z-]+)?\.({'|'.join(KINDS)})\.md")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+((a|b|rc)[0-9]+)?")


class FragmentError(Exception):
    """A fragment cannot be merged; the message says which and why."""


@dataclass(frozen=True)
class Fragment:
    """One change, from one file."""

    path: Path
    number: int
    kind: str
    text: str


def read_fragments(folder: Path) -> list[Fragment]:
    """Every fragment in `folder`, by number; a wrong name or an empty file is an error."""
    fragments = []
    for path in folder.iterdir():
        if path.name == "README.md":
            continue
        match = _NAME.fullmatch(path.name)
        if match is None:
            raise FragmentError(f"{path.name}: expected <number>[.<word>].<{'|'.join(KINDS)}>.md")
        text = " ".join(path.read_text("utf-8").split())
        if not text:
            raise FragmentError(f"{path.name}: the file is empty")
        fragments.append(Fragment(path, int(match[1]), match[2], text))
    return sorted(fragments, key=lambda fragment: (fragment.number, fragment.path.name))


def render_section(heading: str, fragments: Sequence[Fragment]) -> str:
    """The section of one release."""
    lines = [f"## {heading}", ""]
    for kind, title in KINDS.items():
        items = [f"- {f.text} (#{f.number})" for f in fragments if f.kind == kind]
        if items:
            lines += [f"### {title}", "", *items, ""]
    return "\n".join(lines)


def merge(root: Path, version: str, date: str) -> None:
    """Move the fragments into the changelog."""
    if not _VERSION.fullmatch(version):
        raise FragmentError(
            f"{version!r} is not a version; expected something like 1.2.0 or 1.2.0rc1"
        )
    fragments = read_fragments(root / "changes")
    if not fragments:
        raise FragmentError("changes/ has no fragment, so there is nothing to release")
    changelog = root / "CHANGELOG.md"
    before, marker, after = changelog.read_text("utf-8").partition(MARKER)
    if not marker:
        raise FragmentError(f"CHANGELOG.md lacks the line {MARKER.strip()}")
    section = render_section(f"{version} ({date})", fragments)
    changelog.write_text(f"{before}{marker}\n{section}{after}", "utf-8")
    for fragment in fragments:
        fragment.path.unlink()


def main(argv: Sequence[str]) -> int:
    """Merge, or print what merging would write."""
    parser = argparse.ArgumentParser(prog="python -m tools.changelog")
    parser.add_argument("version", nargs="?", help="the version to release")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--draft", action="store_true", help="print the section, change nothing")
    options = parser.parse_args(argv)
    try:
        if options.draft:
            sys.stdout.write(render_section("Unreleased", read_fragments(ROOT / "changes")))
        elif options.version is None:
            parser.error("no version given; run: make changelog VERSION=1.2.0")
        else:
            merge(ROOT, options.version, options.date)
    except FragmentError as error:
        print(f"changelog: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
