"""A compact JSON Schema of the element types: shared properties are written once.

The definitions follow the base Structs. They do not set additionalProperties: the model rejects
unknown properties with an error that suggests the right name.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec

from dovetail_design.model.element_groups import Element
from dovetail_design.model.elements import ELEMENT_TYPES

__all__ = ["describe_type", "element_definitions", "lean_element"]

# The approximate length of a reference.
_LONG = 60
# Set by the server, so clients need not know them.
_UNTOLD = frozenset({"createdAt", "updatedAt"})
# Keywords whose value says what it is.
_PLAIN = frozenset({"type", "enum", "description", "$ref"})


@cache
def element_definitions() -> dict[str, Any]:
    """Return the `$defs`: each type, each group, and `Element`, the union."""
    leaves = list(ELEMENT_TYPES.values())
    parts, components = msgspec.json.schema_components(leaves, ref_template="#/$defs/{name}")
    differing = _differing(leaves, components)
    definitions: dict[str, Any] = {}
    for leaf in leaves:
        for kind in _lineage(leaf):
            if kind.__name__ not in definitions:
                definitions[kind.__name__] = _define(kind, leaf, components, differing)
    helpers = {
        name: schema
        for name, schema in components.items()
        if name not in {leaf.__name__ for leaf in leaves}
    }
    # Listed beside the union, so that an unknown type gets an error with its name.
    union = {
        "description": "Distinguished by `type`",
        "type": "object",
        "properties": {"type": {"enum": list(ELEMENT_TYPES)}},
        "required": ["type"],
        "oneOf": list(parts),
    }
    return {"AnyElement": union, **_share({**definitions, **helpers})}


# The properties that the list of tools shows; describe_design lists the others by type.
_COMMON = {
    "id": "string",
    "name": "string",
    "page": "integer",
    "rotation": "number",
    "opacity": "number",
    "fill": "string",
    "stroke": "string",
    "strokeWidth": "number",
    "borderRadius": "number",
    "boxShadow": "string",
    "text": "string",
    "fontSize": "number",
    "fontFamily": "string",
    "fontWeight": "string",
    "textAlign": "string",
    "verticalAlign": "string",
    "lineHeight": "number",
    "letterSpacing": "number",
    "src": "string",
    "svgPath": "string",
    "qrValue": "string",
    "groupId": "string",
}


def lean_element() -> dict[str, Any]:
    """Return a short schema of an element, for the list of tools; the model checks the rest."""
    number = {"type": "number"}
    return {
        "type": "object",
        "properties": {
            "type": {"enum": list(ELEMENT_TYPES)},
            **dict.fromkeys(("x", "y", "width", "height"), number),
            **{name: {"type": kind} for name, kind in _COMMON.items()},
        },
        "required": ["type", "x", "y", "width", "height"],
    }


def describe_type(kind: str) -> str:
    """Return the properties of an element type, one per line."""
    leaf = ELEMENT_TYPES[kind]
    (_,), components = msgspec.json.schema_components([leaf], ref_template="{name}")
    whole = components[leaf.__name__]
    required = set(whole["required"])
    lines = [
        f"{name}{' (required)' if name in required else ''}: {_say(_shorten(schema))}"
        for name, schema in whole["properties"].items()
        if name not in _UNTOLD and name != "type"
    ]
    others = [
        f"{name}: {json.dumps(schema.get('properties', schema))}"
        for name, schema in components.items()
        if name != leaf.__name__
    ]
    return "\n".join([f"{kind}: {(leaf.__doc__ or '').strip()}", *lines, *others])


def _say(schema: dict[str, Any]) -> str:
    return ", ".join(
        f"{'default ' if key == 'default' else '' if key in _PLAIN else f'{key} '}"
        f"{value if isinstance(value, str) else json.dumps(value)}"
        for key, value in schema.items()
    )


def _share(definitions: dict[str, Any]) -> dict[str, Any]:
    """Replace long schemas that occur several times by references."""
    seen: dict[str, list[str]] = {}
    for definition in definitions.values():
        for name, schema in definition["properties"].items():
            seen.setdefault(_key(schema), []).append(name)
    shared: dict[str, str] = {}
    for key, names in seen.items():
        if len(names) > 1 and len(key) > _LONG:
            name = f"{names[0][0].upper()}{names[0][1:]}Value"
            shared[key] = f"{name}{len(shared)}" if name in shared.values() else name
    values = {name: json.loads(key) for key, name in shared.items()}
    for definition in definitions.values():
        definition["properties"] = {
            name: {"$ref": f"#/$defs/{shared[_key(schema)]}"} if _key(schema) in shared else schema
            for name, schema in definition["properties"].items()
        }
    return {**definitions, **values}


def _key(schema: dict[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)


def _lineage(leaf: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return the type and its base groups."""
    return [kind for kind in leaf.__mro__ if issubclass(kind, Element)]


def _names(kind: type[Any]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def _differing(leaves: list[type[Any]], components: dict[str, Any]) -> set[str]:
    """Return shared properties that one type limits differently; each type then has its own."""
    found = set()
    first = components[leaves[0].__name__]["properties"]
    for name in _names(Element):
        for leaf in leaves:
            if components[leaf.__name__]["properties"][name] != first[name]:
                found.add(name)
    return found


def _define(
    kind: type[Any], leaf: type[Any], components: dict[str, Any], differing: set[str]
) -> dict[str, Any]:
    whole = components[leaf.__name__]
    base = kind.__mro__[1]
    inherited = set(_names(base)) - differing if issubclass(base, Element) else set()
    is_leaf = kind is leaf
    told = [
        name
        for name in _names(kind)
        if name not in inherited and name not in _UNTOLD and (is_leaf or name not in differing)
    ]
    properties = {name: _shorten(whole["properties"][name]) for name in told}
    schema: dict[str, Any] = {"type": "object"}
    if is_leaf:
        schema["description"] = (kind.__doc__ or "").strip()
        properties = {"type": whole["properties"]["type"], **properties}
    if issubclass(base, Element):
        schema["allOf"] = [{"$ref": f"#/$defs/{base.__name__}"}]
    schema["properties"] = properties
    required = [name for name in whole["required"] if name in properties]
    if required:
        schema["required"] = required
    return schema


def _shorten(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from a property, since it can be omitted."""
    kept = {key: value for key, value in schema.items() if key != "default" or value is not None}
    choices = [one for one in kept.get("anyOf", []) if one != {"type": "null"}]
    if len(choices) == 1:
        kept.pop("anyOf")
        kept = {**choices[0], **kept}
    elif choices:
        kept["anyOf"] = choices
    return kept
