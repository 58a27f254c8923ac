"""Defaults of dataclasses that msgspec neither stores nor encodes.

A simple default of a dataclass without slots is an attribute of its class. The decoder of msgspec
does not store it in the object, and its encoder writes only what is stored, so the field would be
missing in the JSON of a decoded object. `store_defaults` stores the value that the attribute has.
"""

from __future__ import annotations

import dataclasses
import functools
from types import MemberDescriptorType, NoneType
from typing import Any

import msgspec

__all__ = ["has_unstored_defaults", "store_defaults"]

_SCALARS = frozenset({bool, bytes, float, int, str, NoneType})


def has_unstored_defaults(cls: type) -> bool:
    """Whether a decoded object of this class may lack defaults."""
    return bool(_fields_of(cls)[0])


def store_defaults(value: Any) -> None:
    """Store the missing defaults of all dataclasses inside a value in the objects themselves."""
    seen: dict[int, Any] = {}
    waiting = [value]
    while waiting:
        item = waiting.pop()
        cls: type = type(item)
        if cls in _SCALARS or id(item) in seen:
            continue
        seen[id(item)] = item
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
        else:
            unstored, names = _fields_of(cls)
            for name in unstored:
                if name not in item.__dict__:
                    item.__dict__[name] = getattr(item, name)
            waiting += [getattr(item, name, None) for name in names]


@functools.lru_cache(maxsize=1024)
def _fields_of(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields whose defaults may not be stored, and all fields."""
    if issubclass(cls, msgspec.Struct):
        return (), cls.__struct_fields__
    if not dataclasses.is_dataclass(cls):
        return (), tuple(field.name for field in getattr(cls, "__attrs_attrs__", ()))
    names = tuple(field.name for field in dataclasses.fields(cls))
    return tuple(name for name in names if _is_in_class_only(cls, name)), names


def _is_in_class_only(cls: type, name: str) -> bool:
    if not cls.__dictoffset__ or not hasattr(cls, name):
        return False
    return not isinstance(getattr(cls, name), MemberDescriptorType)  # the place of a slot
