"""Defaults of parameters and fields: their own copy for each call, and all of them in results.

Python evaluates a default once, so a call that changes a mutable one would change it for the calls
of all clients after it. Parameters get a copy, and so do fields of decoded objects, of which
msgspec only copies empty collections.

A simple default of a dataclass without slots is an attribute of its class. The decoder of msgspec
does not store it in the object, and its encoder writes only what is stored, so the field would be
missing in the JSON of a decoded object. `store_defaults` stores the value that the attribute has.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import enum
import functools
import re
import types
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from dovetail.core.schema.pydantic_types import is_path_type
from dovetail.errors import UsageError

__all__ = [
    "copy_maker",
    "decoded_with_defaults",
    "is_mutable",
    "needs_defaults",
    "refuse_shared_defaults",
    "store_defaults",
]

_SCALARS = frozenset({bool, bytes, float, int, str, types.NoneType})
_IMMUTABLE = (
    *(bool, bytes, complex, float, int, range, str, types.NoneType, types.EllipsisType),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, Decimal, uuid.UUID),
    *(enum.Enum, re.Pattern, type, types.FunctionType, types.BuiltinFunctionType),
    *(types.ModuleType, types.GenericAlias, types.UnionType),
)


def is_mutable(value: Any) -> bool:
    """Whether a default may be changed by the function that gets it."""
    cls: type = type(value)
    if isinstance(value, _IMMUTABLE) or value is msgspec.UNSET or is_path_type(cls):
        return False
    if isinstance(value, tuple | frozenset):
        return any(map(is_mutable, value))
    fields = _fields_of(cls)
    if fields.is_frozen:
        return any(is_mutable(getattr(value, name, None)) for name in fields.names)
    # An object without state only stands for itself: `MISSING = object()`.
    has_state = isinstance(value, _MUTABLE) or fields.names or getattr(value, "__dict__", None)
    return bool(has_state or getattr(cls, "__slots__", None) or _has_c_state(cls))


_MUTABLE = (list, dict, set, bytearray)


def _has_c_state(cls: type) -> bool:
    """Whether a class of an extension module keeps something that Python does not show."""
    return cls.__basicsize__ > object.__basicsize__ and not cls.__dictoffset__


def copy_maker(default: Any, where: str) -> Callable[[], Any] | None:
    """Return a function that copies a default for one call, None if a copy is not needed.

    Raises UsageError, which begins with `where`, for a default that cannot be copied.
    """
    if not is_mutable(default):
        return None
    try:
        copy.deepcopy(default)
    except Exception as error:  # noqa: BLE001 - `__deepcopy__` and `__reduce__` are the author's
        raise UsageError(
            f"{where}: each call gets its own copy of the default, but {type(default).__name__} "
            f"cannot be copied ({error}); use None and make the value in the function, or read a "
            "value that calls share from a global, a dependency or the lifespan"
        ) from None
    return functools.partial(copy.deepcopy, default)


# -- fields of objects --------------------------------------------------------------------


class _Fields(NamedTuple):
    """The fields of a class."""

    names: tuple[str, ...] = ()
    # Whether objects cannot be changed, apart from the values of their fields.
    is_frozen: bool = False
    # Defaults that the decoder does not store, and mutable ones that it does not copy.
    unstored: tuple[str, ...] = ()
    shared: tuple[tuple[str, Any], ...] = ()


def refuse_shared_defaults(cls: type) -> None:
    """Raise TypeError for mutable defaults of which decoded objects cannot get a copy."""
    for name, default in getattr(cls, "_field_defaults", {}).items():
        if issubclass(cls, tuple) and is_mutable(default):
            raise TypeError(
                f"calls would share the default of {cls.__name__}.{name}, since a tuple cannot be "
                "changed; use an immutable one such as None or ()"
            )


def needs_defaults(cls: type) -> bool:
    """Whether decoded objects lack defaults or share mutable ones."""
    fields = _fields_of(cls)
    return bool(fields.unstored or fields.shared)


def decoded_with_defaults(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return a decoder whose objects have all defaults, and mutable ones for themselves."""

    def decode_all(raw: bytes) -> Any:
        value = decode(raw)
        _complete(value, copies=True)
        return value

    return decode_all


def store_defaults(value: Any) -> None:
    """Store the missing defaults of all dataclasses inside a value in the objects themselves."""
    if type(value) not in _SCALARS:
        _complete(value, copies=False)


def _complete(value: Any, *, copies: bool) -> None:
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
            names, _, unstored, shared = _fields_of(cls)
            if copies:
                for name, default in shared:
                    if getattr(item, name) is default:
                        _force(item, name, copy.deepcopy(default))
            for name in unstored:
                if name not in item.__dict__:
                    item.__dict__[name] = getattr(item, name)
            waiting += [getattr(item, name, None) for name in names]


def _force(item: Any, name: str, value: Any) -> None:
    if isinstance(item, msgspec.Struct):
        msgspec.structs.force_setattr(item, name, value)
    else:
        object.__setattr__(item, name, value)


@functools.lru_cache(maxsize=1024)
def _fields_of(cls: type) -> _Fields:
    if issubclass(cls, msgspec.Struct):
        defaults = {each.name: each.default for each in msgspec.structs.fields(cls)}
        return _described(cls, defaults, cls.__struct_config__.frozen)
    if dataclasses.is_dataclass(cls):
        defaults = {each.name: each.default for each in dataclasses.fields(cls)}
        return _described(cls, defaults, cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    defaults = {each.name: each.default for each in getattr(cls, "__attrs_attrs__", ())}
    return _described(cls, defaults, is_frozen=False)


def _described(cls: type, defaults: dict[str, Any], is_frozen: bool) -> _Fields:
    unstored = filter(functools.partial(_is_in_class_only, cls), defaults)
    shared = ((name, default) for name, default in defaults.items() if _is_shared(default))
    return _Fields(tuple(defaults), is_frozen, tuple(unstored), tuple(shared))


def _is_in_class_only(cls: type, name: str) -> bool:
    if not dataclasses.is_dataclass(cls) or not cls.__dictoffset__ or not hasattr(cls, name):
        return False
    return not isinstance(getattr(cls, name), types.MemberDescriptorType)  # the place of a slot


def _is_shared(default: Any) -> bool:
    is_factory = type(default).__name__ == "Factory" and hasattr(default, "takes_self")  # of attrs
    return not is_factory and is_mutable(default)
