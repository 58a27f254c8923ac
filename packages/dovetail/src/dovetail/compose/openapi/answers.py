"""Responses of the API as results of tools and contents of resources."""

from __future__ import annotations

import re

from dovetail.compose.openapi.api import ApiResponse
from dovetail.compose.openapi.operations import is_json_type
from dovetail.core.schema.json_values import read_json
from dovetail.core.schema.validator import SchemaValidator
from dovetail.errors import InvalidValueError, ResourceNotFoundError, ToolError
from dovetail.features.content import Audio, EmbeddedResource, Image
from dovetail.features.tools import ToolResult

__all__ = ["to_contents", "to_result"]

# Characters of the body in an error, and of a page that are searched for them.
_SHOWN = 1500
_SEARCHED = 20_000
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_TEXT_TYPES = ("text/", "application/xml", "application/javascript", "application/yaml")


def to_result(answer: ApiResponse, label: str, validator: SchemaValidator | None) -> ToolResult:
    """Return the result of a tool; `validator` is that of its output schema."""
    problem = describe_failure(answer, label)
    if problem is not None:
        return ToolResult(problem, is_error=True)
    if validator is not None:
        return _structured(answer, label, validator)
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


def _structured(answer: ApiResponse, label: str, validator: SchemaValidator) -> ToolResult:
    try:
        value = read_json(answer.body)
        validator.check(value)
    except InvalidValueError as error:
        # The request was successful, and the model needs to know that and what came back.
        problems = "; ".join(map(str, error.problems[:5]))
        return ToolResult(
            f"{label} succeeded ({_status(answer)}), but the response does not match the schema "
            f"of the API: {problems}\n{_text(answer)[:_SHOWN]}",
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


def _status(answer: ApiResponse) -> str:
    return f"{answer.status} {answer.reason}".rstrip()


def _text(answer: ApiResponse) -> str:
    found = re.search(r"charset=\"?([\w-]+)", answer.media_type)
    try:
        return answer.body.decode(found[1] if found else "utf-8", "replace")
    except LookupError:
        return answer.body.decode("utf-8", "replace")
