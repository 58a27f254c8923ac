"""Detects the type of uploaded files from their first bytes, not from their names."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from dovetail import ToolError

__all__ = ["MAX_BYTES", "MAX_TOTAL_BYTES", "Media", "identify", "read_data_uri"]

MAX_BYTES = 20_000_000
# For all assets together.
MAX_TOTAL_BYTES = 2_000_000_000

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?((?:;[\w.=+-]+)*),", re.ASCII)

# First bytes -> MIME type and kind of asset; the first match wins.
_SIGNATURES: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), mime, kind)
    for pattern, mime, kind in (
        (rb"\x89PNG\r\n\x1a\n", "image/png", "IMAGE"),
        (rb"\xff\xd8\xff", "image/jpeg", "IMAGE"),
        (rb"GIF8[79]a", "image/gif", "IMAGE"),
        (rb"RIFF....WEBP", "image/webp", "IMAGE"),
        (rb"\x00\x01\x00\x00.{8}", "font/ttf", "FONT"),
        (rb"true", "font/ttf", "FONT"),
        (rb"OTTO", "font/otf", "FONT"),
        (rb"ttcf", "font/collection", "FONT"),
        (rb"wOFF", "font/woff", "FONT"),
        (rb"wOF2", "font/woff2", "FONT"),
        (rb"....ftypM4A", "audio/mp4", "AUDIO"),
        (rb"....ftyp", "video/mp4", "VIDEO"),
        (rb"\x1a\x45\xdf\xa3", "video/webm", "VIDEO"),
        (rb"ID3|\xff[\xfb\xf3\xf2]", "audio/mpeg", "AUDIO"),
        (rb"RIFF....WAVE", "audio/wav", "AUDIO"),
        (rb"OggS", "audio/ogg", "AUDIO"),
        (rb"fLaC", "audio/flac", "AUDIO"),
        (
            rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!DOCTYPE svg|svg)",
            "image/svg+xml",
            "IMAGE",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Media:
    """The type of a file."""

    mime_type: str
    kind: str


def identify(data: bytes, wanted: str, name: str) -> Media:
    """Return the type of a file; raises ToolError if it is not of the wanted kind."""
    if not data:
        raise ToolError(f"{name!r} is empty")
    head = data[:4_096].removeprefix(b"\xef\xbb\xbf")
    for pattern, mime, kind in _SIGNATURES:
        if pattern.match(head):
            found = Media(mime, kind)
            break
    else:
        found = Media("application/octet-stream", "OTHER")
    if wanted not in (found.kind, "OTHER"):
        raise ToolError(
            f"{name!r} is not a valid {wanted}, it is {found.mime_type}. IMAGE takes PNG, JPEG, "
            "WebP, GIF and SVG; FONT takes TTF and OTF"
        )
    return Media(found.mime_type, wanted)


def read_data_uri(uri: str) -> bytes:
    """Return the bytes of a data: URI."""
    found = _DATA_URI.match(uri)
    if found is None:
        raise ToolError(
            f"{uri[:60]!r} is not a data URI; expected for example data:image/png;base64,iVBORw0..."
        )
    body = uri[found.end() :]
    if ";base64" not in found[2]:
        return unquote_to_bytes(body)
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True)
    except binascii.Error as error:
        raise ToolError(f"The data URI is not valid base64: {error}") from None
