"""Validation against a JSON Schema, compiled with jsonschema-rs on first use.

Generated schemas assert `format`, since they only use formats that the decoders enforce. Schemas
written by hand follow their dialect (2020-12 unless `$schema` names another), where `format` is an
annotation. Nothing is fetched: a `$ref` to another document is an error at registration.

The errors of jsonschema-rs, msgspec and pydantic become `Problem(path, given, expected)`: messages
that a model can act on. For a union, only the problems of the branch that was meant are reported.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dovetail.core.schema.json_values import PathStep, format_path, real_path, show, too_deep
from dovetail.core.schema.text_formats import WORDS_FOR_FORMAT, words_for_pattern
from dovetail.errors import InvalidValueError, Problem, UsageError

if TYPE_CHECKING:
    import jsonschema_rs

__all__ = [
    "JSON_STRING_HINT",
    "LocatedProblem",
    "SchemaValidator",
    "find_problems",
    "located_problems",
    "missing_value",
    "problems_of_details",
    "problems_of_errors",
    "problems_of_refusal",
    "unknown_key",
]

JSON_STRING_HINT = "pass the JSON value itself, not a string containing JSON"
REQUIRED = "a value (required)"
NOTHING = "nothing"
ENUM_SHOWN = 20

# The steps of a path, and the problem there.
LocatedProblem = tuple[list[PathStep], Problem]

_read = msgspec.json.Decoder().decode


def missing_value(path: Sequence[PathStep]) -> Problem:
    """Return the problem of a required value that is missing."""
    return Problem(format_path([*path]), NOTHING, REQUIRED)


def unknown_key(path: Sequence[PathStep], value: Any, allowed: list[str], noun: str) -> Problem:
    """Return the problem of an unknown key, with the allowed keys, closest first."""
    near = difflib.get_close_matches(str(path[-1]), allowed)
    names = ", ".join([*near, *(name for name in allowed if name not in near)]) or "none"
    return Problem(
        format_path([*path]), show(value), f"no such {noun}", f"allowed {noun}s: {names}"
    )


def problems_of_errors(
    errors: Sequence[jsonschema_rs.ValidationError], value: Any, schema: dict[str, Any], noun: str
) -> list[Problem]:
    """Return the problems of one validation, without duplicates."""
    located = located_problems(errors, value, schema, noun)
    return list(dict.fromkeys(problem for _, problem in located))


def located_problems(
    errors: Sequence[jsonschema_rs.ValidationError], value: Any, schema: dict[str, Any], noun: str
) -> list[LocatedProblem]:
    """Return the problems of one validation, each with the steps of its path."""
    reader = _ErrorReader(value, schema, noun)
    return [located for error in errors for located in reader.problems(error)]


class _ErrorReader:
    """Converts the errors of one value and one schema to problems."""

    def __init__(self, value: Any, schema: dict[str, Any], noun: str) -> None:
        self._value = value
        self._schema = schema
        self._noun = noun

    def problems(self, error: jsonschema_rs.ValidationError) -> list[LocatedProblem]:
        path = real_path(self._value, error.instance_path)
        keyword = error.kind.name
        if keyword == "required":
            path.append(error.kind.value)
            return [(path, missing_value(path))]
        if keyword in ("additionalProperties", "unevaluatedProperties"):
            return [self._unknown(error, [*path, key]) for key in error.kind.value]
        if keyword == "propertyNames":
            inner: jsonschema_rs.ValidationError = getattr(error.kind, "error")  # noqa: B009
            key = f"the key {show(inner.instance)}"
            return [(path, Problem(format_path(path), key, _expected(inner)))]
        branches = getattr(error.kind, "context", None)
        if keyword == "anyOf" or (keyword == "oneOf" and all(branches or ())):
            return self._union(error, branches or [])
        given, expected = show(error.instance), _expected(error)
        return [(path, Problem(format_path(path), given, expected, _hint(error)))]

    def _unknown(
        self, error: jsonschema_rs.ValidationError, path: list[PathStep]
    ) -> LocatedProblem:
        owner: Any = self._schema
        for step in error.schema_path[:-1]:
            owner = owner[step]
        noun = self._noun if len(path) == 1 else "key"
        allowed = list(owner.get("properties", {}))
        value = error.instance[path[-1]]  # type: ignore[index]
        return path, unknown_key(path, value, allowed, noun)

    def _union(
        self,
        error: jsonschema_rs.ValidationError,
        branches: list[list[jsonschema_rs.ValidationError]],
    ) -> list[LocatedProblem]:
        """Return the problems of the branch that was meant, or one problem for all branches."""
        path = list(error.instance_path)
        tag = self._other_tag(error, branches)
        if tag is not None:
            return [tag]
        meant = [errors for errors in branches if not any(_is_other_kind(e, path) for e in errors)]
        deep = [
            errors
            for errors in meant
            if any(list(e.instance_path) != path or _names_keys(e) for e in errors)
        ]
        if deep:
            nearest = min(deep, key=len)
            return [problem for inner in nearest for problem in self.problems(inner)]
        wanted = [
            problem
            for errors in meant or branches
            for e in errors
            for _, problem in self.problems(e)
        ]
        expected = " or ".join(dict.fromkeys(problem.expected for problem in wanted))
        hint = next((problem.hint for problem in wanted if problem.hint), "")
        place = real_path(self._value, path)
        return [(place, Problem(format_path(place), show(error.instance), expected, hint))]

    def _other_tag(
        self,
        error: jsonschema_rs.ValidationError,
        branches: list[list[jsonschema_rs.ValidationError]],
    ) -> LocatedProblem | None:
        """Return the problem of an object whose tag is of none of the branches."""
        path = list(error.instance_path)
        options: list[Any] = []
        wrong: dict[str, jsonschema_rs.ValidationError] = {}
        for errors in branches:
            tags = [each for each in errors if _is_tag(each, path)]
            if not tags and not any(_is_other_type(each, path) for each in errors):
                return None  # the problem of this branch is another one
            for each in tags[:1]:
                wrong[str(each.instance_path[-1])] = each
                value = each.kind.value
                options += value if each.kind.name == "enum" else [value]
        if len(wrong) != 1 or len(options) < 2:
            return None
        [found] = wrong.values()
        place = real_path(self._value, found.instance_path)
        expected = _one_of(list(dict.fromkeys(options)))
        return place, Problem(format_path(place), show(found.instance), expected)


def _is_other_type(error: jsonschema_rs.ValidationError, path: list[PathStep]) -> bool:
    return error.kind.name == "type" and list(error.instance_path) == path


def _is_tag(error: jsonschema_rs.ValidationError, path: list[PathStep]) -> bool:
    at = list(error.instance_path)
    return error.kind.name in ("const", "enum") and len(at) == len(path) + 1


def _is_other_kind(error: jsonschema_rs.ValidationError, path: list[PathStep]) -> bool:
    """Whether the branch is for another type of value or another tag."""
    return _is_other_type(error, path) or _is_tag(error, path)


def _names_keys(error: jsonschema_rs.ValidationError) -> bool:
    return error.kind.name in ("required", "additionalProperties")


def _expected(error: jsonschema_rs.ValidationError) -> str:
    keyword, limit = error.kind.name, error.kind.value
    words = WORDS.get(keyword)
    return words(limit) if words is not None else error.message


def _hint(error: jsonschema_rs.ValidationError) -> str:
    """Return the hint for a string that contains the JSON value, a common mistake of models."""
    if error.kind.name != "type" or not isinstance(error.instance, str):
        return ""
    try:
        inner = _read(error.instance)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return ""
    return JSON_STRING_HINT if _json_types(inner) & set(error.kind.value) else ""


def _json_types(value: Any) -> set[str]:
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int | float):
        return {"number", "integer"} if isinstance(value, int) or value.is_integer() else {"number"}
    return {{dict: "object", list: "array", type(None): "null"}.get(type(value), "string")}


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _one_of(options: list[Any]) -> str:
    shown = ", ".join(_literal(option) for option in options[:ENUM_SHOWN])
    more = len(options) - ENUM_SHOWN
    return f"one of {shown}" + (f" and {more} more" if more > 0 else "")


def _count(words: str, noun: str) -> Callable[[Any], str]:
    return lambda limit: f"{words} {limit} {noun}{'' if limit == 1 else 's'}"


def _matching(pattern: str) -> str:
    return words_for_pattern(pattern) or f"text matching {pattern}"


WORDS: dict[str, Callable[[Any], str]] = {
    "const": lambda value: f"the constant {_literal(value)}",
    "contains": lambda _: "an item of the kind that must be contained",
    "enum": _one_of,
    "exclusiveMaximum": lambda limit: f"less than {limit}",
    "exclusiveMinimum": lambda limit: f"more than {limit}",
    "falseSchema": lambda _: "no value here",
    "format": lambda name: WORDS_FOR_FORMAT.get(name, name),
    "maxItems": _count("at most", "item"),
    "maxLength": _count("at most", "character"),
    "maxProperties": lambda limit: f"at most {limit} keys",
    "maximum": lambda limit: f"at most {limit}",
    "minItems": _count("at least", "item"),
    "minLength": _count("at least", "character"),
    "minProperties": lambda limit: f"at least {limit} keys",
    "minimum": lambda limit: f"at least {limit}",
    "multipleOf": lambda factor: f"a multiple of {factor}",
    "oneOf": lambda _: "a value that fits exactly one of the alternatives",
    "pattern": _matching,
    "type": lambda types: " or ".join(sorted(types, key="null".__eq__)),
    "uniqueItems": lambda _: "items without duplicates",
}

PLACE = re.compile(r"^(?P<text>.*?)(?: - at `(?P<key>key` in `)?\$(?P<path>[^`]*)`)?$", re.S)
STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]|\[\.\.\.\]")


def problems_of_refusal(error: msgspec.ValidationError, value: Any) -> list[Problem]:
    """Return the problems of a decoder that rejects what the schema allows: an author's check."""
    match = PLACE.match(str(error))
    assert match is not None  # every text matches, since the place is optional
    path: list[PathStep] = []
    for step in STEP.finditer(match["path"] or ""):
        token = step["name"] or (int(step["index"]) if step["index"] else None)
        if not _has_step(value, token):
            break
        path.append(token)  # type: ignore[arg-type]
        value = value[token]
    if details := getattr(error.__cause__, "errors", None):
        return problems_of_details(details(), value, path)
    return [_own_check(path, value, match["text"])]


