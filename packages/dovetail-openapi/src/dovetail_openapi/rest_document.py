"""The OpenAPI 3.1 document of a server: one POST operation for each tool."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from dovetail_openapi.schemas import Schema, map_schemas

__all__ = ["describe_tools"]

_TOOLS = "/tools/"
_SCHEMAS = "#/components/schemas/"
_ERROR, _CONTENT = "Error", "Content"
# Next to the schemas of tools, whose names have a dot and an ending.
_OWN_SCHEMAS: dict[str, Schema] = {
    _ERROR: {
        "type": "object",
        "properties": {"error": {"type": "string"}},
        "required": ["error"],
    },
    _CONTENT: {
        "description": "The content blocks of a result without structured data.",
        "type": "object",
        "properties": {
            "content": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"type": {"type": "string"}, "text": {"type": "string"}},
                    "required": ["type"],
                },
            }
        },
        "required": ["content"],
    },
}
_FAILURES = {
    "400": "The request is not valid.",
    "401": "The credentials are missing or not valid.",
    "403": "The caller may not use this tool.",
    "404": "There is no such tool.",
    "422": "The tool failed, or its arguments are not valid.",
    "429": "There are too many requests.",
}


def describe_tools(
    tools: Iterable[Mapping[str, Any]],
    info: Mapping[str, Any],
    *,
    servers: Collection[str] = (),
    credential_headers: Collection[bytes] = (),
) -> dict[str, Any]:
    """Return the document; `tools` and `info` are as the protocol has them."""
    schemas: dict[str, Schema] = dict(_OWN_SCHEMAS)
    paths = {f"{_TOOLS}{tool['name']}": {"post": _operation(tool, schemas)} for tool in tools}
    about = {"title": info.get("title") or info["name"], "version": info["version"]}
    if info.get("description"):
        about["description"] = info["description"]
    components: dict[str, Any] = {"schemas": schemas}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": about}
    if servers:
        document["servers"] = [{"url": url} for url in servers]
    document |= {"paths": paths, "components": components}
    schemes = {_scheme_name(header): _scheme(header) for header in sorted(credential_headers)}
    if schemes:
        components["securitySchemes"] = schemes
        document["security"] = [{name: []} for name in schemes]
    return document


def _operation(tool: Mapping[str, Any], schemas: dict[str, Schema]) -> dict[str, Any]:
    name = tool["name"]
    schemas[f"{name}.input"] = _embed(tool["inputSchema"], f"{name}.input")
    result = f"{_SCHEMAS}{_CONTENT}"
    output = tool.get("outputSchema")
    if output is not None:
        # The REST interface has the form of results that all revisions have.
        output = output if output.get("type") == "object" else _wrap(output)
        schemas[f"{name}.output"] = _embed(output, f"{name}.output")
        result = f"{_SCHEMAS}{name}.output"
    operation: dict[str, Any] = {"operationId": name, "tags": ["tools"]}
    title = tool.get("title") or (tool.get("annotations") or {}).get("title")
    if title:
        operation["summary"] = title
    if tool.get("description"):
        operation["description"] = tool["description"]
    operation["requestBody"] = {
        "required": bool(tool["inputSchema"].get("required")),
        "content": _json(f"{_SCHEMAS}{name}.input"),
    }
    operation["responses"] = {
        "200": {"description": "The result of the tool.", "content": _json(result)},
        **{
            status: {"description": text, "content": _json(f"{_SCHEMAS}{_ERROR}")}
            for status, text in _FAILURES.items()
        },
    }
    return operation


def _wrap(schema: Schema) -> Schema:
    """Return the schema of `{"result": ...}`; definitions stay at the root, where refs point."""
    outer: Schema = {key: schema[key] for key in ("$schema", "$defs") if key in schema}
    inner = {key: value for key, value in schema.items() if key not in outer}
    return {**outer, "type": "object", "properties": {"result": inner}, "required": ["result"]}


def _json(reference: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": reference}}}


def _embed(schema: Schema, name: str) -> Schema:
    """Return the schema with references that start at the document, not at the schema."""
    if "$id" in schema:
        return schema

    def move(part: Schema) -> Schema:
        reference = part.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return part
        return {**part, "$ref": f"{_SCHEMAS}{name}{reference[1:]}"}

    embedded: Schema = map_schemas(schema, move)
    return embedded


def _scheme_name(header: bytes) -> str:
    return "bearer" if header == b"authorization" else header.decode()


def _scheme(header: bytes) -> dict[str, str]:
    if header == b"authorization":
        return {"type": "http", "scheme": "bearer"}
    return {"type": "apiKey", "in": "header", "name": header.decode()}
