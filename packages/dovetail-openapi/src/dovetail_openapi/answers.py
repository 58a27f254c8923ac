"""Responses of the API as results of tools and contents of resources."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import islice
from typing import Any

import jsonschema_rs
import msgspec

from dovetail import Audio, EmbeddedResource, Image, ResourceNotFoundError, ToolError, ToolResult
from dovetail_openapi.api import ApiResponse
from dovetail_openapi.operations import is_json_type

__all__ = ["OutputSchema", "to_contents", "to_result"]

# Characters of the body in an error, and of a page that are searched for them.
_SHOWN = 1500
_SEARCHED = 20_000
_MAX_PROBLEMS = 5
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_TEXT_TYPES = ("text/", "application/xml", "application/javascript", "application/yaml")


class OutputSchema:
    """The output schema of a tool, compiled when it is first needed."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema

    def problems(self, value: Any) -> list[str]:
        """Return the first problems of a response, none if it is valid."""
        errors = islice(self._validator.iter_errors(value), _MAX_PROBLEMS)
        return [f"{_place(error.instance_path)}: {error.message}" for error in errors]

    @cached_property
    def _validator(self) -> jsonschema_rs.Validator:
        return jsonschema_rs.validator_for(self._schema, retriever=_refuse_to_fetch)


def to_result(answer: ApiResponse, label: str, output: OutputSchema | None) -> ToolResult:
    """Return the result of a tool; `output` is its output schema."""
    problem = describe_failure(answer, label)
    if problem is not None:
        return ToolResult(problem, is_error=True)
    if output is not None:
        return _structured(answer, label, output)
    return ToolResult(_to_content(answer, label))


def to_contents(answer: ApiResponse, label: str, uri: str) -> str | bytes:
    """Return the contents of a resource; raises ResourceNotFoundError or ToolError."""
    if answer.status in (404, 410):
        raise ResourceNotFoundError(uri)
    problem = describe_failure(answer, label)
    if problem is not None:
        raise ToolError(problem)
    return _text(answer) if is_text(answer.media_type) else answer.body


def describe_failure(answer: ApiResponse, label: str) -> str | None:
    """Return the status and the beginning of the body, None for a success."""
    if 200 <= answer.status < 300:
        return None
    text = f"{label} failed: {_status(answer)}"
    body = _text(answer) if is_text(answer.media_type) or not answer.media_type else ""
    if "html" in answer.media_type:
        body = _TAG.sub(" ", body[:_SEARCHED])
    body = " ".join(body.split())
    if len(body) > _SHOWN:
        body = body[:_SHOWN] + "…"
    return f"{text}\n{body}" if body else text


def is_text(media_type: str) -> bool:
    """Whether a response is text."""
    return is_json_type(media_type) or media_type.lower().startswith(_TEXT_TYPES)


def _structured(answer: ApiResponse, label: str, output: OutputSchema) -> ToolResult:
    try:
        value = msgspec.json.decode(answer.body)
        problems = output.problems(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems = [f"it is not valid JSON: {error}"]
    if problems:
        # The request was successful, and the model needs to know that and what came back.
        return ToolResult(
            f"{label} succeeded ({_status(answer)}), but the response does not match the schema "
            f"of the API: {'; '.join(problems)}\n{_text(answer)[:_SHOWN]}",
            is_error=True,
        )
    return ToolResult(structured=value)


def _to_content(answer: ApiResponse, label: str) -> str | Image | Audio | EmbeddedResource:
    if not answer.body:
        return f"{label} succeeded: {_status(answer)}"
    media_type = answer.media_type.partition(";")[0].strip().lower()
    if is_text(media_type) or not media_type:
        return _text(answer)
    for family in (Image, Audio):
        if media_type.startswith(family.family) and "svg" not in media_type:
            return family(answer.body, media_type)
    return EmbeddedResource(f"urn:dovetail:response:{answer.status}", answer.body, media_type)


def _place(path: list[str | int]) -> str:
    return ".".join(map(str, path)) or "the response"


def _refuse_to_fetch(uri: str) -> Any:
    raise LookupError(f"{uri} is outside the schema")


def _status(answer: ApiResponse) -> str:
    return f"{answer.status} {answer.reason}".rstrip()


def _text(answer: ApiResponse) -> str:
    found = re.search(r"charset=\"?([\w-]+)", answer.media_type)
    try:
        return answer.body.decode(found[1] if found else "utf-8", "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")
