"""The operator's folders: the only places where files are read from and saved to.

Each part of a path is opened relative to the folder before it, without following symbolic links,
so neither `..` nor a link leads outside, even if it is swapped in during a call.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from dovetail import ToolError, UsageError

__all__ = ["Folders", "Saving"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ELOOP: "it is a symbolic link, and links are not followed",
    errno.ENOTDIR: "a part of it is a symbolic link or not a folder",
    errno.ENOENT: "there is no such file or folder",
    errno.EISDIR: "it is a folder",
    errno.ENXIO: "it is not a regular file",
    errno.EEXIST: "it already exists; pass overwrite=true to replace it",
    errno.ENOSPC: "the disk is full",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission denied",
}


class Folders:
    """Folders that may be read from and written to."""

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self.paths: list[Path] = []
        for path in paths:
            found = path.expanduser().resolve()
            if not found.is_dir():
                raise UsageError(f"--folder {str(path)!r} is not a folder that can be opened")
            self.paths.append(found)

    def read(self, path: str, most: int) -> bytes:
        """Read a file of at most `most` bytes."""
        with (
            _explained(path),
            self._inside(path) as (folder, name),
            # With an opener, `open` closes the descriptor of a folder before it raises.
            open(name, "rb", opener=lambda path, _: os.open(path, _READ, dir_fd=folder)) as file,
        ):
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.ENXIO, "not a regular file")
            data = file.read(most + 1)
        if len(data) > most:
            raise ToolError(f"{path!r} has {status.st_size} bytes; the limit is {most}")
        return data

    def check(self, path: str, *, overwrite: bool) -> None:
        """Check that a file can be saved here, also in a new folder; raises ToolError."""
        with _explained(path):
            try:
                with self._inside(path) as (folder, name):
                    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "a folder")
            if stat.S_ISLNK(status.st_mode):
                raise OSError(errno.ELOOP, "a link")
            if not overwrite:
                raise FileExistsError(errno.EEXIST, "exists")

    def prepare(self, path: str, data: bytes) -> Saving:
        """Write a file under a temporary name, in a new folder if needed; `finish` renames it."""
        beside = f".{secrets.token_hex(8)}.part"
        with _explained(path), self._inside(path, create=True) as (folder, name):
            try:
                descriptor = os.open(beside, _NEW, 0o644, dir_fd=folder)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(beside, dir_fd=folder)
                raise
            return Saving(os.dup(folder), beside, name, path)

    @contextlib.contextmanager
    def _inside(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """Yield a descriptor of the folder that contains the file, and the file's name."""
        root, parts = self._locate(path)
        current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o755, dir_fd=current)
                following = os.open(part, _FOLDER, dir_fd=current)
                os.close(current)
                current = following
            yield current, parts[-1]
        finally:
            os.close(current)

    def _locate(self, path: str) -> tuple[Path, tuple[str, ...]]:
        if not self.paths:
            raise ToolError(
                "No folder is open for files: the operator must start the server with --folder "
                "DIR. Without it, upload a data URI and read exports as resources"
            )
        asked = PurePath(path)
        if ".." in asked.parts or "\0" in path or not asked.name:
            raise ToolError(f"{path[:300]!r} is not a file inside a folder; '..' is not allowed")
        if not asked.is_absolute():
            return self._holder(asked.parts), asked.parts
        for root in self.paths:
            if asked.is_relative_to(root) and asked != root:
                return root, asked.relative_to(root).parts
        raise ToolError(
            f"{path[:300]!r} is outside the open folders: {', '.join(map(str, self.paths))}. "
            "Pass a path inside one of them, or one relative to the first"
        )

    def _holder(self, parts: Sequence[str]) -> Path:
        """Return the first folder that has this file, else the first folder."""
        for root in self.paths:
            with contextlib.suppress(OSError):
                os.lstat(root.joinpath(*parts))
                return root
        return self.paths[0]


class Saving:
    """A file that is written but not yet renamed to its final name."""

    def __init__(self, folder: int, beside: str, name: str, path: str) -> None:
        self._folder = folder
        self._beside = beside
        self._name = name
        self._path = path

    def finish(self, *, overwrite: bool) -> None:
        """Rename it to its final name; an existing file stays unless it may be replaced."""
        with _explained(self._path):
            if overwrite:
                os.replace(
                    self._beside, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder
                )
            else:
                os.link(self._beside, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def undo(self) -> None:
        """Remove the file again, if another file of the same batch failed."""
        with contextlib.suppress(OSError):
            os.unlink(self._name, dir_fd=self._folder)

    def close(self) -> None:
        """Remove the temporary file."""
        with contextlib.suppress(OSError):
            os.unlink(self._beside, dir_fd=self._folder)
        os.close(self._folder)


@contextlib.contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or "unknown error"
        raise ToolError(f"{path[:300]!r} cannot be used: {reason}. Nothing was changed") from None
