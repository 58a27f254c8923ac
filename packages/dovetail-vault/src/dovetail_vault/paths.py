"""Validate the paths of notes and folders as strings; `folders.py` opens them.

A path is relative, separated by slashes, and stays inside the vault. Names that would be another
file on another system (`con.md`, `note.md.`) and paths that would leave the vault if decoded again
(`%2e%2e/x`) are rejected here, before any file is accessed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import quote, unquote

from dovetail import ToolError

__all__ = [
    "MAX_PATH",
    "NOTE_SUFFIX",
    "check_new_names",
    "check_note_suffix",
    "fold_name",
    "is_hidden",
    "note_uri_path",
    "split_folder_path",
    "split_note_path",
]

NOTE_SUFFIX = ".md"
# Limits of Linux, macOS and Windows; a longer name would fail later with a less clear error.
_MAX_NAME = 255
MAX_PATH = 1024
_DECODINGS = 4
# Besides the backslash and ASCII control characters, which are never allowed.
_NOT_PORTABLE = re.compile('[<>:"|?*\x80-\x9f\u2028\u2029]')
# Like `.txt` and `.markdown`; `v1.2 plan` and `No. 7` have none.
_OTHER_SUFFIX = re.compile(r"(?<=[^/.])\.(?!md\Z)[A-Za-z][A-Za-z0-9]{0,9}\Z")
_DRIVE = re.compile(r"[A-Za-z]:")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in "123456789¹²³"}
)


def split_note_path(text: str) -> tuple[str, ...]:
    """Return the segments of a note's path; adds `.md` if it is missing."""
    parts = _split(text, "note")
    leaf = parts[-1]
    if not leaf.endswith(NOTE_SUFFIX):
        parts = _split(f"{text}{NOTE_SUFFIX}", "note")
    return parts


def split_folder_path(text: str) -> tuple[str, ...]:
    """Return the segments of a folder's path; the vault itself is ``""``, ``"."`` or ``"/"``."""
    if text in ("", ".", "/", "./"):
        return ()
    return _split(text.removesuffix("/"), "folder")


def check_new_names(parts: Sequence[str], given: str) -> None:
    """Raise ToolError if a name cannot be created on every system.

    Existing notes with such names can still be read and changed.
    """
    for part in parts:
        found = _NOT_PORTABLE.search(part)
        if found is not None:
            raise _invalid(
                given,
                f"{part[:100]!r} contains {found[0]!r}; new names may not contain "
                '< > : " | ? * or control characters, which other systems do not allow',
            )


def check_note_suffix(text: str) -> None:
    """Raise ToolError if a path to be created has the suffix of another kind of file."""
    found = _OTHER_SUFFIX.search(text)
    if found is not None:
        raise _invalid(
            text,
            f"notes are .md files; pass {text[: found.start()][-100:]}.md, or {text[-100:]}.md if "
            f"{found[0]} is part of the name",
        )


def is_hidden(name: str) -> bool:
    """Whether a name is hidden and not served: settings, trash, version control."""
    return name.startswith(".")


def fold_name(name: str) -> str:
    """Return a key that is equal for names that some file systems treat as the same."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def note_uri_path(path: str) -> str:
    """Return a path in the form used in a URI."""
    return quote(path, safe="/!$&'()*+,;=:@-._~")


def _split(text: str, what: str) -> tuple[str, ...]:
    if not text or text.isspace():
        raise ToolError(f"The path of the {what} is empty; expected a path like Folder/Name.md")
    if len(text) > MAX_PATH:
        raise ToolError(
            f"The path has {len(text)} characters, at most {MAX_PATH} are allowed: {text[:80]!r}..."
        )
    _check_decoded(text, text)
    decoded = text
    for _ in range(_DECODINGS):
        again = unquote(decoded, errors="replace")
        if again == decoded:
            break
        decoded = again
        _check_decoded(decoded, text)
    parts = tuple(text.split("/"))
    for part in parts:
        _check_segment(part, text)
    return parts


def _check_decoded(decoded: str, given: str) -> None:
    if any(ord(character) < 32 or character == "\x7f" for character in decoded):
        raise _invalid(given, "control characters are not allowed")
    if "\\" in decoded:
        raise _invalid(given, "separate folders with /, not with a backslash")
    if decoded.startswith(("/", "~")) or _DRIVE.match(decoded):
        raise _invalid(given, "it must be relative to the vault")
    if any(part.strip(" ") in (".", "..") for part in decoded.split("/")):
        raise _invalid(given, "'.' and '..' are not allowed")


def _check_segment(part: str, given: str) -> None:
    if not part:
        raise _invalid(given, "it contains an empty segment")
    if is_hidden(part):
        raise _invalid(given, f"{part!r} starts with a dot; hidden files are not served")
    if part.endswith((".", " ")) or part.startswith(" "):
        raise _invalid(given, f"{part!r} starts or ends with a space, or ends with a dot")
    if part.partition(".")[0].rstrip(" ").lower() in _RESERVED:
        raise _invalid(given, f"{part!r} is a reserved device name on Windows")
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        raise _invalid(given, "it is not valid Unicode") from None
    if size > _MAX_NAME:
        raise _invalid(given, f"a name may have at most {_MAX_NAME} bytes, this one has {size}")


def _invalid(given: str, reason: str) -> ToolError:
    shown = given.encode("utf-8", "backslashreplace").decode()
    return ToolError(f"The path {shown[:200]!r} is not allowed: {reason}")
