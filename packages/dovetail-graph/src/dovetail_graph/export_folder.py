"""The folder from which graphs are imported and to which they are exported.

Every folder and file below the database's folder is opened relative to its parent and never through
a symbolic link, so a link has no effect, even if it is created during a call. Only regular files
with a single name are read: a FIFO would block the call, and the other name of a hard link may
belong to another program.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from dovetail import ToolError

__all__ = ["MAX_FILE_BYTES", "ExportFolder"]

MAX_FILE_BYTES = 50_000_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_REASONS = {
    errno.ELOOP: "it is a symbolic link, and links are not followed",
    errno.ENOTDIR: "the exports folder is a symbolic link or not a folder",
    errno.ENOENT: "there is no such file in the exports folder",
    errno.EISDIR: "it is a folder",
    # Opening a socket.
    errno.ENXIO: "it is not a regular file",
}


class ExportFolder:
    """The folder `NAME-exports/NAMESPACE` beside a database file."""

    def __init__(self, database: Path, namespace: str) -> None:
        self._beside = database.parent
        self._parts = (f"{database.stem}-exports", namespace)

    def check_name(self, name: str) -> None:
        """Raise ToolError unless this is the name of a file, without folders."""
        if not _NAME.fullmatch(name):
            raise ToolError(
                "A file name must have 1 to 100 characters of A-Z a-z 0-9 _ . - and no folders, "
                f"got {name[:100]!r}"
            )

    def read(self, name: str) -> str:
        """Return the text of a file of at most MAX_FILE_BYTES."""
        self.check_name(name)
        with _explained(f"Cannot read {name!r}"), self._opened() as folder:
            descriptor = os.open(name, _READ, dir_fd=folder)
            # Not a file object of its own descriptor: that leaks the descriptor of a folder.
            try:
                data = _read(descriptor, name)
            finally:
                os.close(descriptor)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise ToolError(f"Cannot read {name!r}: it is not UTF-8") from None

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a file that only the user can read; it replaces what has this name.

        A link of this name is replaced too, and its target stays unchanged.
        """
        self.check_name(name)
        temporary = f".{secrets.token_hex(8)}.part"
        with _explained(f"Cannot write {name!r}"), self._opened(create=True) as folder:
            descriptor = os.open(temporary, _NEW, 0o600, dir_fd=folder)
            try:
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in lines)
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    @contextlib.contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[int]:
        # The operator chose the database's folder, so it may be a link.
        current = os.open(self._beside, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in self._parts:
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=current)
                following = os.open(part, _FOLDER, dir_fd=current)
                os.close(current)
                current = following
            yield current
        finally:
            os.close(current)


def _read(descriptor: int, name: str) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"Cannot read {name!r}: it is not a regular file")
    if status.st_nlink > 1:
        raise ToolError(f"Cannot read {name!r}: it is a hard link; copy the file instead")
    if status.st_size <= MAX_FILE_BYTES:
        with open(descriptor, "rb", closefd=False) as file:
            # The file may grow while it is read.
            data = file.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data
    raise ToolError(f"Cannot read {name!r}: it has more than {MAX_FILE_BYTES} bytes; split it")


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0) or error.strerror or "unknown error"
        raise ToolError(f"{what}: {reason}") from None
