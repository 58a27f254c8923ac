"""JSON values as text, as the page writes them: compact, and 1.0 as 1."""

from __future__ import annotations

from typing import Any

from dovetail.core.schema.json_values import integral_floats_to_ints
from dovetail.wire import codec

__all__ = ["json_of", "key_of", "listed", "text_of"]


def key_of(value: Any) -> bytes:
    """Equal for values that JSON Schema takes as equal: 1 and 1.0, but not 1 and true."""
    return codec.encode_canonical(integral_floats_to_ints(value))


def json_of(value: Any) -> str:
    """The value as JSON."""
    return codec.encode(integral_floats_to_ints(value)).decode()


def text_of(value: Any) -> str:
    """Strings as they are, everything else as JSON."""
    return value if isinstance(value, str) else json_of(value)


def listed(values: list[Any], most: int) -> str:
    """The first values, and how many there are if that is not all of them."""
    more = f", … ({len(values)})" if len(values) > most else ""
    return ", ".join(text_of(value) for value in values[:most]) + more
