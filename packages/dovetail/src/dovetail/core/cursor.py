"""Pagination cursors: an opaque position in a list, with a checksum.

A cursor is the unpadded base64url of the position (a varint) and a short keyed checksum over
position and list. The checksum detects mistakes of clients, such as a cursor of another list, of
another server, or a truncated one. It is not access control: a cursor grants nothing, and anyone
who knows the salt can make one. Cursors of resource lists, which may be any string, are encoded
the same way behind the number of the list (`encode_text_cursor`).
"""

from __future__ import annotations

import base64
import hmac
from hashlib import blake2s
from typing import Final

from dovetail.errors import InvalidParamsError, UsageError

__all__ = ["decode_cursor", "decode_text_cursor", "encode_cursor", "encode_text_cursor"]

# 48 bits are not guessed by accident, and a typical cursor has only ten characters.
_CHECK_SIZE: Final = 6
_PURPOSE: Final = b"dvcursor"
# Nine varint bytes, the range of a rowid in SQLite.
_POSITION_LIMIT: Final = 2**63
_LONGEST_CURSOR: Final = 20
# For cursors of resource lists: the longest file path fits, and requests stay small.
_LONGEST_TEXT: Final = 8192


def encode_cursor(kind: str, position: int, *, salt: str) -> str:
    """Return the cursor for a position in the list `kind`.

    Processes that serve the same list behind one address need the same salt.
    """
    if not 0 <= position < _POSITION_LIMIT:
        raise UsageError(f"a cursor position is from 0 to 2**63 - 1, got {position}")
    varint = _to_varint(position)
    # A varint marks its own end, so varint and kind cannot be read as another pair.
    check = blake2s(
        varint + kind.encode(), key=_key_from(salt), digest_size=_CHECK_SIZE, person=_PURPOSE
    )
    return base64.urlsafe_b64encode(varint + check.digest()).rstrip(b"=").decode()


def decode_cursor(text: str, kind: str, *, salt: str) -> int:
    """Return the position in the cursor.

    Raises:
        InvalidParamsError: it was not made by `encode_cursor` for this kind and salt.
    """
    position = _claimed_position(text)
    # Encoding again and comparing rejects every non-canonical cursor (unused base64 bits, other
    # characters, a padded varint).
    if position is None or not hmac.compare_digest(encode_cursor(kind, position, salt=salt), text):
        raise InvalidParamsError(
            f"The cursor is not one of the list of {kind}s; start again without a cursor to get "
            "the first page"
        )
    return position


def encode_text_cursor(kind: str, number: int, text: str, *, salt: str) -> str:
    """Return the cursor for `text` in resource list `number` of the list `kind`."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > _LONGEST_TEXT:
        raise UsageError(
            f"a cursor has up to {_LONGEST_TEXT:,} bytes of text, got {len(data):,}: "
            f"{text[:50]!r}...; store the state on the server and use a key as the cursor"
        )
    payload = _to_varint(number) + data
    # The zero byte distinguishes it from the cursor of a position.
    check = blake2s(
        payload + b"\0" + kind.encode(),
        key=_key_from(salt),
        digest_size=_CHECK_SIZE,
        person=_PURPOSE,
    )
    return base64.urlsafe_b64encode(payload + check.digest()).rstrip(b"=").decode()


def decode_text_cursor(cursor: str, kind: str, *, salt: str) -> tuple[int, str] | None:
    """Return number and text of a cursor, None if `encode_text_cursor` did not make it."""
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
