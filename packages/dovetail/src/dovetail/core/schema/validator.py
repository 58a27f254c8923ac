"""A JSON Schema as a judge: compiled with jsonschema-rs when it is first asked.

Generated schemas assert `format`, since they only name formats that the decoders enforce.
Schemas written by hand follow their dialect (2020-12 unless `$schema` says otherwise), where
`format` is a note to the reader. Nothing is ever fetched: a `$ref` that leaves the document
is an error at registration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.schema.json_values import format_path, real_path
from dovetail.core.schema.problems import problems_of_errors
from dovetail.errors import InvalidValueError, Problem, UsageError

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["SchemaValidator"]


class SchemaValidator:
    """Tells whether a JSON value fits a schema, and names every place where it does not."""

    def __init__(self, schema: dict[str, Any], *, asserts_formats: bool) -> None:
        self._schema = schema
        self._asserts_formats = asserts_formats
        self._compiled: jsonschema_rs.Validator | None = None

    def compile(self, where: str) -> None:
        """Compile now, so that a schema that cannot work is the author's error."""
        try:
            self._validator()
        except ValueError as error:
            # The library's own error is a ValueError; what is no JSON raises a bare one.
            message = getattr(error, "message", str(error))
            place = format_path(list(getattr(error, "instance_path", [])))
            raise UsageError(
                f"{where}: the JSON Schema is not usable: {place}: {message}"
            ) from None

    def is_valid(self, value: Any) -> bool:
        """Whether a JSON value fits."""
        return self._validator().is_valid(value)

    def problems(self, value: Any, noun: str = "key") -> list[Problem]:
        """Every way in which a JSON value does not fit; empty when it does."""
        errors = list(self._validator().iter_errors(value))
        return problems_of_errors(errors, value, self._schema, noun)

    def failing_keys(self, value: dict[str, Any]) -> list[str]:
        """The keys of an object under which something does not fit."""
        errors = self._validator().iter_errors(value)
        paths = (real_path(value, error.instance_path) for error in errors)
        return [str(path[0]) for path in paths if path]

    def check(self, value: Any, noun: str = "key") -> None:
        """Raise InvalidValueError unless a JSON value fits."""
        if not self.is_valid(value):
            raise InvalidValueError(self.problems(value, noun))

    def _validator(self) -> jsonschema_rs.Validator:
        if self._compiled is None:
            # First need: the import costs 50 ms, and most servers never see a refused value.
            import jsonschema_rs  # noqa: PLC0415

            self._compiled = jsonschema_rs.validator_for(
                self._schema,
                validate_formats=True if self._asserts_formats else None,
                retriever=_refuse_to_fetch,
            )
        return self._compiled


def _refuse_to_fetch(uri: str) -> Any:
    raise LookupError(f"{uri} is outside the schema; copy it into $defs")
