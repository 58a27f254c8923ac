"""Prepares the pages of the site from docs/ and from files at the root of the repository.

The pages in docs/ are written for two readers: GitHub and the site. Some things differ on the site,
and this module changes them: links to files outside docs/, pages that are files at the root, pipes
in tables, and the members of each `::: name` of the reference, which are those of public_api.txt.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

__all__ = [
    "ROOT_PAGES",
    "copy_pages",
    "expand_reference",
    "read_members",
    "rewrite_links",
    "unescape_pipes",
    "unlink_headings",
]

# A file at the root of the repository -> its page.
ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security-policy.md",
}
# Other files outside docs/ are linked where the repository is published.
REPOSITORY = "https://github.com/dovetail-mcp/dovetail/blob/main/"

_FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$", re.S | re.M)
_LINK = re.compile(r"(?P<start>\]\()(?!\w+:|#)(?P<file>[^)#\s]+)(?P<rest>(?:#[^)\s]*)?\))")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_REFERENCE = re.compile(
    r'<a class="autorefs autorefs-internal"[^>]* href="[^"#]*#(?P<anchor>[^"]*)">(?P<text>.*?)</a>'
)
_AUTODOC = re.compile(r"^::: (?P<name>[\w.]+)$", re.M)


def copy_pages(root: Path, folder: Path) -> None:
    """Write all pages of the site into `folder`, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(root / "docs", folder)
    members = read_members((root / "tests/contracts/public_api.txt").read_text("utf-8"))
    for page in sorted(folder.rglob("*.md")):
        place = PurePosixPath("docs", *page.relative_to(folder).parts)
        text = unescape_pipes(rewrite_links(page.read_text("utf-8"), place, root))
        page.write_text(expand_reference(text, members), "utf-8")
    for name, page_name in ROOT_PAGES.items():
        text = (root / name).read_text("utf-8")
        (folder / page_name).write_text(rewrite_links(text, PurePosixPath(name), root), "utf-8")


def rewrite_links(text: str, place: PurePosixPath, root: Path) -> str:
    """Return a page of the repository with links for the site.

    `place` is the path of the page in the repository. Code blocks stay as they are.
    """
    pages = {PurePosixPath(name): page for name, page in ROOT_PAGES.items()}
    folder = PurePosixPath() if place in pages else place.relative_to("docs").parent

    def rewrite(link: re.Match[str]) -> str:
        target = PurePosixPath(os.path.normpath(place.parent / link["file"]))
        if target in pages:
            path = os.path.relpath(pages[target], folder)
        elif target.parts[:1] == ("docs",):
            path = os.path.relpath(target.relative_to("docs"), folder)
        elif (root / target).exists():
            path = f"{REPOSITORY}{target}"
        else:
            path = link["file"]
        return f"{link['start']}{path}{link['rest']}"

    parts = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(rewrite, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(rewrite, text[end:])])


def read_members(public_api: str) -> dict[str, list[str]]:
    """The public members of each class in the text of public_api.txt."""
    members: dict[str, list[str]] = {}
    for line in public_api.splitlines():
        path = line.partition("  ")[0]
        parent, _, name = path.rpartition(".")
        members[path] = []
        if parent in members:
            members[parent].append(name)
    return members


def expand_reference(text: str, members: Mapping[str, list[str]]) -> str:
    """Return a page with the members of each `::: name` written out."""

    def expand(autodoc: re.Match[str]) -> str:
        names = "|".join(members.get(autodoc["name"], ()))
        # A filter keeps the order of the source; a list of members would be the order shown.
        chosen = f"filters: ['!^(?!(?:{names})$)']" if names else "members: false"
        return f"{autodoc[0]}\n    options:\n      {chosen}\n      inherited_members: true"

    return _AUTODOC.sub(expand, text)


def unescape_pipes(text: str) -> str:
    """Return a page whose tables have `a|b` for `a\\|b`.

    On GitHub a pipe in the code of a table needs a backslash; on the site the backslash is shown.
    """
    rows = text.split("\n")
    return "\n".join(
        _CODE.sub(lambda code: code[0].replace("\\|", "|"), row) if row.startswith("|") else row
        for row in rows
    )


def unlink_headings(html: str) -> str:
    """Return a built page without links from names in signatures to headings.

    Headings are targets as well: the type `list` would lead to a heading "List" of another page.
    """

    def keep_names(link: re.Match[str]) -> str:
        return link[0] if link["anchor"].startswith("dovetail.") else link["text"]

    return _REFERENCE.sub(keep_names, html)
