"""The vault's folder, opened once; everything inside is opened relative to its descriptor.

Each segment of a path is opened relative to its parent folder and never through a symbolic link,
so replacing a folder by a link during a call has no effect. Links inside the vault are not followed
either: ripgrep does not follow them, and their target can change.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dovetail import ToolError, UsageError
from dovetail_vault.paths import MAX_PATH, NOTE_SUFFIX, fold_name, is_hidden

__all__ = ["Entry", "MissingFolderError", "Root", "explain_os_error"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Folders in which Logseq stores old copies of notes; they are not indexed.
_COPIES = frozenset({("logseq", "bak"), ("logseq", "version-files"), ("logseq", ".recycle")})


class MissingFolderError(ToolError):
    """There is no folder with this path."""


class Entry(NamedTuple):
    """The path and file attributes of a note."""

    path: str
    size: int
    mtime_ns: int
    inode: int


class Root:
    """The folder of a vault."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().resolve()
        try:
            self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UsageError(f"Cannot open the vault {str(path)!r}: {error.strerror}") from None

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)

    @contextlib.contextmanager
    def folder(self, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
        """Yield a descriptor of a folder inside the vault."""
        current = os.dup(self.descriptor)
        try:
            for depth, part in enumerate(parts):
                following = _enter(current, part, "/".join(parts[: depth + 1]), create)
                os.close(current)
                current = following
            yield current
        finally:
            os.close(current)

    def walk(self, parts: Sequence[str] = ()) -> Iterator[Entry]:
        """Yield every note below a folder, in any order; unreadable folders are skipped."""
        try:
            with self.folder(parts) as descriptor:
                yield from _walk(descriptor, tuple(parts))
        except ToolError:
            return

    def find_name_variants(self, parts: Sequence[str]) -> list[str]:
        """Return names in the same folder that differ only in case or Unicode form."""
        key = fold_name(parts[-1])
        try:
            with self.folder(parts[:-1]) as descriptor:
                names = os.listdir(descriptor)
        except ToolError:
            return []
        return sorted(name for name in names if name != parts[-1] and fold_name(name) == key)

    def find_conflict(self, parts: Sequence[str]) -> str | None:
        """Return an existing path that a new one differs from only in case or Unicode form.

        It is the beginning of the path if a folder of that name exists.
        """
        for depth in range(1, len(parts) + 1):
            try:
                with self.folder(parts[: depth - 1]) as descriptor:
                    os.stat(parts[depth - 1], dir_fd=descriptor, follow_symlinks=False)
            except (OSError, ToolError):
                variants = self.find_name_variants(parts[:depth])
                return "/".join((*parts[: depth - 1], variants[0])) if variants else None
        return None


def _enter(current: int, part: str, shown: str, create: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=current)
    except FileNotFoundError:
        if not create:
            raise MissingFolderError(f"There is no folder {shown!r} in the vault") from None
    except OSError as error:
        raise explain_os_error(error, f"the folder {shown!r}") from None
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, dir_fd=current)
        return os.open(part, _FOLDER, dir_fd=current)
    except OSError as error:
        raise explain_os_error(error, f"the folder {shown!r}") from None


def _walk(descriptor: int, parts: tuple[str, ...]) -> Iterator[Entry]:
    try:
        with os.scandir(descriptor) as entries:
            found = [
                entry for entry in entries if not is_hidden(entry.name) and _is_text(entry.name)
            ]
    except OSError:
        return
    prefix = "".join(f"{part}/" for part in parts)
    if len(prefix) > MAX_PATH:
        # No note below can be read, and each level takes a frame and a descriptor.
        return
    for entry in found:
        try:
            if entry.is_dir(follow_symlinks=False):
                inner = (*parts, entry.name)
                if inner in _COPIES:
                    continue
                below = os.open(entry.name, _FOLDER, dir_fd=descriptor)
                try:
                    yield from _walk(below, inner)
                finally:
                    os.close(below)
            elif entry.name.endswith(NOTE_SUFFIX):
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    path = f"{prefix}{entry.name}"
                    yield Entry(path, status.st_size, status.st_mtime_ns, status.st_ino)
        except OSError:
            continue


def _is_text(name: str) -> bool:
    """Whether a name is valid UTF-8; others cannot be represented in JSON."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


_REASONS = {
    errno.ELOOP: "it is a symbolic link, and links are not followed",
    errno.ENOTDIR: "it is a symbolic link or not a folder",
    errno.EISDIR: "it is a folder",
    errno.ENXIO: "it is not a regular file",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is exceeded",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the name is too long for this disk",
    errno.EFBIG: "the file would be too large",
}


def explain_os_error(error: OSError, what: str) -> ToolError:
    """Return a ToolError that explains the failure."""
    reason = _REASONS.get(error.errno or 0) or (error.strerror or "unknown error")
    return ToolError(f"Cannot open or write {what}: {reason}. Nothing was changed")
