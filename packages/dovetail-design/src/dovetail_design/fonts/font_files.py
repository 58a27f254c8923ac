"""Reads family, weight and slant from font files.

Only the table directory and three small tables are read, with bounds checks, because an operator's
folder may contain any file. Whether the outlines can be drawn is left to the graphics library.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from dovetail import UsageError
from dovetail_design.fonts.bundled import Face

__all__ = ["SUFFIXES", "read_faces", "read_folder"]

SUFFIXES = (".ttf", ".otf", ".ttc", ".otc")
MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 500

_SINGLE = (b"\x00\x01\x00\x00", b"OTTO", b"true")
_FAMILY, _PREFERRED_FAMILY = 1, 16
_ITALIC_BIT = 0x01


class _Unreadable(Exception):
    """The bytes are not a font; the message says why."""


def read_folder(folder: Path) -> tuple[Face, ...]:
    """Return every face in a folder and its subfolders; raises UsageError."""
    if not folder.is_dir():
        raise UsageError(
            f"--fonts {str(folder)!r} is not a folder; pass one that contains .ttf or .otf files"
        )
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not paths:
        raise UsageError(
            f"--fonts {str(folder)!r} contains no font; allowed: {', '.join(SUFFIXES)}"
        )
    if len(paths) > MAX_FILES:
        raise UsageError(
            f"--fonts {str(folder)!r} contains {len(paths)} fonts; the limit is {MAX_FILES}"
        )
    return tuple(face for path in paths for face in read_faces(path))


def read_faces(path: Path) -> tuple[Face, ...]:
    """Return the faces of a file; raises UsageError if it is not a font."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _Unreadable(f"it is larger than {MAX_BYTES // 1024 // 1024} MB")
        data = path.read_bytes()
        return tuple(_read_face(data, start, path, at) for at, start in enumerate(_starts(data)))
    except (_Unreadable, OSError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
    except (struct.error, IndexError):
        reason = "its tables are truncated"
    raise UsageError(f"{path.name!r} is not a font: {reason}; allowed: TrueType and OpenType files")


def _starts(data: bytes) -> Iterator[int]:
    if data[:4] in _SINGLE:
        yield 0
    elif data[:4] == b"ttcf":
        (count,) = struct.unpack_from(">L", data, 8)
        if not 0 < count <= 64:
            raise _Unreadable(f"a collection of {count} fonts")
        yield from struct.unpack_from(f">{count}L", data, 12)
    else:
        raise _Unreadable(f"it begins with {data[:4]!r}")


def _read_face(data: bytes, start: int, path: Path, index: int) -> Face:
    tables = _tables(data, start)
    missing = [tag for tag in ("cmap", "head", "name", "OS/2") if tag not in tables]
    if missing:
        raise _Unreadable(f"it has no table {', '.join(missing)}")
    if not tables.keys() & {"glyf", "CFF ", "CFF2"}:
        raise _Unreadable("it has no outlines")
    os2 = tables["OS/2"]
    (weight,) = struct.unpack_from(">H", data, os2 + 4)
    (selection,) = struct.unpack_from(">H", data, os2 + 62)
    family = _family(data, tables["name"])
    return Face(family, min(max(weight, 100), 900), bool(selection & _ITALIC_BIT), path, index)


def _tables(data: bytes, start: int) -> dict[str, int]:
    (count,) = struct.unpack_from(">H", data, start + 4)
    found = {}
    for at in range(start + 12, start + 12 + 16 * count, 16):
        tag, _, offset, length = struct.unpack_from(">4sLLL", data, at)
        if offset + length > len(data):
            raise _Unreadable("its tables are truncated")
        found[tag.decode("latin-1")] = offset
    return found


def _family(data: bytes, name_table: int) -> str:
    """Return the family name; prefers the typographic one, which excludes the style."""
    count, strings = struct.unpack_from(">HH", data, name_table + 2)
    names: dict[int, str] = {}
    for at in range(name_table + 6, name_table + 6 + 12 * count, 12):
        platform, _, language, kind, length, offset = struct.unpack_from(">6H", data, at)
        if kind not in (_FAMILY, _PREFERRED_FAMILY):
            continue
        raw = data[name_table + strings + offset :][:length]
        text = raw.decode("latin-1" if platform == 1 else "utf-16-be", "replace").strip("\0 ")
        is_english = language in (0, 0x409)
        if text and (is_english or kind not in names):
            names[kind] = text[:200]
    family = names.get(_PREFERRED_FAMILY) or names.get(_FAMILY)
    if not family:
        raise _Unreadable("it has no family name")
    return family
