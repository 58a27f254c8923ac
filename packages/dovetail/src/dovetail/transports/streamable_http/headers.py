"""Header values that mirror the body (2026-07-28 basic/transports/streamable-http).

Pure functions: what a header says, and whether it says the same as the body. Values may be
wrapped in base64 where plain ASCII cannot carry them.
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
_BLANKS = b" \t"
# As JSON writes numbers; Decimal reads more than that.
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,4})?")
# RFC 9110 field values: visible ASCII, space and tab
_VISIBLE = frozenset(range(0x20, 0x7F)) | {0x09}


def read_value(name: str, raw: bytes) -> str:
    """The text a header carries; raises HeaderMismatchError for one that carries none."""
    # Surrounding blanks are no part of a value, but not every HTTP parser takes them off.
    raw = raw.strip(_BLANKS)
    if not _VISIBLE.issuperset(raw):
        # http2.header.invalid-chars
        raise HeaderMismatchError(f"Header mismatch: {name} holds characters no header may hold")
    if raw.startswith(_PREFIX) and raw.endswith(_SUFFIX) and len(raw) >= len(_PREFIX + _SUFFIX):
        # http2.header.name-base64: decoded before it is compared, and strictly
        try:
            return base64.b64decode(raw[len(_PREFIX) : -len(_SUFFIX)], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise HeaderMismatchError(
                f"Header mismatch: {name} is wrapped in base64 that cannot be read"
            ) from None
    return raw.decode()


def check_mirror(name: str, raw: bytes | None, value: Any) -> None:
    """Raise HeaderMismatchError unless the header says what the body says.

    `value` is the body's; None means that it has none and no header is expected.
    """
    if value is None:
        return
    if _is_plainly(raw, value):
        return
    if raw is None:
        raise HeaderMismatchError(f"Header mismatch: {name} is missing; the body says {value!r}")
    given = read_value(name, raw)
    if not _says(given, value):
        raise HeaderMismatchError(
            f"Header mismatch: {name} says {given!r}, the body says {value!r}"
        )


def _is_plainly(raw: bytes | None, value: Any) -> bool:
    """Whether the header is the value letter for letter, with nothing to unwrap or to doubt."""
    return (
        isinstance(value, str)
        and value.encode() == raw
        and value.isascii()
        and value.isprintable()
        and raw[:2] != _PREFIX[:2]
        and value[:1] != " " != value[-1:]
    )


def _says(given: str, value: Any) -> bool:
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, int | float):
        # http2.param.integer-numeric: 42.0 and 42 are the same; large ones are not rounded
        return bool(_NUMBER.fullmatch(given)) and Decimal(given) == value
    return bool(given == value)
