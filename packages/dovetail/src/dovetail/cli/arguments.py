"""Parses `key=value` arguments from the command line, according to a tool's input schema.

    key=value    converted to the type in the schema; a string by default
    key:=JSON    JSON, whatever the schema says
    key=@file    the text of a file, converted like any other value; in base64 for binary data

A repeated key makes a list if the schema allows one.
"""

from __future__ import annotations

import base64
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from dovetail.cli.failures import WRONG_USAGE, Failure
from dovetail.errors import UsageError
from dovetail.schema import choices, resolve, variants
from dovetail.spec.models import Prompt, Tool
from dovetail.wire import codec

__all__ = [
    "find_named",
    "parse_arguments",
    "parse_object",
    "parse_value",
    "split_pair",
]

_PAIR = re.compile(r"(?P<key>[^=:]+)(?P<sign>:=|=)(?P<value>.*)", re.DOTALL)
_BOOLEANS = {"true": True, "false": False}
# Unions in unions are followed down to this depth; a schema may contain itself.
_MAX_UNIONS = 8
_SCALARS = ("integer", "number", "boolean", "null")


def parse_arguments(
    pairs: Sequence[str], schema: Mapping[str, Any], owner: str = "tool"
) -> dict[str, Any]:
    """The arguments for a tool or a prompt; raises UsageError that names the invalid one."""
    arguments: dict[str, Any] = {}
    for pair in pairs:
        match = _PAIR.fullmatch(pair)
        if match is None:
            raise UsageError(f"{pair!r} is not an argument; expected KEY=VALUE or KEY:=JSON")
        key = match["key"]
        wanted = _find_property(key, schema, owner)
        if match["sign"] == ":=":
            value = _parse_json(match["value"], key)
        else:
            text = _read_text(match["value"], key, is_base64=_is_base64(wanted, schema))
            value = parse_value(text, key, wanted, schema)
        if key in arguments:
            value = _extend(arguments[key], value, key, wanted, schema)
        arguments[key] = value
    return arguments


def parse_object(text: str) -> dict[str, Any]:
    """The value of --args; raises UsageError if it is not a JSON object."""
    value = _parse_json(text, "--args")
    if not isinstance(value, dict):
        raise UsageError(f"--args must be a JSON object, got {text}")
    return value


def split_pair(text: str, what: str) -> tuple[str, str]:
    """The key and the text of `KEY=TEXT`; raises UsageError."""
    key, sign, value = text.partition("=")
    if not key or not sign:
        raise UsageError(f"{what}: expected KEY=VALUE, got {text!r}")
    return key, value


