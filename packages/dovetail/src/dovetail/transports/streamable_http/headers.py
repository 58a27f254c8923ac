"""Header values that mirror the body (2026-07-28 basic/transports/streamable-http).

Pure functions that decode a header value and compare it with the body. Values that are not
plain ASCII are encoded in base64.
"""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import Any

from dovetail.errors import HeaderMismatchError

__all__ = ["check_mirror", "read_value"]

_PREFIX = b"=?base64?"
_SUFFIX = b"?="
_WHITESPACE = b" \t"
# The JSON number syntax; Decimal accepts more than that.
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
# RFC 9110 field values: visible ASCII, space and tab
_VISIBLE = frozenset(range(0x20, 0x7F)) | {0x09}


def read_value(name: str, raw: bytes) -> str:
    """Decode a header value; raises HeaderMismatchError if it is not valid."""
    # Surrounding whitespace is not part of a value, but not every HTTP parser strips it.
    raw = raw.strip(_WHITESPACE)
    if not _VISIBLE.issuperset(raw):
        # http2.header.invalid-chars
        raise HeaderMismatchError(
            f"Header mismatch: {name} contains characters that are not allowed in a header"
        )
    if raw.startswith(_PREFIX) and raw.endswith(_SUFFIX) and len(raw) >= len(_PREFIX + _SUFFIX):
        # http2.header.name-base64: decoded strictly before it is compared
        try:
            return base64.b64decode(raw[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise HeaderMismatchError(
                f"Header mismatch: {name} is not valid base64 of UTF-8 text"
            ) from None
    return raw.decode()


def check_mirror(name: str, raw: bytes | None, value: Any) -> None:
    """Raise HeaderMismatchError unless the header has the same value as the body.

    `value` is the value in the body; None means that no header is expected.
    """
    if value is None:
        return
    if _is_identical(raw, value):
        return
    if raw is None:
        raise HeaderMismatchError(f"Header mismatch: {name} is missing; the body has {value!r}")
    given = read_value(name, raw)
    if not _is_equal(given, value):
        raise HeaderMismatchError(f"Header mismatch: {name} is {given!r}, the body has {value!r}")


def _is_identical(raw: bytes | None, value: Any) -> bool:
    """Whether the header equals the value byte for byte and needs no decoding."""
    return (
        isinstance(value, str)
        and value.encode() == raw
        and value.isascii()
        and value.isprintable()
        and raw[:2] != _PREFIX[:2]
        and value[:1] != " " != value[-1:]
    )


def _is_equal(given: str, value: Any) -> bool:
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, int | float):
        # http2.param.integer-numeric: 42.0 and 42 are the same; large ones are not rounded
        return bool(_NUMBER.fullmatch(given)) and Decimal(given) == value
    return bool(given == value)
