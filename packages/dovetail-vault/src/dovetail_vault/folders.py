"""The vault's folder, opened once; everything inside is reached from its descriptor.

Each step of a path is opened relative to the folder before it and never through a symbolic
link, so a link that somebody swaps in during a call leads nowhere. Links inside the vault are
not followed either: ripgrep does not, and a link that is fine now may point elsewhere later.
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
from dovetail_vault.paths import NOTE_SUFFIX, fold_name, is_hidden

__all__ = ["Entry", "Root", "explain_os_error"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Logseq keeps old copies of notes in these; they are nobody's notes.
_COPIES = frozenset({("logseq", "bak"), ("logseq", "version-files"), ("logseq", ".recycle")})


class Entry(NamedTuple):
    """A note as the file system describes it."""

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
            raise UsageError(
                f"The vault {str(path)!r} cannot be opened: {error.strerror}"
            ) from None

    def close(self) -> None:
        """Let the descriptor go."""
        os.close(self.descriptor)

    @contextlib.contextmanager
    def folder(self, parts: Sequence[str], *, create: bool = False) -> Iterator[int]:
        """A descriptor of a folder inside the vault."""
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
        """Every note below a folder, in no particular order; what cannot be read is left out."""
        try:
            with self.folder(parts) as descriptor:
                yield from _walk(descriptor, tuple(parts))
        except ToolError:
            return

    def find_twins(self, parts: Sequence[str]) -> list[str]:
        """Names in the same folder that differ in case or Unicode form only."""
        key = fold_name(parts[-1])
        try:
            with self.folder(parts[:-1]) as descriptor:
                names = os.listdir(descriptor)
        except ToolError:
            return []
        return sorted(name for name in names if name != parts[-1] and fold_name(name) == key)


def _enter(current: int, part: str, shown: str, create: bool) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=current)
    except FileNotFoundError:
        if not create:
            raise ToolError(f"There is no folder {shown!r} in the vault") from None
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
    """A name that is no UTF-8 cannot be said in JSON."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


_REASONS = {
    errno.ELOOP: "it is a symbolic link, and links are not followed",
    errno.ENOTDIR: "it is a symbolic link or no folder",
    errno.EISDIR: "it is a folder",
    errno.ENXIO: "it is no regular file",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENAMETOOLONG: "the name is too long for this disk",
    errno.EFBIG: "the file would be too large",
}


def explain_os_error(error: OSError, what: str) -> ToolError:
    """The failure in words that a model can act upon; nothing has been changed."""
    reason = _REASONS.get(error.errno or 0) or (error.strerror or "unknown error")
    return ToolError(f"Cannot open or write {what}: {reason}. Nothing was changed")