def _find_property(key: str, schema: Mapping[str, Any], owner: str) -> Mapping[str, Any]:
    properties = schema.get("properties") or {}
    if key in properties:
        found = properties[key]
        return found if isinstance(found, Mapping) else {}
    if schema.get("additionalProperties") is False:
        close = difflib.get_close_matches(key, properties, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        known = ", ".join(properties) or "none"
        raise UsageError(f"The {owner} has no argument {key!r}{hint} Its arguments: {known}")
    return {}


def _is_base64(wanted: Any, schema: Mapping[str, Any], depth: int = 0) -> bool:
    """Whether a schema asks for binary data."""
    wanted = resolve(wanted, schema)
    if wanted.get("contentEncoding") == "base64":
        return True
    inner = [branch for _, branch in variants(wanted, schema)] if depth < _MAX_UNIONS else []
    items = wanted.get("items")
    return any(
        _is_base64(each, schema, depth + 1)
        for each in [*inner, *([items] if depth < _MAX_UNIONS and items is not None else [])]
    )


def _read_text(value: str, key: str, *, is_base64: bool) -> str:
    if not value.startswith("@"):
        return value
    try:
        data = Path(value[1:]).read_bytes()
        return base64.b64encode(data).decode() if is_base64 else data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{key}: cannot read {value[1:]!r}: {error}") from None


def parse_value(text: str, key: str, wanted: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """The value of a text for a schema `wanted` inside `schema`; raises UsageError."""
    types = _allowed_types(wanted, schema)
    if not types or "string" in types:
        return text
    for kind in (kind for kind in _SCALARS if kind in types):
        value = _parse_scalar(text, kind)
        if value is not _NO_MATCH:
            return value
    value = _parse_compound(text, types)
    if value is not _NO_MATCH:
        return value
    if "array" in types:
        # A list may be given one item at a time.
        items = resolve(wanted, schema).get("items") or {}
        return [parse_value(text, key, items, schema)]
    raise UsageError(f"{key}: expected {' or '.join(sorted(types))}, got {text!r}")


_NO_MATCH: Any = object()


def _parse_compound(text: str, types: set[str]) -> Any:
    try:
        value = codec.decode_json(text.encode())
    except msgspec.ValidationError:
        return _NO_MATCH
    return value if isinstance(value, list | dict) and _type_of(value) in types else _NO_MATCH


def _parse_scalar(text: str, kind: str) -> Any:
    if kind == "null":
        return None if text == "null" else _NO_MATCH
    if kind == "boolean":
        return _BOOLEANS.get(text.lower(), _NO_MATCH)
    try:
        return int(text) if kind == "integer" else _plain(float(text))
    except (ValueError, OverflowError):
        return _NO_MATCH


def _plain(number: float) -> float | int:
    """3 instead of 3.0, so that the number is sent as the user typed it."""
    if number in (float("inf"), float("-inf")) or number != number:
        raise ValueError("not a JSON number")
    return int(number) if number.is_integer() else number


def _parse_json(text: str, key: str) -> Any:
    try:
        return codec.decode_json(text.encode())
    except msgspec.ValidationError as error:
        raise UsageError(f"{key}: {text!r} is not valid JSON: {_locate(text, error)}") from None


def _locate(text: str, error: Exception) -> str:
    """What is wrong and where; the decoder that is used does not always say."""
    try:
        json.loads(text)
    except json.JSONDecodeError as found:
        if not text[found.pos :].strip():
            return "it ends too early; is a bracket or a quote missing?"
        return f"{found.msg} at character {found.pos + 1}, {text[found.pos : found.pos + 20]!r}"
    return str(error)


def _extend(
    before: Any, value: Any, key: str, wanted: Mapping[str, Any], schema: Mapping[str, Any]
) -> Any:
    if "array" not in _allowed_types(wanted, schema):
        raise UsageError(f"{key}: given twice, but the tool does not accept a list")
    return [*before, *value] if isinstance(value, list) else [*before, value]


def _allowed_types(wanted: Any, schema: Mapping[str, Any], depth: int = 0) -> set[str]:
    """The JSON types that a schema allows; empty if it does not restrict them."""
    wanted = resolve(wanted, schema)
    given = wanted.get("type")
    if isinstance(given, str):
        return {given}
    if isinstance(given, list):
        return {str(kind) for kind in given}
    types = {_type_of(choice.value) for choice in choices(wanted, schema)}
    for _, branch in variants(wanted, schema) if depth < _MAX_UNIONS else ():
        types |= _allowed_types(branch, schema, depth + 1)
    return types


def _type_of(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "object" if isinstance(value, dict) else "array")


T = TypeVar("T", Tool, Prompt, Tool | Prompt)


def find_named(name: str, kind: str, entries: Iterable[T], hint: str = "") -> T:
    """The first entry with this name; raises Failure that suggests another one."""
    named: dict[str, T] = {}
    for entry in entries:
        named.setdefault(entry.name, entry)
    if name in named:
        return named[name]
    close = difflib.get_close_matches(name, named, n=1)
    guess = f"; did you mean {close[0]!r}?" if close else "."
    plural = " and ".join(f"{word}s" for word in kind.split(" or "))
    known = f"Available {plural}: {', '.join(named) or 'none'}"
    raise Failure(f"The server has no {kind} {name!r}{guess} {known}{hint}", WRONG_USAGE)
