"""The parameters of a function as one JSON object: its schema, its decoder, its errors.

All parameters become the fields of one msgspec struct, which one decoder fills. A schema written
by hand is advertised unchanged and enforced by the compiled JSON Schema alone; the function then
gets plain JSON values.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

import msgspec

from dovetail.core.schema.annotations import (
    Parameter,
    docstring_of,
    name_of_function,
    read_parameters,
    takes_any_keyword,
)
from dovetail.core.schema.docstrings import parse_docstring
from dovetail.core.schema.json_schema import SchemaWriter, default_json
from dovetail.core.schema.json_values import read_json
from dovetail.core.schema.pydantic_types import text_in
from dovetail.core.schema.references import Schema, assemble
from dovetail.core.schema.typed import TypeSchema, write_type
from dovetail.core.schema.validator import (
    JSON_STRING_HINT,
    SchemaValidator,
    missing_value,
    unknown_key,
)
from dovetail.errors import InvalidValueError, Problem, UsageError

__all__ = ["ArgumentsSchema", "arguments_schema"]

NO_ARGUMENTS = b"{}"
NOUN = "argument"
OPTION = "Options(accept_json_strings=True)"
PLAIN_DEFAULTS = (bool, int, float, str, bytes, type(None))

DecodeArguments = Callable[[bytes], dict[str, Any]]


class ParameterProvider(Protocol):
    """A function whose value a parameter gets, and the arguments that it takes itself."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function."""

    @property
    def where(self) -> str:
        """The function in error messages."""

    @property
    def parameters_of_client(self) -> Collection[Parameter]:
        """The parameters that are arguments of the client."""


class ArgumentsSchema:
    """The arguments of one function: their schema and the decoder to keyword arguments."""

    def __init__(
        self,
        json_schema: Schema,
        parameters: list[Parameter],
        names: tuple[str, ...],
        required: frozenset[str],
        decode: DecodeArguments,
        *,
        accept_json_strings: bool,
    ) -> None:
        self.json_schema = json_schema
        self.names = names
        self.required = required
        self.positional_only: tuple[str, ...] = tuple(
            each.name for each in parameters if each.is_positional_only
        )
        self._decode = decode
        self._accept_json_strings = accept_json_strings

    def decode(self, raw: bytes | None) -> dict[str, Any]:
        """Return the keyword arguments, defaults filled in; raises InvalidValueError."""
        try:
            return self._decode(NO_ARGUMENTS if raw is None else raw)
        except InvalidValueError as error:
            if self._accept_json_strings:
                raise
            raise InvalidValueError([self._name_option(each) for each in error.problems]) from None

    def _name_option(self, problem: Problem) -> Problem:
        # The option is for whole arguments, not for values inside of them.
        if problem.hint != JSON_STRING_HINT or problem.path not in self.names:
            return problem
        hint = f"{JSON_STRING_HINT} (the server accepts it with {OPTION})"
        return Problem(problem.path, problem.actual, problem.expected, hint)


def arguments_schema(
    fn: Callable[..., Any],
    *,
    skip: Collection[str] = (),
    providers: Sequence[ParameterProvider] = (),
    json_schema: dict[str, Any] | None = None,
    inline_refs: bool = False,
    accept_json_strings: bool = False,
    where: str | None = None,
) -> ArgumentsSchema:
    """Return the schema of a function's parameters; raises UsageError for types without one.

    The parameters that `providers` take from the client follow those of the function. `where` names
    the function in error messages.
    """
    where = where or name_of_function(fn)
    repair = unwrap_json_strings if accept_json_strings else None
    if json_schema is not None:
        return _by_hand(fn, skip, providers, json_schema, repair, where)
    parameters = read_parameters(fn, skip, where=where)
    parameters += _parameters_of(providers, parameters, where)
    writer = SchemaWriter(is_result=False)
    texts: dict[str, str] = {}
    for function in (*(each.function for each in reversed(providers)), fn):
        texts.update(parse_docstring(docstring_of(function)).parameters)
    decoded_types: list[Any] = []
    properties: dict[str, Schema] = {}
    for each in parameters:
        decoded_type, schema = write_type(
            each.annotation, writer, f"{where}: parameter {each.name!r}"
        )
        text = text_in(each.annotation) or texts.get(each.name)
        if text:
            schema = {**schema, "description": text}
        if not each.is_required:
            schema = {**schema, **default_json(each.default, schema)}
        decoded_types.append(decoded_type)
        properties[each.name] = schema
    required = [each.name for each in parameters if each.is_required]
    root: Schema = {"type": "object", "properties": properties}
    if required:
        root["required"] = required
    root["additionalProperties"] = False
    root = assemble(root, writer.definitions, inline_refs=inline_refs)
    struct = _struct(parameters, decoded_types)
    typed = TypeSchema(
        struct,
        root,
        differs=writer.differs,
        lacks_defaults=writer.lacks_defaults,
        takes_names=writer.takes_names,
        noun=NOUN,
        repair=repair,
    )
    if writer.has_foreign_parts:
        typed.validator.compile(where)
    names = tuple(properties)
    decode = _struct_to_dict(typed.decode, struct, names)
    return ArgumentsSchema(
        root,
        parameters,
        names,
        frozenset(required),
        decode,
        accept_json_strings=accept_json_strings,
    )


