"""Python names for the names of a server, which may be any text."""

from __future__ import annotations

import keyword
import re
import unicodedata
from collections.abc import Collection

__all__ = ["RESERVED", "class_name", "identifier", "literal", "make_unique"]

# What generated modules import and use; a tool `list` must not replace the builtin.
RESERVED = frozenset(
    {"Any", "CallResult", "Client", "Literal", "UNSET", "UnsetType", "annotations", "call_tool"}
    | {"bool", "dataclass", "dict", "field", "float", "int", "list", "str"}
)


def identifier(text: str, fallback: str) -> str:
    """An identifier similar to a name: `get-sum` becomes `get_sum`, `class` becomes `class_`."""
    plain = unicodedata.normalize("NFKC", text)
    # Names with two leading underscores would be changed inside a class.
    name = re.sub(r"\W", "_", plain).lstrip("_") or fallback
    if not name.isidentifier():
        name = f"{fallback}_{re.sub(r'[^A-Za-z0-9_]', '_', name)}"
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def class_name(text: str) -> str:
    """A class name similar to a name: `get-sum` becomes `GetSum`."""
    words = re.split(r"[\W_]+", unicodedata.normalize("NFKC", text))
    return identifier("".join(word[:1].upper() + word[1:] for word in words), "Type")


def make_unique(name: str, taken: Collection[str]) -> str:
    """The name, with a number if it is taken."""
    number, unique = 1, name
    while unique in taken:
        number += 1
        unique = f"{name}_{number}"
    return unique


def literal(value: str | int | bool) -> str:
    """A value as source text, in double quotes if that needs no escapes."""
    text = repr(value)
    if isinstance(value, str) and not set("'\"") & set(value):
        return f'"{text[1:-1]}"'
    return text
