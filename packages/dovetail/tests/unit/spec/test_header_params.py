"""Parameters in headers: named where they may be, refused where a client would drop the tool."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from dovetail import Server
from dovetail.core.call import Call
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.spec.header_params import Header, annotate, find_headers
from tests.unit.fakes import make_call
from tests.unit.talk import ask

STRING = {"type": "string"}


def marked(name: Any = "Region", **field: Any) -> dict[str, Any]:
    return {"type": "string", "x-mcp-header": name, **field}


def having(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize("name", ["Region", "x", "A-1", "!#$%&'*+.^_`|~"])
def test_a_header_name_is_a_token(name: str) -> None:
    assert Header(name).name == name


@pytest.mark.parametrize("name", ["", " ", "a b", "a:b", "a\n", "ä", "a\x00", "(x)", '"a"'])
def test_what_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="header name"):
        Header(name)


def test_annotations_become_keywords_of_the_schema() -> None:
    hints = {"a": Annotated[str, "words", Header("A")], "b": Annotated[str, "words"], "c": int}
    schema = having(a=STRING, b=STRING, c={"type": "integer"})
    annotated = annotate(hints, schema)
    assert annotated["properties"] == {"a": marked("A"), "b": STRING, "c": {"type": "integer"}}
    assert "x-mcp-header" not in schema["properties"]["a"]


def test_without_annotations_the_schema_is_left_alone() -> None:
    schema = having(a=STRING)
    assert annotate({"a": str}, schema) is schema


def test_parameters_are_found_at_any_depth() -> None:
    schema = having(
        a=marked("A"),
        b=having(c=marked("C", type="integer"), d=having(e=marked("E", type="boolean"))),
        f=True,
    )
    assert find_headers(schema, "t") == ((("a",), "A"), (("b", "c"), "C"), (("b", "d", "e"), "E"))


def test_a_schema_without_headers_has_none() -> None:
    assert find_headers(having(a=STRING), "t") == ()
    assert find_headers({"type": "object"}, "t") == ()


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (having(a=marked(type="number")), "'a' is number"),
        (having(a=marked(type="array")), "'a' is array"),
        (having(a=marked(type=["string", "null"])), "only a string"),
        (having(a=having(b={"x-mcp-header": "X"})), "'a.b' is something else"),
        (having(a=marked("")), "header name"),
        (having(a=marked("a b")), "header name"),
        (having(a=marked(5)), "header name"),
        (having(a=marked("Same"), b=marked("sAME")), "same header"),
        (having(a={"type": "array", "items": marked()}), "inside arrays"),
        (having(a={"anyOf": [marked(), {"type": "null"}]}), "choices"),
        ({**having(), "$defs": {"d": marked()}}, "definitions"),
        ({**having(), "if": having(a=marked())}, "conditions"),
    ],
)
def test_what_a_client_would_drop_is_refused(schema: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        find_headers(schema, "t")


def call_of(server: Server) -> Call:
    call = make_call()
    call.services = server.engine
    return call


def test_a_tool_lists_its_headers_and_the_server_knows_them() -> None:
    server = Server("s")

    @server.tool
    def query(region: Annotated[str, Header("Region")], text: str) -> str:
        return region + text

    [listed] = ask(server, "tools/list")["tools"]
    assert listed["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"
    call = call_of(server)
    assert server.tools.header_params("query", call) == ((("region",), "Region"),)
    assert server.tools.header_params("other", call) == ()


def test_headers_of_a_tool_that_is_not_for_the_caller_are_not_asked_for() -> None:
    server = Server("s")

    @server.tool(scopes={"deep"})
    def query(region: Annotated[str, Header("Region")]) -> str:
        return region

    call = call_of(server)
    assert server.tools.header_params("query", call) == ()
    call.principal = Principal("anna", {"deep"})
    assert server.tools.header_params("query", call) == ((("region",), "Region"),)


def test_a_tool_with_a_header_that_must_not_be_is_not_registered() -> None:
    server = Server("s")

    def query(amount: Annotated[float, Header("Amount")]) -> str:
        return str(amount)

    with pytest.raises(UsageError, match=r"tool 'query' \(.*\): only a string"):
        server.tool(query)


def test_a_property_may_be_called_like_the_annotation() -> None:
    schema = {"type": "object", "properties": {"x-mcp-header": {"type": "string"}}}
    assert find_headers(schema, "t") == ()
