"""JSON Schemas and compiled decoders for Python annotations.

One object holds both, so the schema that describes a type is the schema that is enforced: no other
module writes schemas or validates values. (Lists of tools show a subset: `tool_listing`.) This
package accepts and rejects the same values as an independent JSON Schema validator (2020-12,
asserting the formats `date`, `date-time` and `uuid`); `json_values.py` lists the exceptions.
"""

from dovetail.core.schema.annotations import (
    Parameter,
    bound_keywords,
    describe_parameter,
    docstring_of,
    plain_function,
    read_hints,
    without_partial,
)
from dovetail.core.schema.arguments import ArgumentsSchema, arguments_schema
from dovetail.core.schema.defaults import store_defaults
from dovetail.core.schema.docstrings import Description, parse_docstring
from dovetail.core.schema.references import Schema, assemble, map_schemas
from dovetail.core.schema.results import ResultSchema, result_schema
from dovetail.core.schema.typed import TypeSchema, type_schema

__all__ = [
    "ArgumentsSchema",
    "Description",
    "Parameter",
    "ResultSchema",
    "Schema",
    "TypeSchema",
    "arguments_schema",
    "assemble",
    "bound_keywords",
    "describe_parameter",
    "docstring_of",
    "map_schemas",
    "parse_docstring",
    "plain_function",
    "read_hints",
    "result_schema",
    "store_defaults",
    "type_schema",
    "without_partial",
]
