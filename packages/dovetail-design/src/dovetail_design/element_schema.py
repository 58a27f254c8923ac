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

__all__ = ["element_definitions"]

# The approximate length of a reference.
_LONG = 60
# Set by the server, so clients need not know them.
_UNTOLD = frozenset({"createdAt", "updatedAt"})


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
