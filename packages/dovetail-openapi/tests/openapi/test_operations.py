"""Operations: what is read of a document, and which documents are refused."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.errors import UsageError
from dovetail_openapi.document import read_document
from dovetail_openapi.operations import Operation, find_operations
from tests.openapi.backend import document


def read(path: str, item: dict[str, Any], **parts: Any) -> Operation:
    [head] = find_operations(read_document(document({path: item}, **parts)))
    return head.read()


def test_parameters_of_the_operation_replace_those_of_the_path() -> None:
    item = {
        "parameters": [{"name": "a", "in": "query"}, {"name": "b", "in": "query"}],
        "get": {"parameters": [{"name": "a", "in": "query", "required": True}]},
    }
    assert [(p.name, p.required) for p in read("/", item).parameters] == [("a", True), ("b", False)]


def test_defaults_of_styles() -> None:
    places = ("path", "query", "header", "cookie")
    parameters = [{"name": "x", "in": place} for place in places]
    found = read("/{x}", {"get": {"parameters": parameters}}).parameters
    assert [(p.style, p.explode) for p in found] == [
        ("simple", False), ("form", True), ("simple", False), ("form", True)
    ]  # fmt: skip


def test_a_variable_that_nothing_describes_is_a_text() -> None:
    operation = read("/{id}", {"get": {"parameters": [{"name": "gone", "in": "path"}]}})
    assert [(p.name, p.place, p.required) for p in operation.parameters] == [("id", "path", True)]


@pytest.mark.parametrize("name", ["Host", "content-length", "Authorization", "Cookie"])
def test_headers_of_the_connection_are_no_parameters(name: str) -> None:
    assert not read("/", {"get": {"parameters": [{"name": name, "in": "header"}]}}).parameters


def test_json_is_preferred() -> None:
    content: dict[str, Any] = {"text/plain": {}, "multipart/form-data": {}, "application/json": {}}
    operation = read(
        "/", {"post": {"requestBody": {"content": content}, "responses": {"200": {
            "description": "", "content": {"application/xml": {}, "application/vnd.a+json": {}}}}}}
    )  # fmt: skip
    assert operation.body is not None
    assert operation.body.kind == "json"
    assert operation.media_types == ("application/vnd.a+json",)


@pytest.mark.parametrize(
    ("responses", "has_schema"),
    [
        ({"200": "A"}, True),
        ({"200": "A", "404": "B"}, True),
        ({"200": "A", "201": "A"}, True),
        ({"200": "A", "201": "B"}, False),
        ({"200": "A", "204": None}, False),
        ({"default": "A"}, True),
        ({"2XX": "A", "default": "B"}, True),
        ({}, False),
    ],
)
def test_all_successes_share_the_output_schema(responses: Any, has_schema: bool) -> None:
    written = {
        status: {"description": "", "content": {} if name is None else {
            "application/json": {"schema": {"title": name}}}}
        for status, name in responses.items()
    }  # fmt: skip
    assert (read("/", {"get": {"responses": written}}).output is not None) is has_schema


def test_security_and_servers_of_the_operation_come_first() -> None:
    operation = read(
        "/",
        {"get": {"security": [{"a": []}, {}], "servers": [{"url": "https://b.example"}]}},
        security=[{"c": []}],
        servers=[{"url": "https://d.example"}],
    )
    assert operation.security == (("a",), ())
    assert operation.server is not None
    assert operation.server.text("url") == "https://b.example"


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ({"a": {}}, "#/paths/a: a path begins with a slash"),
        ({"/a": []}, "#/paths/~1a: expected an object"),
        ({"/a": {"get": []}}, "#/paths/~1a/get: expected an object"),
        ({"/a": {"get": {"parameters": {}}}}, "#/paths/~1a/get/parameters: expected an array"),
        ({"/a": {"get": {"parameters": [{"in": "query"}]}}}, "parameters/0: .* needs a name"),
        ({"/a": {"get": {"parameters": [{"name": "a", "in": "body"}]}}},
         "parameters/0: in is one of path, query, header, cookie, got 'body'"),
        ({"/a": {"get": {"parameters": [{"name": "a", "in": "query", "style": "matrix"}]}}},
         "parameters/0: style in query is one of form, .* got 'matrix'"),
        ({"/a": {"get": {"parameters": [{"$ref": "#/no"}]}}}, "parameters/0: the .ref .* nowhere"),
        ({"/a": {"get": {"responses": []}}}, "get/responses: expected an object"),
    ],
)  # fmt: skip
def test_a_broken_operation_is_named(paths: Any, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        for head in find_operations(read_document(document(paths))):
            head.read()


def test_a_document_without_paths_is_refused_unless_it_has_webhooks() -> None:
    with pytest.raises(UsageError, match="has no paths"):
        list(find_operations(read_document({"openapi": "3.1.0"})))
    assert not list(find_operations(read_document({"openapi": "3.1.0", "webhooks": {}})))