def _parameters_of(
    providers: Sequence[ParameterProvider], own: list[Parameter], where: str
) -> list[Parameter]:
    """Return the parameters of the providers that the function does not have itself."""
    found = {each.name: each for each in own}
    for provider in providers:
        for each in provider.parameters_of_client:
            first = found.setdefault(each.name, each)
            if (first.annotation, first.default) != (each.annotation, each.default):
                raise UsageError(
                    f"{where}: {provider.where} has a parameter {each.name!r} with another "
                    "annotation or default than the one of that name before it; write both alike, "
                    "or rename one"
                )
    return list(found.values())[len(own) :]


def _struct(parameters: list[Parameter], decoded_types: list[Any]) -> type[msgspec.Struct]:
    # Some names cannot be fields of a Struct (`__x`, `__dict__`); then all fields are renamed.
    is_plain = not any(each.name.startswith("_") for each in parameters)
    fields = [
        (each.name if is_plain else f"p{index}", decoded_type, _default(each))
        for index, (each, decoded_type) in enumerate(zip(parameters, decoded_types, strict=True))
    ]
    wire_names = {field[0]: each.name for field, each in zip(fields, parameters, strict=True)}
    return msgspec.defstruct(
        "Arguments", fields, rename=wire_names, forbid_unknown_fields=True, kw_only=True
    )


def _default(parameter: Parameter) -> Any:
    if parameter.is_required:
        return msgspec.field()
    if parameter.make_default is not None:
        return msgspec.field(default_factory=parameter.make_default)
    if isinstance(parameter.default, PLAIN_DEFAULTS):
        return msgspec.field(default=parameter.default)
    # The same object, as a Python call would pass it; msgspec might reject it.
    return msgspec.field(default_factory=lambda: parameter.default)


def _struct_to_dict(
    decode: Callable[[bytes], Any], struct: type[msgspec.Struct], names: tuple[str, ...]
) -> DecodeArguments:
    if set(struct.__struct_fields__) == set(names):
        as_dict = msgspec.structs.asdict
        return lambda raw: as_dict(decode(raw))
    as_tuple = msgspec.structs.astuple
    wire_names = struct.__struct_encode_fields__
    return lambda raw: dict(zip(wire_names, as_tuple(decode(raw)), strict=True))


def _by_hand(
    fn: Callable[..., Any],
    skip: Collection[str],
    providers: Sequence[ParameterProvider],
    json_schema: dict[str, Any],
    repair: Callable[[Any, SchemaValidator], Any] | None,
    where: str,
) -> ArgumentsSchema:
    if json_schema.get("type") != "object":
        raise UsageError(
            f'{where}: input_schema must be an object with "type": "object" at its root'
        )
    schema = copy.deepcopy(json_schema)  # the author's dict may change later
    validator = SchemaValidator(schema, asserts_formats=False)
    validator.compile(where)
    parameters = read_parameters(fn, skip, any_keywords=True, where=where)
    parameters += _parameters_of(providers, parameters, where)
    takes_any = takes_any_keyword(fn)
    own_names = [each.name for each in parameters]
    described = list(schema.get("properties", {}))
    unknown = [name for name in described if name not in own_names]
    if unknown and not takes_any:
        raise UsageError(
            f"{where}: input_schema describes {', '.join(unknown)}, which the function does not "
            "take; add the parameter or **kwargs"
        )
    names = tuple(own_names + unknown)
    needed = {each.name for each in parameters if each.is_required}
    required = frozenset(needed | set(schema.get("required", ())))

    def decode(raw: bytes) -> dict[str, Any]:
        value = read_json(raw)
        if not validator.is_valid(value):
            if repair is not None:
                value = repair(value, validator)
            validator.check(value, NOUN)
        problems = [missing_value([name]) for name in own_names if name in needed - value.keys()]
        if not takes_any:
            # The schema may allow additional properties that the function cannot take.
            problems += [
                unknown_key([key], value[key], own_names, NOUN)
                for key in value
                if key not in own_names
            ]
        if problems:
            raise InvalidValueError(problems)
        fields = (each for each in parameters if each.make_default and each.name not in value)
        return {**value, **{each.name: each.make_default() for each in fields if each.make_default}}

    return ArgumentsSchema(
        schema, parameters, names, required, decode, accept_json_strings=repair is not None
    )


def unwrap_json_strings(value: Any, validator: SchemaValidator) -> Any:
    """Replace string arguments that fail the schema by the JSON in them, where that passes."""
    if not isinstance(value, dict):
        return value
    unwrapped = dict(value)
    for name in validator.failing_keys(value):
        text = value.get(name)
        if isinstance(text, str):
            unwrapped[name] = _json_in(text)
    for name in validator.failing_keys(unwrapped):
        unwrapped[name] = value[name]
    return unwrapped


def _json_in(text: str) -> Any:
    try:
        inner = read_json(text.encode())
    except InvalidValueError:
        return text
    return text if isinstance(inner, str) else inner
