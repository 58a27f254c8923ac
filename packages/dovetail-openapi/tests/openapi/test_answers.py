"""Responses of the API as results."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from dovetail import Server
from dovetail.spec.models import EmbeddedResource, ImageContent
from tests.openapi.backend import Backend, call, get, json_answer

PET = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
PETS = {"200": {"description": "", "content": {"application/json": {"schema": PET}}}}
PNG = b"\x89PNG\r\n\x1a\n"


def answered(answer: Any, **operation: Any) -> Any:
    return call(Server.from_openapi(get("/a", **operation), client=Backend(answer).client()), "get")


def response(status: int = 200, content: bytes = b"", media_type: str = "") -> Any:
    headers = {"content-type": media_type} if media_type else {}
    return lambda request: httpx.Response(status, content=content, headers=headers)


def test_an_object_is_structured() -> None:
    result = answered(json_answer({"name": "Rex", "age": 3}), responses=PETS)
    assert result.structured == {"name": "Rex", "age": 3}


def test_a_response_that_breaks_its_schema_is_an_error_with_the_data() -> None:
    result = answered(json_answer({"age": 3}, 201), responses=PETS)
    assert result.is_error
    assert "GET /a succeeded (201 Created), but the response does not match" in result.text
    assert '{"age": 3}' in result.text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (response(204), "GET /a succeeded: 204 No Content"),
        (response(200, b"\xe4", "text/plain; charset=latin-1"), "ä"),
        (response(200, b"[1]", "application/json"), "[1]"),
        (response(200, b"a", "text/plain; charset=nonsense"), "a"),
    ],
)
def test_text(answer: Any, text: str) -> None:
    result = answered(answer)
    assert not result.is_error
    assert result.text == text


def test_bytes() -> None:
    [image] = answered(response(200, PNG, "image/png")).content
    assert isinstance(image, ImageContent)
    [blob] = answered(response(200, b"%PDF", "application/pdf")).content
    assert isinstance(blob, EmbeddedResource)
    assert blob.resource.mime_type == "application/pdf"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (response(404), "GET /a failed: 404 Not Found"),
        (json_answer({"message": "no such pet"}, 422),
         'GET /a failed: 422 Unprocessable Entity\n{"message": "no such pet"}'),
        (response(500, b"<html><style>p{}</style><h1>Oops</h1></html>", "text/html"),
         "GET /a failed: 500 Internal Server Error\nOops"),
        (response(500, PNG, "image/png"), "GET /a failed: 500 Internal Server Error"),
    ],
)  # fmt: skip
def test_a_failure_is_readable(answer: Any, text: str) -> None:
    result = answered(answer, responses=PETS)
    assert result.is_error
    assert result.text == text


def test_the_body_of_a_failure_is_short() -> None:
    assert len(answered(response(500, b"x" * 100_000, "text/plain")).text) < 1600
