"""The arguments of a tool: one for each parameter, and `body` for the body."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail_openapi.descriptions import shorten
from dovetail_openapi.names import argument_name, unique
from dovetail_openapi.operations import Body, Operation, OperationParameter
from dovetail_openapi.request_parts import BODY
from dovetail_openapi.schemas import Schema, SchemaConverter

__all__ = ["input_schema", "name_arguments"]

# A name that several parameters have belongs to the first of these places.
_ORDER = ("path", "query", "header", "cookie")
_BASE64 = "Base64 of the bytes."


def name_arguments(
    parameters: Iterable[OperationParameter], *, has_body: bool
) -> dict[str, OperationParameter]:
    """Return the parameters by argument name.

    If a name is taken, the place is appended: `id` in the path and `id_query` in the query.
    """
    named: dict[str, OperationParameter] = {}
    taken = {BODY} if has_body else set()
    for parameter in sorted(parameters, key=lambda each: _ORDER.index(each.place)):
        name = argument_name(parameter.name)
        if name in taken:
            name = unique(argument_name(f"{name}_{parameter.place}"), taken)
        taken.add(name)
        named[name] = parameter
    return named


def input_schema(
    operation: Operation,
    parameters: dict[str, OperationParameter],
    converter: SchemaConverter,
    max_bytes: int,
) -> Schema:
    """Return the input schema of the tool of an operation."""
    properties = {
        name: _parameter_schema(parameter, converter) for name, parameter in parameters.items()
    }
    required = [name for name, parameter in parameters.items() if parameter.required]
    body = operation.body
    if body is not None:
        properties[BODY] = _body_schema(body, converter)
        if body.required:
            required.append(BODY)
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return converter.complete(schema, max_bytes)


def _parameter_schema(parameter: OperationParameter, converter: SchemaConverter) -> Schema:
    schema = {} if parameter.schema is None else converter.convert(parameter.schema)
    if parameter.schema is None and parameter.place == "path":
        schema = {"type": "string"}
    text = shorten(parameter.description)
    return {**schema, "description": text} if text else schema


def _body_schema(body: Body, converter: SchemaConverter) -> Schema:
    if body.kind == "binary":
        text = " ".join(filter(None, [shorten(body.description), _BASE64]))
        return {"type": "string", "contentEncoding": "base64", "description": text}
    schema = {} if body.schema is None else converter.convert(body.schema)
    if body.kind == "text":
        schema = {"type": "string"}
    if body.kind in ("form", "multipart"):
        # Only an object has fields.
        schema = converter.convert(body.schema.resolve()) if body.schema is not None else schema
        schema = {**schema, "type": "object"}
    text = shorten(body.description)
    return {**schema, "description": text} if text else schema
