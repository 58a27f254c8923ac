"""`Filter`: include and exclude, for names and for URIs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Client, Options, Server
from dovetail.errors import RpcError
from dovetail.mount.view import Filter

TEMPLATE = "notes://{id}/text"


@pytest.mark.parametrize(
    ("include", "exclude", "name", "shown"),
    [
        (None, [], "get_item", True),
        (["get_*"], [], "get_item", True),
        (["get_*"], [], "delete_item", False),
        (["get_*"], ["get_i*"], "get_item", False),
        (None, ["{odd"], "{odd", False),
    ],
)
def test_names_match_patterns(
    include: list[str] | None, exclude: list[str], name: str, shown: bool
) -> None:
    assert Filter(include, exclude).shows(name) is shown


@pytest.mark.parametrize(
    ("include", "exclude", "uri", "templates", "shown"),
    [
        (None, ["notes://1/text"], "notes://1/text", [TEMPLATE], False),
        (None, ["notes://1/text"], "notes://%31/text", [TEMPLATE], False),
        (None, ["notes://1/text"], "notes://2/text", [TEMPLATE], True),
        # The template that serves the URI counts, known or as a pattern.
        (None, [TEMPLATE], "notes://1/text", [TEMPLATE], False),
        (None, [TEMPLATE], "notes://1/text", [], False),
        (None, [TEMPLATE], "notes://../text", [], False),
        (None, ["notes://{*"], "notes://1/text", [TEMPLATE], False),
        ([TEMPLATE], [], "notes://1/text", [TEMPLATE], True),
        ([TEMPLATE], [], "notes://1/text", [TEMPLATE, "notes://{other}/text"], True),
        (["notes://{i*"], [], "notes://1/text", [TEMPLATE, "notes://{other}/text"], False),
        ([TEMPLATE], [], "notes://1/draft", ["notes://{id}/draft"], False),
        # All spellings have to be included.
        (["notes://public/*"], [], "notes://public%2Fx", [], False),
        (["notes://public/*"], [], "notes://public/%78", [], True),
    ],
)
def test_uris_match_in_all_spellings_and_by_their_templates(
    include: list[str] | None, exclude: list[str], uri: str, templates: list[str], shown: bool
) -> None:
    assert Filter(include, exclude).shows_uri(uri, templates) is shown


def make_tagged() -> Server:
    inner = Server("inner")
    for tag in ("old", "new"):
        inner.tool(tag, tags={tag})(lambda: "text")
        inner.prompt(tag, tags={tag})(lambda: "text")
        inner.resource(f"note://{tag}", name=tag, tags={tag})(lambda: "text")
        inner.resource(f"{tag}://{{id}}", name=tag, tags={tag})(lambda id: id)
    return inner


@pytest.mark.parametrize("options", [{"exclude_tags": {"old"}}, {"include_tags": {"new"}}])
@pytest.mark.parametrize("how", ["mounted", "nested", "imported"])
def test_the_tags_that_a_server_leaves_out_apply_to_other_servers_in_it(
    options: dict[str, Any], how: str
) -> None:
    outer, inner = Server("outer", options=Options(**options)), make_tagged()
    if how == "nested":
        inner, innermost = Server("middle"), inner
        inner.mount(innermost)
    if how == "imported":
        outer.import_server(inner)
    else:
        outer.mount(inner)

    async def scenario() -> None:
        async with Client(outer) as client:
            assert [tool.name for tool in await client.list_tools()] == ["new"]
            assert [prompt.name for prompt in await client.list_prompts()] == ["new"]
            assert [each.uri for each in await client.list_resources()] == ["note://new"]
            templates = await client.list_templates()
            assert [each.uri_template for each in templates] == ["new://{id}"]
            assert (await client.read("new://1")).text == "1"
            for uri in ("old://1", "note://old"):
                with pytest.raises(RpcError):
                    await client.read(uri)
            with pytest.raises(RpcError, match="Unknown tool"):
                await client.call("old")

    asyncio.run(scenario())
