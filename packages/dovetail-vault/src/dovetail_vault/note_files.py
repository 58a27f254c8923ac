"""Read and atomically write the files of notes.

A write goes to a hidden temporary file in the same folder, is flushed to the disk, and is then
exchanged with the note in one step. The displaced file is checked before it is deleted: if it is
not what the caller had read, the files are exchanged again and the write fails. So an edit by
another program between reading and writing is never lost.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dovetail import ToolError
from dovetail_vault.exchange import Lease, exchange_names, rename_to_free_name
from dovetail_vault.folders import MissingFolderError, Root, explain_os_error
from dovetail_vault.process_names import own_process_name

__all__ = [
    "MAX_NOTE_BYTES",
    "TEMPORARY_SUFFIX",
    "ChangedError",
    "NoteFile",
    "decode_note",
    "etag_of",
    "hold_lock",
    "note_exists",
    "read_note_file",
    "remove_note",
    "rename_note",
    "write_note_file",
]

# Obsidian itself gets slow well below this size.
MAX_NOTE_BYTES = 10 * 1024 * 1024
TEMPORARY_SUFFIX = ".dovetail-tmp"
_NEW_MODE = 0o666
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class ChangedError(ToolError):
    """The note changed since the caller read it."""


class NoteFile(NamedTuple):
    """The bytes of a note and its file attributes."""

    data: bytes
    etag: str
    size: int
    mtime_ns: int
    mode: int
    inode: int

    @property
    def modified(self) -> str:
        """When it was last written, as ISO 8601."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.mtime_ns / 1e9))


def etag_of(data: bytes) -> str:
    """Return the version of a note: a hash of its bytes."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def decode_note(data: bytes) -> tuple[str, str]:
    """Return text and encoding. Invalid UTF-8 becomes lone surrogates, which survive a rewrite."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace"), "utf-16"
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), "invalid-utf-8"


def read_note_file(root: Root, parts: Sequence[str]) -> NoteFile | None:
    """Read a note; None if it does not exist. Raises ToolError if it cannot be read."""
    shown = "/".join(parts)
    try:
        with root.folder(parts[:-1]) as folder:
            return _read(folder, parts[-1], shown)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain_os_error(error, repr(shown)) from None
    except MissingFolderError:
        return None


def _read(folder: int, name: str, shown: str) -> NoteFile:
    # With an opener, `open` closes the descriptor of a folder before it raises.
    with open(
        name, "rb", buffering=0, opener=lambda path, _: os.open(path, _READ, dir_fd=folder)
    ) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(f"{shown!r} is not a regular file")
        if status.st_size > MAX_NOTE_BYTES:
            raise ToolError(
                f"{shown!r} has {status.st_size} bytes; notes of more than {MAX_NOTE_BYTES} bytes "
                "are not read"
            )
        # A buffer of the maximum size would take most of the time of a read.
        data = file.read(status.st_size + 1)
        if len(data) > status.st_size:
            data += file.read(MAX_NOTE_BYTES)
        if len(data) > MAX_NOTE_BYTES:
            raise ToolError(f"{shown!r} grew beyond {MAX_NOTE_BYTES} bytes while it was read")
        if b"\0" in data and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise ToolError(f"{shown!r} is a binary file, not a text note")
        return NoteFile(
            data, etag_of(data), len(data), status.st_mtime_ns, status.st_mode, status.st_ino
        )


def write_note_file(
    root: Root, parts: Sequence[str], data: bytes, expected: NoteFile | None
) -> NoteFile:
    """Atomically replace the version `expected` of a note, or create it if that is None.

    Raises ChangedError and changes nothing if the file is not `expected`.
    """
    shown = "/".join(parts)
    if len(data) > MAX_NOTE_BYTES:
        raise ToolError(
            f"{shown!r} would have {len(data)} bytes; at most {MAX_NOTE_BYTES} are allowed"
        )
    try:
        with (
            root.folder(parts[:-1], create=expected is None) as folder,
            _temporary(folder, data, expected) as temporary,
        ):
            if expected is None:
                _create(folder, temporary, parts[-1], shown)
            else:
                _replace(folder, temporary, parts[-1], expected, shown)
            os.fsync(folder)
            return _read(folder, parts[-1], shown)
    except OSError as error:
        raise explain_os_error(error, repr(shown)) from None


