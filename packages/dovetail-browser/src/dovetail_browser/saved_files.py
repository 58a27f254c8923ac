"""The operator's folder for uploads, downloads, saved pages and screenshots."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dovetail_browser.page_errors import tool_error

__all__ = ["SavedFiles"]

_UNSAFE = re.compile(r"[^\w.()+ -]+")
_LONGEST_NAME = 120


class SavedFiles:
    """Files in the operator's folder; no path outside of it is accessible."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def save(self, name: str, data: bytes) -> str:
        """Write a new file and return its name."""
        path = self._inside(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Do not replace files or follow links.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(data)
        except FileExistsError:
            raise tool_error(
                f"The file {name!r} already exists and is not replaced.",
                "give `saveTo` another name",
            ) from None
        except OSError as error:
            raise tool_error(
                f"{name[:200]!r} could not be written: {error.strerror}.",
                "give `saveTo` another name",
            ) from None
        return name

    def find(self, name: str) -> Path:
        """Return the path of an existing file."""
        path = self._inside(name)
        if not path.is_file():
            raise tool_error(
                f"There is no file {name[:200]!r} in the operator's folder; its files: "
                f"{', '.join(self._some_names()) or 'none'}.",
                "give `files` that are in the folder",
            )
        return path

    def place_for(self, suggested: str) -> Path | None:
        """Return an unused path for a download, like the name that the page suggests."""
        if self.folder is None:
            return None
        clean = _UNSAFE.sub("_", Path(suggested).name).strip(". ")[-_LONGEST_NAME:] or "download"
        stem, suffix = os.path.splitext(clean)
        for number in range(1000):
            name = clean if number == 0 else f"{stem}-{number}{suffix}"
            path = self.folder / name
            if not os.path.lexists(path):
                return path
        return None

    def _inside(self, name: str) -> Path:
        if self.folder is None:
            raise tool_error(
                "The server has no folder for files.",
                "omit `saveTo`",
                "omit `files`",
                "ask the operator to start the server with --folder DIR",
            )
        root = self.folder.resolve()
        # Resolve links before checking that the path is inside the folder.
        path = (root / name).parent.resolve() / Path(name).name
        if "\0" in name or Path(name).is_absolute() or not path.is_relative_to(root):
            raise tool_error(f"{name[:200]!r} is outside the folder.", "give a path inside of it")
        if path.is_symlink() or path == root:
            raise tool_error(f"{name[:200]!r} is not a regular file.", "give another name")
        return path

    def _some_names(self) -> list[str]:
        assert self.folder is not None
        found = sorted(path for path in self.folder.rglob("*") if path.is_file())
        return [str(path.relative_to(self.folder)) for path in found[:20]]
