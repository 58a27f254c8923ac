"""Answers what a server asks the user: from --answer and --yes, or in the terminal."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import click

from dovetail.cli.arguments import parse_value, split_pair
from dovetail.cli.failures import FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.log_format import escape_control
from dovetail.client import ElicitRequest, ElicitResponse
from dovetail.core.schema.validator import SchemaValidator
from dovetail.errors import PeerError, UsageError
from dovetail.schema import choices, resolve
from dovetail.wire import codec

__all__ = [
    "Questions",
]

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


def _read_fields(form: Mapping[str, Any] | None) -> list[FormField]:
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


_DECISIONS = {"": "send", "y": "send", "yes": "send", "n": "decline", "no": "decline"} | {
    "e": "edit",
    "edit": "edit",
}


class _Cancelled(Exception):
    """The user pressed Ctrl-D."""


class Questions:
    """The elicitation callback of a command.

    `ask` reads a line from the user; without it, only the given answers and defaults are used.
    """

    def __init__(
        self,
        answers: Sequence[str] = (),
        *,
        accepts: bool = False,
        ask: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> None:
        self._texts = _read_answers(answers)
        self._unused = set(self._texts)
        self._accepts = accepts
        self._ask = None if accepts else ask
        self.can_answer: bool = accepts or bool(answers) or self._ask is not None
        # Why the last request could not be answered: an exception in a callback would be sent to
        # the server instead of the user.
        self.problem: Failure | None = None
        # A server may ask several questions at once; the terminal has room for one.
        self._one_at_a_time = asyncio.Lock()

    @property
    def unused(self) -> Sequence[str]:
        """The keys of --answer that no form had."""
        return sorted(self._unused)

    async def answer(self, request: ElicitRequest) -> ElicitResponse:
        """The response to one request."""
        async with self._one_at_a_time:
            try:
                if request.mode == "url":
                    return await self._visit(request)
                return await self._fill_in(request)
            except (UsageError, PeerError) as error:
                text = f"The server asks: {request.message} - {error}"
                code = WRONG_USAGE if isinstance(error, UsageError) else FAILED_CALL
                self.problem = Failure(text, code)
            except _Cancelled:
                click.echo(err=True)
            return ElicitResponse.cancel()

    # -- forms ------------------------------------------------------------------------------

    async def _fill_in(self, request: ElicitRequest) -> ElicitResponse:
        fields = _read_fields(request.schema)
        given = self._read_given(fields)
        open_fields = [field for field in fields if field.name not in given]
        if self._ask is None or (given and not open_fields):
            return ElicitResponse.accept({**given, **_defaults(open_fields)})
        _print(f"The server asks: {request.message}")
        while True:
            values = {**given, **await self._ask_each(open_fields)}
            decision = await self._decide("Send this? [Y]es, [n]o, [e]dit; Ctrl-D cancels: ")
            if decision == "send":
                return ElicitResponse.accept(values)
            if decision == "decline":
                return ElicitResponse.decline()

    def _read_given(self, fields: Sequence[FormField]) -> dict[str, Any]:
        """The values from --answer."""
        found = {}
        for field in fields:
            if field.name in self._texts:
                self._unused.discard(field.name)
                texts = self._texts[field.name]
                found[field.name] = field.parse(",".join(texts) if field.is_list else texts[-1])
        return found

    async def _ask_each(self, fields: Sequence[FormField]) -> dict[str, Any]:
        values = {}
        for field in fields:
            for line in field.describe():
                _print(line)
            text = await self._read(field.prompt())
            while (problem := _find_problem(field, text)) is not None:
                _print(f"  {problem}")
                text = await self._read(field.prompt())
            if text:
                values[field.name] = field.parse(text)
            elif field.has_default:
                values[field.name] = field.schema["default"]
        return values

    async def _decide(self, prompt: str) -> str:
        while (decision := _DECISIONS.get((await self._read(prompt)).lower())) is None:
            _print("  Type y, n or e")
        return decision

    async def _read(self, prompt: str) -> str:
        assert self._ask is not None
        text = await self._ask(escape_control(prompt))
        if text is None:
            raise _Cancelled
        return text.strip()

    # -- URLs -------------------------------------------------------------------------------

    async def _visit(self, request: ElicitRequest) -> ElicitResponse:
        url = request.url or ""
        host = _find_host(url)
        # The user must consent before the URL is opened (2025-11-25 client/elicitation).
        if self._ask is None and not self._accepts:
            raise UsageError(f"it asks to visit {url}; add --yes to open it")
        _print(f"The server asks you to visit {host}: {request.message}")
        _print(f"  {url}")
        if self._ask is not None:
            text = (await self._read("Open it in your browser? [Y]es, [n]o: ")).lower()
            if _DECISIONS.get(text) != "send":
                return ElicitResponse.decline()
        if not webbrowser.open(url):
            _print("  No browser was found; open the URL yourself")
        return ElicitResponse.accept()


def _read_answers(answers: Sequence[str]) -> Mapping[str, Sequence[str]]:
    texts: dict[str, list[str]] = {}
    for pair in answers:
        key, text = split_pair(pair, "--answer")
        texts.setdefault(key, []).append(text)
    return texts


def _defaults(fields: Sequence[FormField]) -> dict[str, Any]:
    missing = [field.name for field in fields if field.is_required and not field.has_default]
    if missing:
        hint = " ".join(f"--answer {name}=VALUE" for name in missing)
        raise UsageError(f"it needs {', '.join(missing)}; add {hint}")
    return {field.name: field.schema["default"] for field in fields if field.has_default}


def _find_problem(field: FormField, text: str) -> str | None:
    """What is wrong with an answer; None if it is valid."""
    if not text:
        is_missing = field.is_required and not field.has_default
        return f"{field.name} is required" if is_missing else None
    try:
        field.parse(text)
    except UsageError as error:
        return str(error)
    return None


def _find_host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PeerError(f"it names {url!r} to visit, which is not an http:// or https:// URL")
    return parts.hostname


def _print(line: str) -> None:
    click.echo(escape_control(line), err=True)
