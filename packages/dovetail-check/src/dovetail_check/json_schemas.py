"""Validates JSON Schemas of a server, and values against them.

Remote `$schema` and `$ref` URLs are not fetched. If the result depends on one, it is None.
"""

from __future__ import annotations

from typing import Any

import jsonschema_rs

from dovetail_check.escaping import shown

__all__ = ["dialect_of", "schema_problems", "validation_errors"]

# json-schema-usage: without $schema it is 2020-12.
DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_VALIDATORS: dict[str, Any] = {
    DEFAULT_DIALECT: jsonschema_rs.Draft202012Validator,
    "https://json-schema.org/draft/2019-09/schema": jsonschema_rs.Draft201909Validator,
    "http://json-schema.org/draft-07/schema": jsonschema_rs.Draft7Validator,
    "http://json-schema.org/draft-06/schema": jsonschema_rs.Draft6Validator,
    "http://json-schema.org/draft-04/schema": jsonschema_rs.Draft4Validator,
}
# Exceptions of the library for schemas that it cannot read.
_UNREADABLE = (ValueError, OverflowError, RecursionError, jsonschema_rs.ReferencingError)
_MAX_ERRORS = 3


def dialect_of(schema: Any) -> str | None:
    """The dialect that a schema declares; None if it is not supported."""
    declared = schema.get("$schema", DEFAULT_DIALECT) if isinstance(schema, dict) else None
    if not isinstance(declared, str):
        return None
    plain = declared.removesuffix("#")
    return plain if plain in _VALIDATORS else None


def schema_problems(schema: Any) -> list[str] | None:
    """Validate a schema against its metaschema; None if the dialect is not supported."""
    if not isinstance(schema, dict):
        return [f"{shown(schema)} is not an object"]
    if dialect_of(schema) is None:
        return None
    try:
        jsonschema_rs.meta.validate(schema)
    except jsonschema_rs.ValidationError as error:
        path = "/".join(str(step) for step in error.instance_path)
        return [f"at /{path}: {error.message[:160]}"]
    except _UNREADABLE:
        return None
    return []


def validation_errors(schema: Any, value: Any) -> list[str] | None:
    """Return why a value does not match, empty if it does; None if the schema is unreadable."""
    if isinstance(schema, bool):
        return [] if schema else ["the schema false matches nothing"]
    dialect = dialect_of(schema)
    if dialect is None:
        return None
    try:
        errors = _VALIDATORS[dialect](schema, offline=True).iter_errors(value)
        return [_describe(error) for error, _ in zip(errors, range(_MAX_ERRORS), strict=False)]
    except _UNREADABLE:
        return None


def _describe(error: jsonschema_rs.ValidationError) -> str:
    path = "/".join(str(step) for step in error.instance_path)
    return f"at /{path}: {error.message[:160]}"