def problems_of_details(
    details: Sequence[Mapping[str, Any]], value: Any, path: Sequence[PathStep] = ()
) -> list[Problem]:
    """Return the problems of a pydantic validation of the JSON value at `path`."""
    return [_pydantic_problem(detail, [*path], value) for detail in details]


def _pydantic_problem(detail: Mapping[str, Any], path: list[PathStep], value: Any) -> Problem:
    """Convert one error; `loc` also has the branches of unions, which are left out."""
    for step in detail["loc"]:
        if detail["type"] == "missing" and step == detail["loc"][-1]:
            return missing_value([*path, step])
        if _has_step(value, step):
            path.append(step)
            value = value[step]
    return _own_check(path, value, detail["msg"].removeprefix("Value error, "))


def _own_check(path: list[PathStep], value: Any, text: str) -> Problem:
    return Problem(format_path(path), show(value), f"a value that passes its own check ({text})")


def _has_step(value: Any, step: PathStep | None) -> bool:
    if isinstance(value, list):
        return isinstance(step, int) and step < len(value)
    return isinstance(value, dict) and step in value


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
    try:
        found = SchemaValidator(schema, asserts_formats=True).located_problems(value)
    except InvalidValueError as error:
        return [([], problem.expected) for problem in error.problems]
    return [(path, problem.expected) for path, problem in found]
