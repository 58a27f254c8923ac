"""What the modules use that `dovetail generate client` writes.

Arguments and results are dataclasses. A field whose JSON name is not its Python name has it in its
metadata under `name`. A field with the default None or `UNSET` is left out of a request unless it
is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import UNSET, UnsetType

from dovetail.client import CallResult, Client
from dovetail.errors import PeerError

__all__ = ["UNSET", "UnsetType", "call_tool"]

_MAX_SHOWN = 60


async def call_tool(client: Client, name: str, arguments: Any, result_type: Any) -> Any:
    """Call a tool with a dataclass as arguments, and return its result as `result_type`.

    Raises ToolError if the tool fails, and PeerError if its result does not match the type.
    `CallResult` as the type returns the result of a tool without structured data.
    """
    members = {} if arguments is None else _encode(arguments)
    result = (await client.call(name, members)).raise_for_error()
    if result_type is CallResult:
        return result
    if not result.has_structured:
        raise PeerError(f"The result of {name!r} has no structured content")
    try:
        return _decode(result_type, _unwrap(result.structured, result_type), "result")
    except _MismatchError as error:
        raise PeerError(f"The tool {name!r} has changed, generate again: {error}") from None


class _MismatchError(Exception):
    """A value does not have its type."""


def _unwrap(value: Any, type_: Any) -> Any:
    """The value that a tool returned; depending on the revision, only objects can be results."""
    is_object = type_ is dict or get_origin(type_) is dict
    is_object = is_object or (_has_fields(type_) and "result" in _wire_fields(type_))
    is_wrapped = isinstance(value, dict) and list(value) == ["result"]
    return value["result"] if is_wrapped and not is_object else value


def _has_fields(value: Any) -> bool:
    # A function of its own, because mypy takes dataclasses for unhashable.
    return is_dataclass(value)


# -- encoding -------------------------------------------------------------------------------


def _encode(value: Any) -> Any:
    if _has_fields(value):
        type_: Any = type(value)
        return {
            name: _encode(given)
            for name, (field, _) in _wire_fields(type_).items()
            if not _is_omitted(field, given := getattr(value, field.name))
        }
    if isinstance(value, Mapping):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    return value


def _is_omitted(field: Field[Any], value: Any) -> bool:
    return value is UNSET or (value is None and field.default is None)


@cache
def _wire_fields(type_: Any) -> Mapping[str, tuple[Field[Any], Any]]:
    """The fields of a dataclass and their types, by their JSON names."""
    hints = get_type_hints(type_)
    return {
        field.metadata.get("name", field.name): (field, hints[field.name])
        for field in fields(type_)
    }


# -- decoding -------------------------------------------------------------------------------


def _decode(type_: Any, value: Any, path: str) -> Any:
    origin = get_origin(type_)
    if type_ is Any:
        return value
    if origin in (Union, UnionType):
        return _decode_union(get_args(type_), value, path)
    if origin is Literal:
        # JSON's true is not 1.
        if any(value == each and type(value) is type(each) for each in get_args(type_)):
            return value
    elif _has_fields(type_):
        if isinstance(value, dict):
            return _decode_dataclass(type_, value, path)
    elif origin is list:
        if isinstance(value, list):
            [item_type] = get_args(type_)
            return [_decode(item_type, item, f"{path}[{i}]") for i, item in enumerate(value)]
    elif origin is dict:
        if isinstance(value, dict):
            _, item_type = get_args(type_)
            return {key: _decode(item_type, item, f"{path}.{key}") for key, item in value.items()}
    elif _is_scalar(type_, value):
        return type_(value) if value is not None else None
    raise _MismatchError(f"{path}: expected {_describe(type_)}, got {repr(value)[:_MAX_SHOWN]}")


def _is_scalar(type_: Any, value: Any) -> bool:
    if type_ in (None, NoneType):
        return value is None
    if isinstance(value, bool) or type_ is bool:
        return type_ is bool and isinstance(value, bool)
    if type_ is int:
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if type_ is float:
        return isinstance(value, int | float)
    return type_ is str and isinstance(value, str)


def _decode_union(types: tuple[Any, ...], value: Any, path: str) -> Any:
    """The first type that fits; of several dataclasses, the one that knows most members."""
    problems = []
    for type_ in sorted(types, key=lambda each: _count_unknown(each, value)):
        if type_ is UnsetType:
            continue
        try:
            return _decode(type_, value, path)
        except _MismatchError as error:
            problems.append(str(error))
    # The problem deepest inside the value is the most specific one.
    raise _MismatchError(max(problems, key=lambda text: len(text.partition(": ")[0])))


def _count_unknown(type_: Any, value: Any) -> int:
    if not isinstance(value, dict) or not _has_fields(type_):
        return 0
    return len(value.keys() - _wire_fields(type_).keys())


def _decode_dataclass(type_: Any, value: Mapping[str, Any], path: str) -> Any:
    members = _wire_fields(type_)
    missing = [
        name
        for name, (field, _) in members.items()
        if field.default is MISSING and name not in value
    ]
    if missing:
        raise _MismatchError(f"{path}: {', '.join(missing)} is missing")
    given = {
        field.name: _decode(hint, value[name], f"{path}.{name}")
        for name, (field, hint) in members.items()
        if name in value
    }
    return type_(**given)


def _describe(type_: Any) -> str:
    return type_.__name__ if isinstance(type_, type) else str(type_).replace("typing.", "")
