"""Requests: every part from its argument, and no value that escapes from its part."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Server
from tests.openapi.backend import Backend, call, document, get


def test_each_parameter_goes_to_its_place() -> None:
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
        {"name": "id", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
        {"name": "theme", "in": "cookie", "schema": {"type": "string"}},
        {"name": "where", "in": "query", "content": {"application/json": {"schema": {}}}},
        {"name": "body", "in": "query", "schema": {"type": "string"}},
    ]
    item = {
        "post": {
            "operationId": "make",
            "parameters": parameters,
            "requestBody": {"required": True, "content": {"application/json": {"schema": {}}}},
        }
    }
    backend = Backend()
    server = Server.from_openapi(document({"/a/{id}/b": item}), client=backend.client())
    arguments = {
        "id": 7,
        "id_query": ["x", "y z"],
        "X_Trace": "t",
        "theme": "dark",
        "where": {"a": "b"},
        "body_query": "q",
        "body": {"n": 1},
    }
    assert not call(server, "make", arguments).is_error
    [seen] = backend.seen
    assert (seen.method, seen.path) == ("POST", "/v1/a/7/b")
    assert seen.query == "id=x&id=y%20z&where=%7B%22a%22%3A%22b%22%7D&body=q"
    assert (seen.headers["x-trace"], seen.headers["cookie"]) == ("t", "theme=dark")
    assert (seen.headers["content-type"], seen.body) == ("application/json", b'{"n":1}')


@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        ("/files/{name}", {"name": ".."}),
        ("/files/{name}", {"name": "."}),
        ("/files/{name}", {"name": ""}),
        ("/files/{name}", {"name": "../../admin"}),
        ("/files/{name}", {"name": "a/%2e%2e/b"}),
        ("/files/{name}", {"name": "..%2fadmin"}),
        ("/files/{name}", {"name": "..%2Fadmin"}),
        ("/files/{name}", {"name": "a%5c%2e.%5cb"}),
        ("/files/{name}", {"name": "..%252fadmin"}),
        ("/files/{name}", {"name": "%" + "25" * 1000}),
        ("/files/{name}", {"name": "..\\secret"}),
        ("/files/{name}", {"name": ["a", ".."]}),
        ("/files/{name}", {"name": []}),
        ("/files/{name}", {"name": {"..": "x"}}),
        ("/files/.{name}", {"name": "."}),
        ("/files/{name}{other}", {"name": ".", "other": "."}),
    ],
)
def test_a_value_cannot_leave_the_path(path: str, arguments: dict[str, Any]) -> None:
    backend = Backend()
    parameters = [{"name": name, "in": "path", "schema": {}} for name in arguments]
    server = Server.from_openapi(get(path, parameters=parameters), client=backend.client())
    result = call(server, "get", arguments)
    assert result.is_error
    assert "path" in result.text
    assert not backend.seen


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("a/b", "/v1/files/a%2Fb"),
        ("//evil.example", "/v1/files/%2F%2Fevil.example"),
        ("@evil.example", "/v1/files/%40evil.example"),
        ("x?a=b#c", "/v1/files/x%3Fa%3Db%23c"),
        ("...", "/v1/files/..."),
        ("a..b", "/v1/files/a..b"),
        ("ü", "/v1/files/%C3%BC"),
    ],
)
def test_a_value_is_one_segment_of_the_same_host(value: str, path: str) -> None:
    backend = Backend()
    server = Server.from_openapi(get("/files/{name}"), client=backend.client())
    assert not call(server, "get", {"name": value}).is_error
    assert (backend.seen[0].path, backend.seen[0].query) == (path, "")
    assert backend.hosts == ["api.example.com"]


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "a\nb", "a\x00b"])
def test_a_header_cannot_be_split(value: str) -> None:
    backend = Backend()
    parameters = [{"name": "X-A", "in": "header", "schema": {"type": "string"}}]
    server = Server.from_openapi(get("/a", parameters=parameters), client=backend.client())
    assert "not allowed in a header" in call(server, "get", {"X_A": value}).text
    assert not backend.seen


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/a#second", ("/v1/a", "q=1")),
        ("/a?do=x", ("/v1/a", "do=x&q=1")),
        ("/ä b", ("/v1/%C3%A4%20b", "q=1")),
    ],
)
def test_a_path_may_have_a_fragment_or_a_query(path: str, sent: tuple[str, str]) -> None:
    backend = Backend()
    parameters = [{"name": "q", "in": "query"}]
    server = Server.from_openapi(get(path, parameters=parameters), client=backend.client())
    call(server, "get", {"q": 1})
    assert (backend.seen[0].path, backend.seen[0].query) == sent


def test_null_is_left_out_and_accept_names_the_media_types() -> None:
    backend = Backend()
    parameters = [{"name": "a", "in": "query", "schema": {}}]
    responses = {"200": {"description": "", "content": {"text/csv": {}, "text/plain": {}}}}
    spec = get("/a", parameters=parameters, responses=responses)
    server = Server.from_openapi(spec, client=backend.client())
    call(server, "get", {"a": None})
    assert backend.seen[0].query == ""
    assert backend.seen[0].headers["accept"] == "text/csv, text/plain"
