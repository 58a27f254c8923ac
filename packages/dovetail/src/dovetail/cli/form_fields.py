"""One field of a form that a server asks the user to fill in: its question, and its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dovetail.cli.arguments import parse_value
from dovetail.core.schema.validator import SchemaValidator
from dovetail.errors import PeerError, UsageError
from dovetail.schema import choices, resolve
from dovetail.wire import codec

__all__ = ["FormField", "read_fields"]

_YES_NO = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class FormField:
    """A field, by its JSON Schema."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def has_default(self) -> bool:
        """Whether an empty answer means the default value."""
        return "default" in self.schema

    @property
    def choices(self) -> Mapping[str, str]:
        """The allowed values with their titles; empty if any value is allowed."""
        given = self.schema.get("items") if self.is_list else self.schema
        found = choices(resolve(given, self.schema), self.schema)
        return {str(choice.value): choice.title for choice in found}

    @property
    def is_list(self) -> bool:
        """Whether several values may be chosen."""
        return self.schema.get("type") == "array"

    def describe(self) -> list[str]:
        """The lines to show above the prompt."""
        title = self.schema.get("title")
        head = f"{self.name}: {title}" if title and title != self.name else self.name
        lines = [head if self.is_required else f"{head} (optional)"]
        if self.schema.get("description"):
            lines.append(f"  {self.schema['description']}")
        for number, (value, name) in enumerate(self.choices.items(), 1):
            lines.append(f"  {number}. {value}  {name}" if name else f"  {number}. {value}")
        return lines

    def prompt(self) -> str:
        """The prompt, with the default value in brackets."""
        if self.choices:
            text = f"choose 1-{len(self.choices)}"
            text += ", separated by commas" if self.is_list else ""
        else:
            text = "y/n" if self.schema.get("type") == "boolean" else "value"
        if self.has_default:
            text += f" [{_show(self.schema['default'])}]"
        return f"  {text}: "

    def parse(self, text: str) -> Any:
        """The value of an answer; raises UsageError that says what is expected."""
        if self.choices:
            if not self.is_list:
                return self._choose(text)
            return self.check([self._choose(part.strip()) for part in text.split(",") if part])
        if self.schema.get("type") == "boolean" and text.lower() in _YES_NO:
            return _YES_NO[text.lower()]
        return self.check(parse_value(text, self.name, self.schema, self.schema))

    def _choose(self, text: str) -> str:
        values = list(self.choices)
        if text in values:
            return text
        if text.isdecimal() and 1 <= int(text) <= len(values):
            return values[int(text) - 1]
        raise UsageError(f"{self.name}: expected one of {', '.join(values)}, got {text!r}")

    def check(self, value: Any) -> Any:
        """Return the value if the schema allows it; raises UsageError.

        Raises PeerError if the schema is invalid.
        """
        schema = {"type": "object", "properties": {self.name: dict(self.schema)}}
        validator = SchemaValidator(schema, asserts_formats=True)
        try:
            validator.compile("the form")
        except UsageError as error:
            raise PeerError(str(error)) from None
        problems = validator.problems({self.name: value})
        if problems:
            raise UsageError("; ".join(map(str, problems)))
        return value


def read_fields(form: Mapping[str, Any] | None) -> list[FormField]:
    """The fields of the form in a request; none if the server only asks for a confirmation."""
    form = form or {}
    required = form.get("required") or ()
    return [
        FormField(name, schema if isinstance(schema, Mapping) else {}, name in required)
        for name, schema in (form.get("properties") or {}).items()
    ]


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "y" if value else "n"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else codec.encode(value).decode()