@contextlib.contextmanager
def _temporary(folder: int, data: bytes, expected: NoteFile | None) -> Iterator[str]:
    """Yield the name of a hidden file with these bytes, flushed to disk; deletes it at the end."""
    name = f".{own_process_name()}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, _NEW_MODE, dir_fd=folder)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) or 0 :]
            if expected is not None:
                os.fchmod(descriptor, stat.S_IMODE(expected.mode))
            os.fsync(descriptor)
        yield name
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _create(folder: int, temporary: str, name: str, shown: str) -> None:
    # A link fails if the name exists; a rename would replace the file.
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise ChangedError(f"{shown!r} already exists; nothing was written") from None
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        # On a file system without links, like FAT, create an empty file first, then replace it.
        claim = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(name, claim, dir_fd=folder))
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def _replace(folder: int, temporary: str, name: str, expected: NoteFile, shown: str) -> None:
    """Replace the old file with the new one, unless the old one has changed.

    Both files are leased meanwhile: an editor that opens the note waits until the exchange is
    done. An editor that was opening the old file before the exchange would write to a file that is
    about to be deleted; the kernel reports it, and the files are exchanged again.
    """
    _require_unchanged(folder, name, expected, shown)
    with Lease(folder, temporary) as new, Lease(folder, name) as old:
        is_alone = new.acquire() and old.acquire()
        # Check again, now that no other program can write.
        _require_unchanged(folder, name, expected, shown, old.descriptor)
        if not exchange_names(folder, temporary, name):
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
        has_writer = is_alone and old.has_writer_waiting()
        if has_writer:
            exchange_names(folder, temporary, name)
        new.release()
        old.release()
    if has_writer:
        raise ChangedError(f"{shown!r} is being changed by another program; nothing was written")
    # `temporary` is now the old file.
    _require_dropped_unchanged(folder, temporary, name, expected, shown)


def _require_dropped_unchanged(
    folder: int, temporary: str, name: str, expected: NoteFile, shown: str
) -> None:
    """Check for a program that had the old file open all the time and wrote to it."""
    try:
        with Lease(folder, temporary) as dropped:
            dropped.acquire()
            _require_unchanged(folder, temporary, expected, shown, dropped.descriptor)
    except (ToolError, OSError):
        exchange_names(folder, temporary, name)
        raise


def _require_unchanged(
    folder: int, name: str, expected: NoteFile, shown: str, descriptor: int | None = None
) -> None:
    """Raise ChangedError unless the file is `expected`; reads from `descriptor` if given."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        # Opening the file again would break our own lease.
        file = None if descriptor is not None else _read(folder, name, shown)
    except FileNotFoundError:
        raise ChangedError(f"{shown!r} was deleted meanwhile; nothing was written") from None
    if file is not None:
        etag = file.etag
    else:
        assert descriptor is not None
        own = os.fstat(descriptor)
        is_same = own.st_ino == status.st_ino
        etag = etag_of(os.pread(descriptor, own.st_size + 1, 0)) if is_same else "another file"
    if etag != expected.etag:
        raise ChangedError(
            f"{shown!r} was changed meanwhile: its etag is {etag}, expected {expected.etag}. "
            "Nothing was written; read the note again"
        )


def rename_note(root: Root, source: Sequence[str], target: Sequence[str]) -> None:
    """Move a note in one step; never replaces an existing file."""
    shown = "/".join(target)
    try:
        with (
            root.folder(source[:-1]) as source_folder,
            root.folder(target[:-1], create=True) as target_folder,
        ):
            _require_regular(source_folder, source[-1], "/".join(source))
            try:
                if not rename_to_free_name(source_folder, source[-1], target_folder, target[-1]):
                    # Not atomic: after a crash between the steps the note has both names.
                    os.link(
                        source[-1],
                        target[-1],
                        src_dir_fd=source_folder,
                        dst_dir_fd=target_folder,
                        follow_symlinks=False,
                    )
                    os.unlink(source[-1], dir_fd=source_folder)
            except FileExistsError:
                raise ChangedError(f"{shown!r} already exists; nothing was moved") from None
            os.fsync(target_folder)
            os.fsync(source_folder)
    except OSError as error:
        raise explain_os_error(error, repr(shown)) from None


def remove_note(root: Root, parts: Sequence[str]) -> None:
    """Delete a note permanently."""
    try:
        with root.folder(parts[:-1]) as folder:
            _require_regular(folder, parts[-1], "/".join(parts))
            os.unlink(parts[-1], dir_fd=folder)
            os.fsync(folder)
    except OSError as error:
        raise explain_os_error(error, repr("/".join(parts))) from None


def note_exists(root: Root, parts: Sequence[str]) -> bool:
    """Whether a path is a regular file. Raises ToolError if it is something else."""
    try:
        with root.folder(parts[:-1]) as folder:
            status = os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)
    except (ToolError, FileNotFoundError):
        return False
    except OSError as error:
        raise explain_os_error(error, repr("/".join(parts))) from None
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{'/'.join(parts)!r} is a folder, a link or a device, not a note")
    return True


def _require_regular(folder: int, name: str, shown: str) -> None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        raise ToolError(f"There is no note {shown!r}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{shown!r} is not a regular file")


@contextlib.contextmanager
def hold_lock(path: str) -> Iterator[None]:
    """Hold a lock between server processes; the system releases it when a process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
