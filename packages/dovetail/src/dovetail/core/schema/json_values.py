"""Read and write JSON values as plain Python objects, and find values that JSON cannot represent.

The typed decoders are the fast path; this module is for the slow path, which needs the JSON value
for error messages. Two kinds of values are valid JSON and still rejected here, because Python
cannot represent them: lone surrogates, which have no UTF-8, and numbers outside the range of a
double or with more digits than Python converts (RFC 8259, section 6, allows both limits).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from dovetail.errors import InvalidValueError, Problem

__all__ = [
    "PathStep",
    "encode_json",
    "format_path",
    "integral_floats_to_ints",
    "read_json",
    "real_path",
    "show",
    "too_deep",
]

type_names: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    dict: "object",
    type(None): "null",
}

PathStep = str | int
SHOWN_LENGTH = 80

_read = msgspec.json.Decoder().decode


def read_json(raw: bytes) -> Any:
    """Return JSON bytes as dicts, lists and scalars; raises InvalidValueError."""
    try:
        return _read(raw)
    except RecursionError:
        raise too_deep() from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidValueError([_why_unreadable(raw, error)]) from None


def too_deep() -> InvalidValueError:
    """Return the error for a value with more levels than a library reads."""
    return InvalidValueError([Problem("$", "deeper nesting", "less deeply nested JSON")])


def _why_unreadable(raw: bytes, error: Exception) -> Problem:
    # Arguments are msgspec.Raw, which decoders accept as bytes but which has no methods of bytes.
    text = bytes(raw).decode("utf-8", "replace")
    try:
        # The standard library accepts what msgspec rejects, so the place can be found.
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Problem("$", f"{shorten(text)} ({error})", "valid JSON")
    for path, leaf in _leaves(value):
        if isinstance(leaf, str) and _has_lone_surrogate(leaf):
            return _lone_surrogate(path, leaf)
        if isinstance(leaf, float) and not math.isfinite(leaf):
            return Problem(format_path(path), "a number beyond it", "a number that fits a double")
    return Problem("$", f"{shorten(text)} ({error})", "valid JSON")


def encode_json(value: Any, encode: Callable[[Any], bytes] = msgspec.json.encode) -> bytes:
    """Return the JSON bytes of a value; raises InvalidValueError, also for NaN and Infinity."""
    try:
        raw = encode(value)
    except UnicodeEncodeError as error:
        raise InvalidValueError([_lone_surrogate([], str(error.object))]) from None
    except RecursionError:
        raise too_deep() from None
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        given = f"{type(value).__name__} ({error})"
        raise InvalidValueError([Problem("$", given, "a value that JSON can represent")]) from None
    # NaN and Infinity are written as `null`, so without one there is nothing to find.
    if b"null" in raw:
        refuse_non_finite(value)
    return raw


def refuse_non_finite(value: Any) -> None:
    """Raise InvalidValueError if there is a NaN or Infinity anywhere in `value`."""
    plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_opaque)
    try:
        json.dumps(plain, allow_nan=False)  # much faster than checking every leaf in Python
    except ValueError:
        pass
    else:
        return
    problems = [
        Problem(format_path(path), str(leaf), "a finite number (JSON has no NaN or Infinity)")
        for path, leaf in _leaves(plain)
        if isinstance(leaf, float) and not math.isfinite(leaf)
    ]
    raise InvalidValueError(problems)


def _opaque(value: Any) -> Any:
    """Return the fields of objects of other libraries, if they can be dumped."""
    dump = getattr(value, "model_dump", None)
    return dump() if dump is not None else None


def _leaves(value: Any) -> Iterator[tuple[list[PathStep], Any]]:
    """Yield every scalar and every key of a JSON value with its path."""
    stack: list[tuple[list[PathStep], Any]] = [([], value)]
    while stack:
        path, item = stack.pop()
        if isinstance(item, dict):
            for key, entry in item.items():
                yield path, key
                stack.append(([*path, key], entry))
        elif isinstance(item, list):
            stack.extend(([*path, index], entry) for index, entry in enumerate(item))
        else:
            yield path, item


def integral_floats_to_ints(value: Any) -> Any:
    """Replace 3.0 by 3: an integer in JSON Schema, but not for the typed decoders."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return [integral_floats_to_ints(item) for item in value]
    if isinstance(value, dict):
        return {key: integral_floats_to_ints(item) for key, item in value.items()}
    return value


def format_path(path: list[PathStep]) -> str:
    """Return a path such as `items[2].price`, `$` for the value itself."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text or "$"


def real_path(value: Any, steps: Sequence[PathStep]) -> list[PathStep]:
    """Return the path of a jsonschema-rs error with the actual keys of the value.

    The library converts keys of digits to numbers and leaves out empty keys.
    """
    path: list[PathStep] = []
    for step in steps:
        key: PathStep | None = _real_step(value, step)
        while key is None and isinstance(value, dict) and "" in value:
            path.append("")
            value = value[""]
            key = _real_step(value, step)
        if key is None:
            break
        path.append(key)
        value = value[key]
    return path


def _real_step(value: Any, step: PathStep) -> PathStep | None:
    if isinstance(value, list):
        return step if isinstance(step, int) and step < len(value) else None
    if not isinstance(value, dict):
        return None
    if str(step) in value:
        return str(step)
    padded = (key for key in value if key.isdecimal() and int(key) == step)
    return next(padded, None)


def show(value: Any) -> str:
    """Return a JSON value for error messages: `"abc" (string)`."""
    if value is None:
        return "null"
    # jsonschema-rs returns numbers outside the range of a double as Decimal.
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        text = "a deeply nested value"
    return f"{shorten(text)} ({type_names.get(type(value), 'number')})"


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN_LENGTH else text[: SHOWN_LENGTH - 3] + "..."


def _has_lone_surrogate(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def _lone_surrogate(path: list[PathStep], text: str) -> Problem:
    shown = shorten(json.dumps(text))
    return Problem(format_path(path), shown, "text without lone surrogates (no Unicode text)")
