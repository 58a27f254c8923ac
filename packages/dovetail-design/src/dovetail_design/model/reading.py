"""Converts plain values to elements and back, with helpful errors.

Numbers in strings ("12", as some clients send them) are accepted, and so is a font weight as a
number; `null` means that the property is not set. Everything else that is invalid is rejected with
the property, the given value and what is allowed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from dovetail import ToolError
from dovetail_design.model.design import MAX_ELEMENTS, Design
from dovetail_design.model.elements import ELEMENT_TYPES, PROPERTIES, AnyElement

__all__ = ["merge_element", "parse_design", "parse_element", "to_plain"]

_NUMERIC_TEXT = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:px)?\s*\Z")
_PLACE = re.compile(r" - at `\$([^`]*)`\Z")
_SHOWN = 80

# Set by the server and read-only.
_FIXED = frozenset({"id", "type"})


def parse_element(values: Mapping[str, Any]) -> AnyElement:
    """Parse an element; raises ToolError."""
    if not isinstance(values, Mapping):
        raise ToolError(f"An element must be an object with a `type`, not {_show(values)}")
    kind = values.get("type")
    if not isinstance(kind, str) or kind not in ELEMENT_TYPES:
        given = "has no type" if kind is None else f"has the type {_show(kind)}"
        raise ToolError(
            f"The element {given}{_near(kind, ELEMENT_TYPES)}; allowed: {', '.join(ELEMENT_TYPES)}"
        )
    plain = {name: value for name, value in values.items() if value is not None}
    unknown = [name for name in plain if name not in PROPERTIES[kind]]
    if unknown:
        raise ToolError(_explain_unknown(kind, unknown))
    numeric = _numeric_properties(kind)
    for name in plain.keys() & numeric:
        plain[name] = _as_number(plain[name])
    try:
        element: AnyElement = msgspec.convert(plain, ELEMENT_TYPES[kind])
    except msgspec.ValidationError as error:
        raise ToolError(_explain(kind, plain, str(error))) from None
    return element


def merge_element(element: AnyElement, updates: Mapping[str, Any]) -> AnyElement:
    """Return the element with changed properties; `null` removes one. Raises ToolError."""
    plain = to_plain(element)
    for name in _FIXED & updates.keys():
        if updates[name] != plain.get(name):
            raise ToolError(
                f"`{name}` cannot be changed (it is {plain.get(name)!r}); delete the element and "
                "add another"
            )
    return parse_element({**plain, **updates})


def to_plain(element: AnyElement | Design) -> dict[str, Any]:
    """Return the element or design as values for JSON, without defaults."""
    # Through JSON, so that the result equals what is stored and read again: lists, not tuples.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(element))
    return plain


def parse_design(values: Mapping[str, Any]) -> Design:
    """Parse a design; raises ToolError that names the element."""
    elements = values.get("elements", ())
    if not isinstance(elements, list | tuple):
        raise ToolError(f"elements must be a list of elements, not {_show(elements)}")
    if len(elements) > MAX_ELEMENTS:
        raise ToolError(f"{len(elements):,} elements are too many; the limit is {MAX_ELEMENTS:,}")
    parsed = tuple(_parse_numbered(at, one) for at, one in enumerate(elements))
    plain = {
        name: value for name, value in values.items() if name != "elements" and value is not None
    }
    for name in ("width", "height"):
        plain[name] = _as_number(plain[name]) if name in plain else getattr(Design(), name)
    try:
        frame = msgspec.convert(plain, Design)
    except msgspec.ValidationError as error:
        raise ToolError(f"The canvas: {_lowered(str(error), plain)}") from None
    return msgspec.structs.replace(frame, elements=parsed)


def _parse_numbered(at: int, values: Any) -> AnyElement:
    if not isinstance(values, Mapping):
        # Elements that are already parsed are returned as they are.
        if type(values) in ELEMENT_TYPES.values():
            return values  # type: ignore[no-any-return]
        raise ToolError(f"elements[{at}] must be an object with a `type`, not {_show(values)}")
    try:
        return parse_element(values)
    except ToolError as error:
        raise ToolError(f"elements[{at}]: {error}") from None


@lru_cache(maxsize=32)
def _numeric_properties(kind: str) -> frozenset[str]:
    """Return the properties of a type that are numbers only."""
    found = set()
    for field in msgspec.inspect.type_info(ELEMENT_TYPES[kind]).fields:  # type: ignore[attr-defined]
        if _scalars(field.type) <= {"FloatType", "IntType", "NoneType"}:
            found.add(field.encode_name)
    return frozenset(found)


def _scalars(info: Any) -> set[str]:
    """Return the names of the msgspec types that a type consists of."""
    if isinstance(info, msgspec.inspect.Metadata):
        return _scalars(info.type)
    if isinstance(info, msgspec.inspect.UnionType):
        return set().union(*map(_scalars, info.types))
    return {type(info).__name__}


def _as_number(value: Any) -> Any:
    if isinstance(value, str) and _NUMERIC_TEXT.match(value):
        value = float(value.strip().removesuffix("px"))
    # In JSON Schema 3.0 is an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _explain_unknown(kind: str, unknown: list[str]) -> str:
    reasons = []
    for name in unknown[:5]:
        owners = [other for other, names in PROPERTIES.items() if name in names]
        if owners:
            reason = f"`{name}` belongs to {', '.join(owners)}, not to {kind}"
        else:
            near = difflib.get_close_matches(name, PROPERTIES[kind], n=1, cutoff=0.6)
            meant = f" (did you mean `{near[0]}`?)" if near else ""
            reason = f"there is no property `{str(name)[:60]}`{meant}"
        reasons.append(reason)
    more = f" (and {len(unknown) - 5} more)" if len(unknown) > 5 else ""
    return f"{'; '.join(reasons)}{more}. A {kind} has: {', '.join(PROPERTIES[kind])}"


def _explain(kind: str, plain: Mapping[str, Any], message: str) -> str:
    return f"The {kind}: {_lowered(message, plain)}"


def _lowered(message: str, plain: Mapping[str, Any]) -> str:
    """Return the error of msgspec with the value that was given."""
    place = _PLACE.search(message)
    text = message[: place.start()] if place else message
    text = text[:1].lower() + text[1:]
    path = place[1].lstrip(".") if place else ""
    if not path:
        return text
    name = re.split(r"[.\[]", path)[0]
    given = "" if name not in plain or ", got" in text else f", got {_show(plain[name])}"
    return f"`{path}`: {text}{given}"


def _near(kind: Any, names: Any) -> str:
    near = difflib.get_close_matches(str(kind), names, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _show(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
