"""The public methods of the client: lists, results, opening and closing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.errors import DovetailError, MethodNotFoundError, PeerError, ToolError, UsageError
from dovetail.spec.models import EmbeddedResource, ImageContent, Prompt, ResourceTemplate
from tests.peers.scripted import DISCOVERED, INITIALIZED, Answer, Script, ScriptedServer, run


def modern(script: Script) -> ScriptedServer:
    return ScriptedServer({"server/discover": DISCOVERED, **script})


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


def test_a_list_is_followed_to_its_end_even_through_an_empty_cursor() -> None:
    pages: dict[str | None, dict[str, Any]] = {
        None: {"tools": [tool("a")], "nextCursor": ""},
        "": {"tools": [tool("b")], "nextCursor": "x"},
        "x": {"tools": [tool("c")]},
    }

    def answer(message: dict[str, Any]) -> Answer:
        return pages[message["params"].get("cursor")]

    async def list_tools() -> tuple[list[str], str | None]:
        async with Client(modern({"tools/list": answer})) as client:
            page = await client.list_tools_page("")
            return [tool.name for tool in await client.list_tools()], page.next_cursor

    assert run(list_tools()) == (["a", "b", "c"], "x")


def test_a_repeated_cursor_raises_peer_error() -> None:
    async def list_tools() -> None:
        server = modern({"tools/list": {"tools": [], "nextCursor": "again"}})
        async with Client(server) as client:
            await client.list_tools()

    with pytest.raises(PeerError, match="cursor 'again' was repeated"):
        run(list_tools())


def test_undeclared_lists_are_not_requested() -> None:
    server = ScriptedServer(
        {
            "initialize": {**INITIALIZED, "capabilities": {}},
            "prompts/list": MethodNotFoundError("no"),
        }
    )

    async def list_all() -> list[Any]:
        async with Client(server, mode="legacy") as client:
            with pytest.raises(MethodNotFoundError):
                await client.list_prompts_page()
            return [
                *await client.list_tools(),
                *await client.list_prompts(),
                *await client.list_resources(),
                *await client.list_templates(),
            ]

    assert run(list_all()) == []
    assert server.methods()[2:] == ["prompts/list"]


def test_a_result_has_text_blocks_and_structured_content() -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}},
        {"type": "text", "text": "two"},
    ]
    answers: Iterator[Answer] = iter(
        [
            {"content": content, "_meta": {"k": 1}},
            {"content": content, "structuredContent": {"n": [1, None]}},
            {"content": [], "structuredContent": None},
            {"content": content[:1], "isError": True},
            {"content": [], "isError": True},
        ]
    )

    async def call() -> None:
        async with Client(modern({"tools/call": lambda _: next(answers)})) as client:
            plain = await client.call("t")
            assert (plain.text, plain.data, plain.structured) == ("one\ntwo", "one\ntwo", None)
            assert plain.meta == {"k": 1}
            assert plain.raise_for_error() is plain
            assert isinstance(plain.content[1], ImageContent)
            assert isinstance(plain.content[2], EmbeddedResource)
            structured = await client.call("t")
            assert structured.data == structured.structured == {"n": [1, None]}
            null = await client.call("t")
            assert null.has_structured
            assert null.data is None
            failed = await client.call("t")
            assert failed.is_error
            with pytest.raises(ToolError, match="one"):
                failed.raise_for_error()
            with pytest.raises(ToolError, match="'t' failed without a message"):
                (await client.call("t")).raise_for_error()

    run(call())


def test_resources_are_text_or_bytes() -> None:
    contents = [{"uri": "a:1", "text": "x"}, {"uri": "a:2", "blob": "AA==", "mimeType": "b/c"}]

    async def read() -> tuple[str, list[tuple[str, str | None]]]:
        async with Client(modern({"resources/read": {"contents": contents}})) as client:
            result = await client.read("a:1")
            return result.text, [(blob.blob, blob.mime_type) for blob in result.blobs]

    assert run(read()) == ("x", [("AA==", "b/c")])


@pytest.mark.parametrize(
    ("ref", "sent"),
    [
        ("review", {"type": "ref/prompt", "name": "review"}),
        ("memo://a", {"type": "ref/resource", "uri": "memo://a"}),
        ("memo:{a}", {"type": "ref/resource", "uri": "memo:{a}"}),
        (Prompt(name="a://b"), {"type": "ref/prompt", "name": "a://b"}),
        (
            ResourceTemplate(name="t", uri_template="x:{y}"),
            {"type": "ref/resource", "uri": "x:{y}"},
        ),
    ],
)
def test_completion_distinguishes_prompts_and_resources(ref: Any, sent: dict[str, str]) -> None:
    server = modern({"completion/complete": {"completion": {"values": ["v"], "total": 1}}})

    async def complete() -> list[str]:
        async with Client(server) as client:
            return (await client.complete(ref, "arg", "v", {"other": "o"})).values

    assert run(complete()) == ["v"]
    params = server.last("completion/complete")["params"]
    assert params["ref"] == sent
    assert params["argument"] == {"name": "arg", "value": "v"}
    assert params["context"] == {"arguments": {"other": "o"}}


def test_any_request_can_be_sent_as_plain_json() -> None:
    server = modern({"x.example/do": {"resultType": "complete", "n": 1}})

    async def ask() -> Any:
        async with Client(server) as client:
            return await client.request("x.example/do", {"a": 1}, meta={"k": "v"})

    assert run(ask())["n"] == 1
    params = server.last("x.example/do")["params"]
    assert params["a"] == 1
    assert params["_meta"]["k"] == "v"


def test_a_client_must_be_open_and_is_opened_once_at_a_time() -> None:
    server = modern({})

    async def misuse() -> None:
        client = Client(server)
        with pytest.raises(UsageError, match="not open"):
            await client.call("t")
        async with client:
            with pytest.raises(UsageError, match="already open"):
                await client.__aenter__()
        async with client:
            assert client.revision
            assert client.supported_revisions == ("2026-07-28",)

    run(misuse())
    assert server.connections == 2


def test_a_client_that_cannot_be_opened_leaves_nothing_open() -> None:
    server = modern({"subscriptions/listen": {"resultType": "complete"}})

    async def fail() -> None:
        with pytest.raises(DovetailError, match="before it was acknowledged"):
            async with Client(server, on_change=lambda _: None):
                pytest.fail("was entered")
        assert server.closed

    run(fail())
