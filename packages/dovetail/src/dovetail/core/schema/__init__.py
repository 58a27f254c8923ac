"""Python annotations as JSON Schema and as compiled decoders, from one object.

What is advertised and what is enforced cannot drift apart, because nothing else in the
package writes a schema or judges a value. A value that an independent JSON Schema validator
accepts (2020-12, asserting the formats `date`, `date-time` and `uuid`) is accepted here, one
that it refuses is refused; the exceptions are named in `json_values.py`.
"""

from dovetail.core.schema.annotations import return_annotation
from dovetail.core.schema.arguments import ArgumentsSchema, arguments_schema
from dovetail.core.schema.docstrings import Description, parse_docstring
from dovetail.core.schema.results import ResultSchema, result_schema
from dovetail.core.schema.typed import TypeSchema, type_schema

__all__ = [
    "ArgumentsSchema",
    "Description",
    "ResultSchema",
    "TypeSchema",
    "arguments_schema",
    "parse_docstring",
    "result_schema",
    "return_annotation",
    "type_schema",
]
