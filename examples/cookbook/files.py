"""Serve the text files of one folder: list, read and search; nothing outside the folder.

FOLDER is the folder; the current one by default.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta

from dovetail import Resource, ResourcePage, Server, ToolAnnotations, ToolError

FOLDER = Path(os.environ.get("FOLDER", ".")).resolve()
MAX_BYTES = 200_000

server = Server("files", version="1.0.0", instructions=f"Text files in {FOLDER.name}.")
READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)


@dataclass
class Match:
    path: str
    line: int
    text: str


def find_file(path: str) -> Path:
    """The file at a path below FOLDER; links that lead outside do not count."""
    file = (FOLDER / path).resolve()
    if not file.is_relative_to(FOLDER) or not file.is_file():
        raise ToolError(f"There is no file {path!r}. Call list_files for the paths.")
    return file


def walk(pattern: str = "*") -> Iterator[Path]:
    """All files below FOLDER that match a pattern, without hidden ones, in order."""
    for folder, folders, names in os.walk(FOLDER):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.match(pattern) and not file.is_symlink():
                yield file


@server.tool(annotations=READ_ONLY)
def list_files(pattern: str = "*") -> list[str]:
    """Return the paths of all files whose name matches a pattern, such as `*.md`."""
    return [file.relative_to(FOLDER).as_posix() for file in walk(pattern)]


@server.tool(annotations=READ_ONLY)
def read_file(path: str, offset: Annotated[int, Meta(ge=0)] = 0) -> str:
    """Return the text of a file.

    Args:
        path: The path of the file, as list_files returns it.
        offset: The first character to return, for files that are cut off.
    """
    text = find_file(path).read_text("utf-8", errors="replace")
    part = text[offset : offset + MAX_BYTES]
    left = len(text) - offset - len(part)
    return f"{part}\n[{left} more characters; offset={offset + len(part)}]" if left > 0 else part


@server.tool(annotations=READ_ONLY)
def search(
    text: str, pattern: str = "*", limit: Annotated[int, Meta(ge=1, le=500)] = 50
) -> list[Match]:
    """Return the lines that contain a text; upper and lower case do not matter."""
    found: list[Match] = []
    for file in walk(pattern):
        lines = file.read_text("utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if text.lower() in line.lower():
                found.append(Match(file.relative_to(FOLDER).as_posix(), number, line.strip()[:200]))
                if len(found) == limit:
                    return found
    return found


@server.resource("files:///{path*}", mime_type="text/plain")
def file_contents(path: str) -> str | None:
    """The text of a file, for clients that attach files to a conversation."""
    try:
        return find_file(path).read_text("utf-8", errors="replace")
    except ToolError:
        return None


@server.resource_list
def file_list(cursor: str | None) -> ResourcePage:
    """All files, a hundred per page; the cursor is the number of the first one."""
    start = int(cursor or 0)
    paths = list_files()
    page = [
        Resource(uri=f"files:///{quote(path)}", name=path, mime_type="text/plain")
        for path in paths[start : start + 100]
    ]
    return ResourcePage(page, str(start + 100) if start + 100 < len(paths) else None)


if __name__ == "__main__":
    server.run()
