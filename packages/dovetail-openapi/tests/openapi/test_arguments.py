"""Arguments: predictable names and schemas that clients can use."""

from __future__ import annotations

from typing import Any

from dovetail import Server
from tests.openapi.backend import Backend, call, document


def tool(operation: dict[str, Any], path: str = "/a") -> Any:
    spec = document({path: {"post": operation}})
    [listed] = Server.from_openapi(spec, client=Backend().client()).tools.list()
    return listed.input_schema


def parameter(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": {"type": "string"}, **more}


def test_a_shared_name_belongs_to_the_path_first() -> None:
    places = ("cookie", "header", "query", "path")
    parameters = [parameter("id", place) for place in places]
    parameters += [parameter("id_query", "query")]
    schema = tool({"parameters": parameters}, "/{id}")
    assert list(schema["properties"]) == [
        "id", "id_query", "id_query_query", "id_header", "id_cookie"
    ]  # fmt: skip
    assert schema["required"] == ["id"]
    assert schema["additionalProperties"] is False


def test_descriptions_of_parameters_are_used() -> None:
    schema = tool({"parameters": [parameter("q", "query", description="What to **find**.")]})
    assert schema["properties"]["q"] == {"type": "string", "description": "What to find."}


def test_bodies() -> None:
    def body(media_type: str, schema: Any) -> Any:
        content = {media_type: {"schema": schema}}
        return tool({"requestBody": {"content": content, "description": "The file."}})[
            "properties"
        ]["body"]

    assert body("application/pdf", {}) == {
        "type": "string",
        "contentEncoding": "base64",
        "description": "The file. Base64 of the bytes.",
    }
    assert body("text/csv", {"type": "array"})["type"] == "string"
    form = body("multipart/form-data", {"properties": {"f": {"format": "binary"}}})
    assert form["type"] == "object"
    assert form["properties"]["f"]["contentEncoding"] == "base64"


def test_wrong_arguments_are_refused_before_the_request() -> None:
    backend = Backend()
    spec = document(
        {"/a": {"get": {"operationId": "get", "parameters": [parameter("q", "query")]}}}
    )
    server = Server.from_openapi(spec, client=backend.client())
    assert "q: expected" in call(server, "get", {"q": 3}).text
    assert "other" in call(server, "get", {"other": 3}).text
    assert not backend.seen


def test_arguments_may_have_the_names_of_python_parameters() -> None:
    names = ["self", "context", "arguments", "_context", "class"]
    spec = document(
        {
            "/a": {
                "get": {"operationId": "get", "parameters": [parameter(n, "query") for n in names]}
            }
        }
    )
    backend = Backend()
    server = Server.from_openapi(
        spec, client=backend.client(), credentials=lambda context, scheme: None
    )
    given = dict.fromkeys(("self", "context", "arguments", "context_query", "class"), "x")
    assert not call(server, "get", given).is_error
    assert backend.seen[0].query == "self=x&context=x&arguments=x&_context=x&class=x"
