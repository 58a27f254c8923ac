"""A server whose names and schemas are hard to write as Python, for generated clients."""

from __future__ import annotations

from typing import Any

from dovetail import Context, Server, ToolError

server = Server("awkward")

POINT = {
    "type": "object",
    "title": "Point",
    "properties": {"x": {"type": "number"}, "y": {"type": "number"}},
    "required": ["x", "y"],
}
CIRCLE = {
    "type": "object",
    "properties": {
        "kind": {"const": "circle"},
        "middle": {"$ref": "#/$defs/point"},
        "radius": {"type": "number", "exclusiveMinimum": 0},
    },
    "required": ["kind", "middle", "radius"],
}
LINE = {
    "type": "object",
    "properties": {
        "kind": {"const": "line"},
        "points": {"type": "array", "items": {"$ref": "#/$defs/point"}},
        "dash": {"type": ["array", "null"], "items": {"type": "integer"}},
    },
    "required": ["kind", "points"],
}
GROUP = {
    "type": "object",
    "title": "Group",
    "description": "Shapes; may contain groups.",
    "properties": {
        "kind": {"const": "group"},
        "shapes": {"type": "array", "items": {"$ref": "#/$defs/shape"}},
    },
    "required": ["kind", "shapes"],
}
DEFINITIONS = {
    "point": POINT,
    "circle": CIRCLE,
    "line": LINE,
    "group": GROUP,
    "shape": {
        "oneOf": [
            {"$ref": "#/$defs/circle"},
            {"$ref": "#/$defs/line"},
            {"$ref": "#/$defs/group"},
        ]
    },
}
# Names that are keywords, builtins, not identifiers, or equal once they are identifiers.
NAMES: dict[str, Any] = {
    "class": {"type": "string", "enum": ["a", "b'\"", "none"]},
    "from": {"type": ["integer", "null"], "default": None},
    "list": {"type": "array", "items": {"type": "string"}},
    "x-y": {"type": "integer"},
    "x_y": {"type": "boolean", "default": True},
    "2": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
    "__dict__": {"type": "object", "additionalProperties": {"type": "integer"}},
    "größe": {"enum": [1, 2.5]},
    "": {"description": 'Ends """ here\n\\ and \u202e there'},
}
OBJECT = {"type": "object"}


@server.tool(
    name="draw-shape",
    input_schema={
        **OBJECT,
        "properties": {"shape": {"$ref": "#/$defs/shape"}},
        "required": ["shape"],
        "$defs": DEFINITIONS,
    },
    output_schema={**OBJECT, **GROUP, "$defs": DEFINITIONS},
)
def draw_shape(shape: Any) -> Any:
    return {"kind": "group", "shapes": [shape]}


@server.tool(
    name="class",
    description='Return """what\\" was given.\n\n"""',
    input_schema={**OBJECT, "properties": NAMES, "required": ["class"]},
    output_schema={
        **OBJECT,
        "properties": {"given": {**OBJECT, "properties": NAMES}, "count": {"type": "integer"}},
        "required": ["given", "count"],
    },
)
def given(ctx: Context, **arguments: Any) -> Any:
    return {"given": arguments, "count": len(arguments)}


@server.tool(name="list")
def all_names() -> list[str]:
    """Hide a builtin."""
    return list(NAMES)


@server.tool(name="list_")
def other() -> dict[str, int | None]:
    """Have the name that `list` gets."""
    return {"result": 1}


@server.tool(name="2.half")
def half(of: float) -> float:
    """Begin with a digit."""
    return of / 2


@server.tool
def fail(why: str) -> int:
    """Fail with a reason."""
    raise ToolError(why)
