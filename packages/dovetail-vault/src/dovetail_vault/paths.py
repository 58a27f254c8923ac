"""Which texts may name a note or a folder. Knows strings only; opening is `folders.py`'s job.

A path is relative, in segments with slashes, inside the vault by its spelling alone. What would
be another file on another system (`con.md`, `note.md.`), or could climb if somebody decoded it
once more (`%2e%2e/x`), is refused here, before any file is touched.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

from dovetail import ToolError

__all__ = [
    "NOTE_SUFFIX",
    "fold_name",
    "is_hidden",
    "note_uri_path",
    "split_folder_path",
    "split_note_path",
]

NOTE_SUFFIX = ".md"
# What Linux, macOS and Windows take; a longer name would fail later and less clearly.
_LONGEST_NAME = 255
_LONGEST_PATH = 1024
_DECODINGS = 4
_DRIVE = re.compile(r"[A-Za-z]:")
_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in "123456789¹²³"}
)


def split_note_path(text: str) -> tuple[str, ...]:
    """The segments of a note's path; `.md` is added where it was left out."""
    parts = _split(text, "note")
    leaf = parts[-1]
    if not leaf.endswith(NOTE_SUFFIX):
        parts = _split(f"{text}{NOTE_SUFFIX}", "note")
    return parts


def split_folder_path(text: str) -> tuple[str, ...]:
    """The segments of a folder's path; the vault itself is ``""``, ``"."`` or ``"/"``."""
    if text in ("", ".", "/", "./"):
        return ()
    return _split(text.removesuffix("/"), "folder")


def is_hidden(name: str) -> bool:
    """Whether an entry of a folder is none of our business: settings, trash, version control."""
    return name.startswith(".")


def fold_name(name: str) -> str:
    """One key for all spellings of a name that some file system takes for the same."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def note_uri_path(path: str) -> str:
    """A path as it stands in a URI."""
    return quote(path, safe="/!$&'()*+,;=:@-._~")


def _split(text: str, what: str) -> tuple[str, ...]:
    if not text or text.isspace():
        raise ToolError(f"The path of the {what} is empty; expected something like Folder/Name.md")
    if len(text) > _LONGEST_PATH:
        raise ToolError(
            f"The path has {len(text)} characters, the most is {_LONGEST_PATH}: {text[:80]!r}..."
        )
    _refuse_climbing(text, text)
    decoded = text
    for _ in range(_DECODINGS):
        again = unquote(decoded, errors="replace")
        if again == decoded:
            break
        decoded = again
        _refuse_climbing(decoded, text)
    parts = tuple(text.split("/"))
    for part in parts:
        _check_segment(part, text)
    return parts


def _refuse_climbing(decoded: str, given: str) -> None:
    if any(ord(character) < 32 or character == "\x7f" for character in decoded):
        raise _refusal(given, "control characters are not allowed")
    if "\\" in decoded:
        raise _refusal(given, "separate folders with /, not with a backslash")
    if decoded.startswith(("/", "~")) or _DRIVE.match(decoded):
        raise _refusal(given, "it must be relative to the vault")
    if any(part.strip(" ") in (".", "..") for part in decoded.split("/")):
        raise _refusal(given, "'.' and '..' are not allowed")


def _check_segment(part: str, given: str) -> None:
    if not part:
        raise _refusal(given, "it has an empty segment")
    if is_hidden(part):
        raise _refusal(given, f"{part!r} begins with a dot, and such files are not notes")
    if part.endswith((".", " ")) or part.startswith(" "):
        raise _refusal(given, f"{part!r} begins or ends with a blank or ends with a dot")
    if part.partition(".")[0].rstrip(" ").lower() in _RESERVED:
        raise _refusal(given, f"{part!r} is the name of a device on Windows")
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        raise _refusal(given, "it is not valid Unicode") from None
    if size > _LONGEST_NAME:
        raise _refusal(given, f"a name has at most {_LONGEST_NAME} bytes, this one has {size}")


def _refusal(given: str, reason: str) -> ToolError:
    shown = given.encode("utf-8", "backslashreplace").decode()
    return ToolError(f"The path {shown[:200]!r} is refused: {reason}")
