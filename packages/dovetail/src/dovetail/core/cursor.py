"""Pagination cursors: a position in a list, made opaque and checked.

A cursor is base64url, without padding, of the position as a varint and of a short keyed check
over position and list. The check catches what clients do by mistake, such as a cursor of another
list, of another server or cut in half. It is no access control: a cursor grants nothing, and
whoever holds the salt can make one. A list that its author pages has cursors of the author's own,
any text: they travel the same way, behind the number of the list (`encode_text_cursor`). The module
must not know lists, pages or sessions.
"""

from __future__ import annotations

import base64
import hmac
from hashlib import blake2s
from typing import Final

from dovetail.errors import InvalidParamsError, UsageError

__all__ = ["decode_cursor", "decode_text_cursor", "encode_cursor", "encode_text_cursor"]

# 48 bits: no guess hits in practice, and a whole cursor is still only ten characters long.
_CHECK_SIZE: Final = 6
_PURPOSE: Final = b"dvcursor"
# Nine varint bytes, the range of SQLite's rowid: any list a server could hold.
_POSITION_LIMIT: Final = 2**63
_LONGEST_CURSOR: Final = 20
# Of an author's own: the longest path that systems allow fits in, and a request stays small.
_LONGEST_TEXT: Final = 8192


def encode_cursor(kind: str, position: int, *, salt: str) -> str:
    """The cursor for a position in the list `kind`.

    Processes that serve the same list behind one address need the same salt.
    """
    if not 0 <= position < _POSITION_LIMIT:
        raise UsageError(f"A cursor holds a position from 0 to 2**63 - 1, not {position}")
    varint = _to_varint(position)
    # The varint ends itself, so that varint and kind cannot be read as another pair.
    check = blake2s(
        varint + kind.encode(), key=_key_from(salt), digest_size=_CHECK_SIZE, person=_PURPOSE
    )
    return base64.urlsafe_b64encode(varint + check.digest()).rstrip(b"=").decode()


def decode_cursor(text: str, kind: str, *, salt: str) -> int:
    """The position in the cursor.

    Raises:
        InvalidParamsError: it was not made by `encode_cursor` for this kind and salt.
    """
    position = _claimed_position(text)
    # Made again and compared as a whole: this refuses every second spelling of a position (unused
    # base64 bits, foreign characters, a padded varint) without a rule for each.
    if position is None or not hmac.compare_digest(encode_cursor(kind, position, salt=salt), text):
        raise InvalidParamsError(
            f"The cursor is not one of the list of {kind}s; start again without a cursor to get "
            "the first page"
        )
    return position


def encode_text_cursor(kind: str, number: int, text: str, *, salt: str) -> str:
    """The cursor for a place that `text` names in the part `number` of the list `kind`."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _LONGEST_TEXT:
        raise UsageError(
            f"A cursor holds up to {_LONGEST_TEXT:,} bytes of text, not {len(data):,}: "
            f"{text[:50]!r}... Keep what it stands for and send a key"
        )
    payload = _to_varint(number) + data
    # The zero keeps it apart from the cursor of a position, whatever the text.
    check = blake2s(
        payload + b"\0" + kind.encode(),
        key=_key_from(salt),
        digest_size=_CHECK_SIZE,
        person=_PURPOSE,
    )
    return base64.urlsafe_b64encode(payload + check.digest()).rstrip(b"=").decode()


def decode_text_cursor(cursor: str, kind: str, *, salt: str) -> tuple[int, str] | None:
    """Number and text in the cursor; None where `encode_text_cursor` did not make it."""
    if len(cursor) > 2 * _LONGEST_TEXT or not cursor.isascii():
        return None
    try:
        payload = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))[:-_CHECK_SIZE]
        size = next(place for place, byte in enumerate(payload, 1) if byte < 0x80)
        text = payload[size:].decode("utf-8", "surrogatepass")
    except (ValueError, StopIteration):
        return None
    number = _from_varint(payload[:size])
    if len(payload) - size > _LONGEST_TEXT or number >= _POSITION_LIMIT:
        return None
    if not hmac.compare_digest(encode_text_cursor(kind, number, text, salt=salt), cursor):
        return None
    return number, text


def _key_from(salt: str) -> bytes:
    # A BLAKE2s key has at most 32 bytes, a salt any length.
    return blake2s(salt.encode(), person=_PURPOSE).digest()


def _to_varint(number: int) -> bytes:
    """LEB128, as in Protocol Buffers: seven bits per byte, the lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _from_varint(data: bytes) -> int:
    return sum((byte & 0x7F) << 7 * index for index, byte in enumerate(data))


def _claimed_position(text: str) -> int | None:
    if len(text) > _LONGEST_CURSOR or not text.isascii():
        return None
    try:
        varint = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))[:-_CHECK_SIZE]
    except ValueError:
        return None
    position = _from_varint(varint)
    return position if position < _POSITION_LIMIT else None
