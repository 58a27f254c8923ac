"""Elicitation (client/elicitation): ask the user with a form made from a type, or with a URL.

A form is flat: strings, numbers, booleans and choices. The schema of the form and the validation
of the answer come from the same type.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import msgspec

from dovetail.core.call import Ask, Call
from dovetail.core.schema import TypeSchema, type_schema
from dovetail.core.schema.validator import SchemaValidator
from dovetail.errors import InvalidValueError, ToolError, UsageError
from dovetail.spec.models import ElicitFormParams, ElicitResult, ElicitUrlParams
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = ["Accepted", "Cancelled", "Choices", "Declined", "Elicited", "elicit"]

T = TypeVar("T")

_FORMATS = {"email", "uri", "date", "date-time"}
# The keywords that the restricted schema of the specification allows, by type of field.
_ALLOWED = {
    "string": {"type", "title", "description", "minLength", "maxLength", "format", "default",
               "enum", "enumNames", "oneOf"},
    "number": {"type", "title", "description", "minimum", "maximum", "default"},
    "integer": {"type", "title", "description", "minimum", "maximum", "default"},
    "boolean": {"type", "title", "description", "default"},
    "array": {"type", "title", "description", "minItems", "maxItems", "items", "default"},
}  # fmt: skip


class Choices:
    """The values a form field may take: `Annotated[str, Choices({"#f00": "Red"})]`.

    A mapping gives each value a title; a sequence does not. On `list[str]` the user may
    pick several. `legacy=True` sends titles the way 2025-06-18 did (`enumNames`).
    """

    def __init__(self, values: Mapping[str, str] | Sequence[str], *, legacy: bool = False) -> None:
        self.values: list[str] = list(values)
        self.titles: list[str] | None = (
            list(values.values()) if isinstance(values, Mapping) else None
        )
        self.legacy = legacy

    def schema(self, titled_enums: bool) -> dict[str, Any]:
        """Return the JSON Schema of one value."""
        if self.titles is None:
            return {"type": "string", "enum": self.values}
        if self.legacy or not titled_enums:
            return {"type": "string", "enum": self.values, "enumNames": self.titles}
        pairs = zip(self.values, self.titles, strict=True)
        return {"type": "string", "oneOf": [{"const": v, "title": t} for v, t in pairs]}


class Accepted(Generic[T]):
    """The user accepted. `data` is a validated value of the type asked for, None for a URL."""

    __slots__ = ("data",)

    # Literal types, so that type checkers tell the answers apart by either of them.
    action: Literal["accept"] = "accept"
    accepted: Literal[True] = True

    def __init__(self, data: T) -> None:
        self.data: T = data

    def __repr__(self) -> str:
        return f"Accepted({self.data!r})"


class Declined:
    """The user said no."""

    __slots__ = ()

    action: Literal["decline"] = "decline"
    accepted: Literal[False] = False
    data: None = None

    def __repr__(self) -> str:
        return "Declined()"


class Cancelled:
    """The user dismissed the question without an answer."""

    __slots__ = ()

    action: Literal["cancel"] = "cancel"
    accepted: Literal[False] = False
    data: None = None

    def __repr__(self) -> str:
        return "Cancelled()"


Elicited: TypeAlias = Accepted[T] | Declined | Cancelled
"""The answer of the user; `data` is None unless the user accepted."""

_REFUSED: Mapping[str, Declined | Cancelled] = {"decline": Declined(), "cancel": Cancelled()}


async def elicit(
    call: Call, message: str, form: Any, url: str | None, key: str | None
) -> Elicited[Any]:
    """Send the question, wait for the answer and validate it."""
    if (form is None) == (url is None):
        raise UsageError("elicit needs either a type for a form or a url, got both or neither")
    mode = "form" if url is None else "url"
    _require_mode(call, mode)
    key = call.record.claim(key, "elicit")
    if url is not None:
        answer = await call.era.ask(call, Ask(key, "elicitation/create", _url(call, message, url)))
        action = _decode(call, answer, key).action
        return Accepted(None) if action == "accept" else _REFUSED[action]
    schema = _form_of(form)
    params = ElicitFormParams(
        message=message, requested_schema=fit_form(schema.form, call.era.revision)
    )
    answer = await call.era.ask(call, Ask(key, "elicitation/create", codec.encode(params)))
    result = _decode(call, answer, key)
    if result.action != "accept":
        return _REFUSED[result.action]
    try:
        return Accepted(schema.convert(result.content or {}))
    except InvalidValueError as error:
        # elicit.validate-response (2026-07-28 client/elicitation)
        raise call.era.bad_answer(f"The answer to {key!r} does not fit the form: {error}") from None


def _require_mode(call: Call, mode: str) -> None:
    # elicit.capability (2025-11-25 client/elicitation): only modes the client declared
    declared = call.peer.capabilities.get("elicitation")
    revision = call.era.revision
    known = revision.elicitation if mode == "form" else revision.url_elicitation
    # A client that names no mode supports forms: the first version had no other mode.
    modes = ("form",) if isinstance(declared, dict) and "url" not in declared else declared or ()
    if not known or not isinstance(declared, dict) or mode not in modes:
        raise call.era.undeclared(call, {"elicitation": {mode: {}}})


def _url(call: Call, message: str, url: str) -> bytes:
    if "://" not in url:
        raise UsageError(f"elicit needs an absolute URL, got {url!r}")
    identified = call.era.revision.url_elicitation_id
    return codec.encode(
        ElicitUrlParams(
            mode="url",
            message=message,
            url=url,
            elicitation_id=secrets.token_urlsafe(16) if identified else None,
        )
    )


def _decode(call: Call, answer: msgspec.Raw, key: str) -> ElicitResult:
    try:
        return codec.decode_as(ElicitResult, answer)
    except msgspec.ValidationError as error:
        raise call.era.bad_answer(
            f"The answer to {key!r} is no elicitation result: {error}"
        ) from None


# -- forms ------------------------------------------------------------------------------


class _Form:
    """The schema of a form and the validation of its answer."""

    def __init__(
        self, form: dict[str, Any], check: TypeSchema | None, shown: SchemaValidator | None
    ) -> None:
        self.form = form
        self._check = check
        # Validates against the form itself, where that is stricter than the type.
        self._shown = shown

    def convert(self, content: dict[str, Any]) -> Any:
        """Return the answer as a value of the type; raises InvalidValueError."""
        if self._shown is not None:
            # Clients may send null for an empty field, but a form has no null.
            self._shown.check({k: v for k, v in content.items() if v is not None})
        return content if self._check is None else self._check.convert(content)


@lru_cache(maxsize=256)
def _form_of_type(type_: Any) -> _Form:
    check = type_schema(type_, inline_refs=True)
    root = check.json_schema
    if root.get("type") != "object" or "properties" not in root:
        raise UsageError(
            f"a form is made from a class with fields (dataclass, Struct, TypedDict, pydantic "
            f"model), got {type_!r}"
        )
    choices = _choices_of(type_)
    properties = {
        name: _field(name, schema, choices.get(name)) for name, schema in root["properties"].items()
    }
    form: dict[str, Any] = {"type": "object", "properties": properties}
    if root.get("required"):
        form["required"] = list(root["required"])
    # The type of a field with `Choices` is str, so only the form knows the allowed values.
    shown = SchemaValidator(form, asserts_formats=False) if choices else None
    return _Form(form, check, shown)


def _form_of(form: Any) -> _Form:
    if isinstance(form, dict):
        shown = SchemaValidator(form, asserts_formats=False)
        shown.compile("the form")
        if form.get("type") != "object" or "properties" not in form:
            raise UsageError('a form has "type": "object" and "properties" at its root')
        return _Form(form, None, shown)
    return _form_of_type(form)


def _choices_of(type_: Any) -> dict[str, Choices]:
    found = {}
    for name, hint in get_type_hints(type_, include_extras=True).items():
        # The annotation itself, or the part of a union that has the choices.
        for part in (hint, *get_args(hint)):
            for extra in getattr(part, "__metadata__", ()):
                if isinstance(extra, Choices):
                    found[name] = extra
    return found


def _field(name: str, schema: dict[str, Any], choices: Choices | None) -> dict[str, Any]:
    schema = _without_null(schema)
    if choices is not None:
        values = choices.schema(titled_enums=True)
        if schema.get("type") == "array":
            schema = {**schema, "items": _titled_items(values)}
        else:
            schema = {**schema, **values}
    elif "enum" in schema:
        schema = {"type": "string", **schema}
    elif schema.get("type") == "array" and "enum" in schema.get("items", {}):
        schema = {**schema, "items": {"type": "string", "enum": schema["items"]["enum"]}}
        schema.pop("uniqueItems", None)
    kind = schema.get("type")
    if kind == "array" and not {"enum", "anyOf"} & schema.get("items", {}).keys():
        kind = None
    if not isinstance(kind, str) or kind not in _ALLOWED:
        # elicit.form.schema (2025-11-25 client/elicitation): flat, primitive fields only
        raise UsageError(
            f"a form field is text, a number, a boolean or a choice; field {name!r} is "
            f"{schema.get('type', 'something else')}"
        )
    if schema.get("format") not in _FORMATS:
        schema = {k: v for k, v in schema.items() if k != "format"}
    return {k: v for k, v in schema.items() if k in _ALLOWED[kind] and v is not None}


def _titled_items(values: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": values["oneOf"]} if "oneOf" in values else values


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without null: a form has no null, an optional field is left out."""
    variants = schema.get("anyOf")
    if not variants:
        return schema
    others = [v for v in variants if v.get("type") != "null"]
    rest = {k: v for k, v in schema.items() if k != "anyOf"}
    return {**others[0], **rest} if len(others) == 1 else schema


def fit_form(form: dict[str, Any], revision: Revision) -> dict[str, Any]:
    """Return the form with the keywords that `revision` knows."""
    if revision.titled_enums and revision.elicitation_defaults:
        return form
    return {
        **form,
        "properties": {name: _older_field(name, f) for name, f in form["properties"].items()},
    }


def _older_field(name: str, field: dict[str, Any]) -> dict[str, Any]:
    if field.get("type") == "array":
        raise ToolError(
            f"This needs a choice of several values ({name!r}), which the client's version of "
            "the protocol cannot show."
        )
    fitted = {k: v for k, v in field.items() if k != "default" or field.get("type") == "boolean"}
    pairs = fitted.pop("oneOf", None)
    if pairs:
        fitted["enum"] = [pair["const"] for pair in pairs]
        fitted["enumNames"] = [pair["title"] for pair in pairs]
    return fitted
