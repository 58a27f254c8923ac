"""Refuses tools whose schemas are not JSON Schemas, so that other code can rely on their form."""

from __future__ import annotations

from dovetail.cli.failures import FAILED_CALL, Failure
from dovetail.spec.models import Tool

__all__ = ["check_schemas"]

# The library would fetch any other dialect from the network.
_DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)


def check_schemas(tool: Tool) -> None:
    """Raise Failure if a schema of the tool is invalid; references are not followed."""
    from jsonschema_rs import meta  # noqa: PLC0415 - only some commands need it

    for name, schema in (("input", tool.input_schema), ("output", tool.output_schema)):
        if schema is None:
            continue
        dialect = str(schema.get("$schema")).rstrip("#")
        known = {"$schema": dialect} if dialect in _DIALECTS else {}
        try:
            meta.validate({**{key: schema[key] for key in schema if key != "$schema"}, **known})
        except ValueError as error:
            place = ".".join(map(str, getattr(error, "instance_path", ())))
            problem = f"{place}: {getattr(error, 'message', error)}"
            raise Failure(
                f"The {name} schema of the tool {tool.name!r} is not valid: {problem}", FAILED_CALL
            ) from None
