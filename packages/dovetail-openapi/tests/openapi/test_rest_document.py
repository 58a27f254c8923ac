"""The OpenAPI document of a server, judged by another library."""

from __future__ import annotations

from typing import Any

import msgspec
from openapi_spec_validator import OpenAPIV31SpecValidator

from dovetail import Server
from dovetail_openapi.rest import describe_tools

INFO = {"name": "shop", "version": "2", "title": "The shop", "description": "Sells tea."}


class Tree(msgspec.Struct):
    """A recursive type."""

    name: str
    children: list[Tree] = []


def make_server() -> Server:
    server = Server("shop", version="2")

    @server.tool(title="Addition")
    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    @server.tool("grow.tree-1")
    def grow(tree: Tree) -> Tree:
        return tree

    @server.tool
    def hello() -> str:
        return "hello"

    return server


def describe(**options: Any) -> dict[str, Any]:
    tools = msgspec.to_builtins(make_server().tools.list())
    return describe_tools(tools, INFO, **options)


def test_the_document_is_valid() -> None:
    headers = [b"authorization", b"x-api-key"]
    document = describe(servers=["https://a.example"], credential_headers=headers)
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"] == {"title": "The shop", "version": "2", "description": "Sells tea."}
    assert document["servers"] == [{"url": "https://a.example"}]
    assert document["security"] == [{"bearer": []}, {"x-api-key": []}]


def test_each_tool_is_an_operation() -> None:
    document = describe()
    assert list(document["paths"]) == ["/tools/add", "/tools/grow.tree-1", "/tools/hello"]
    add = document["paths"]["/tools/add"]["post"]
    assert (add["operationId"], add["summary"]) == ("add", "Addition")
    assert add["description"] == "Add two numbers."
    assert add["requestBody"]["required"] is True
    assert "security" not in document


def test_references_lead_to_the_components() -> None:
    schemas = describe()["components"]["schemas"]
    tree = schemas["grow.tree-1.input"]["properties"]["tree"]
    assert tree["$ref"] == "#/components/schemas/grow.tree-1.input/$defs/Tree"


def test_a_result_that_is_no_object_is_in_one() -> None:
    """As the structured content of results is, at the revisions that demand an object."""
    schemas = describe()["components"]["schemas"]
    assert schemas["add.output"]["properties"] == {"result": {"type": "integer"}}
    answers = describe()["paths"]["/tools/hello"]["post"]["responses"]
    schema = answers["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/Content"}


def test_the_document_can_be_made_into_a_server_again() -> None:
    again = Server.from_openapi(describe(servers=["https://a.example"]))
    assert [tool.name for tool in again.tools.list()] == ["add", "grow_tree-1", "hello"]
