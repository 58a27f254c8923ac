"""Validation against a JSON Schema, compiled with jsonschema-rs on first use.

Generated schemas assert `format`, since they only use formats that the decoders enforce. Schemas
written by hand follow their dialect (2020-12 unless `$schema` names another), where `format` is an
annotation. Nothing is fetched: a `$ref` to another document is an error at registration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.core.schema.json_values import PathStep, format_path, real_path, too_deep
from dovetail.core.schema.problems import (
    LocatedProblem,
    located_problems,
    problems_of_errors,
)
from dovetail.errors import InvalidValueError, Problem, UsageError

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = ["SchemaValidator", "find_problems"]


class SchemaValidator:
    """Validates JSON values against a schema and reports every problem."""

    def __init__(self, schema: dict[str, Any], *, asserts_formats: bool) -> None:
        self._schema = schema
        self._asserts_formats = asserts_formats
        self._compiled: jsonschema_rs.Validator | None = None

    def compile(self, where: str) -> None:
        """Compile now, so that an invalid schema is an error at registration; raises UsageError."""
        try:
            self._validator()
        except ValueError as error:
            # The error of the library is a ValueError; values that are not JSON raise a plain one.
            message = getattr(error, "message", str(error))
            place = format_path(list(getattr(error, "instance_path", [])))
            raise UsageError(f"{where}: the JSON Schema is invalid: {place}: {message}") from None

    # jsonschema-rs reads about 250 levels, and raises ValueError only for that: values come from a
    # JSON decoder.

    def is_valid(self, value: Any) -> bool:
        """Whether a JSON value is valid; raises InvalidValueError for one nested too deeply."""
        validator = self._validator()
        try:
            return validator.is_valid(value)
        except ValueError:
            raise too_deep() from None

    def problems(self, value: Any, noun: str = "key") -> list[Problem]:
        """Return all problems of a JSON value, none if it is valid."""
        errors = self._errors(value)
        return problems_of_errors(errors, value, self._schema, noun)

    def located_problems(self, value: Any, noun: str = "key") -> list[LocatedProblem]:
        """Return all problems of a JSON value, each with the steps of its path."""
        errors = self._errors(value)
        return located_problems(errors, value, self._schema, noun)

    def failing_keys(self, value: dict[str, Any]) -> list[str]:
        """Return the keys of an object whose values are not valid."""
        paths = (real_path(value, error.instance_path) for error in self._errors(value))
        return [str(path[0]) for path in paths if path]

    def check(self, value: Any, noun: str = "key") -> None:
        """Raise InvalidValueError unless a JSON value is valid."""
        if not self.is_valid(value):
            raise InvalidValueError(self.problems(value, noun))

    def _errors(self, value: Any) -> list[jsonschema_rs.ValidationError]:
        validator = self._validator()
        try:
            return list(validator.iter_errors(value))
        except ValueError:
            raise too_deep() from None

    def _validator(self) -> jsonschema_rs.Validator:
        if self._compiled is None:
            # Imported on first use: it takes 50 ms, and most servers never need it.
            import jsonschema_rs  # noqa: PLC0415

            self._compiled = jsonschema_rs.validator_for(
                self._schema,
                validate_formats=True if self._asserts_formats else None,
                retriever=_refuse_to_fetch,
            )
        return self._compiled


def _refuse_to_fetch(uri: str) -> Any:
    raise LookupError(f"{uri} is outside the schema; copy it into $defs")


def find_problems(schema: dict[str, Any], value: Any) -> list[tuple[list[PathStep], str]]:
    """What is wrong with a value: the path of each wrong part, and what is expected there.

    Formats count. The words are those of a server that refuses arguments. Raises ValueError or
    jsonschema_rs.ReferencingError for a schema that is invalid or refers to other documents.
    """
    found = SchemaValidator(schema, asserts_formats=True).located_problems(value)
    return [(path, problem.expected) for path, problem in found]
