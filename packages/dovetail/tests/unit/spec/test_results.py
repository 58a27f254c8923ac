"""Decoding of results whose content msgspec cannot decode by itself."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.errors import PeerError
from dovetail.spec.models import (
    BlobContents,
    EmbeddedResource,
    TextContent,
    TextContents,
    ToolResultContent,
)
from dovetail.spec.results import (
    ListToolsResult,
    WireCallResult,
    WireReadResult,
    WireSampledBlock,
    read_blocks,
    read_sampled_block,
)


def test_contents_are_text_or_a_blob() -> None:
    body = b'{"contents":[{"uri":"a:1","text":"x"},{"uri":"a:2","blob":"eA=="}]}'
    read = [each.read() for each in msgspec.json.decode(body, type=WireReadResult).contents]
    assert read == [TextContents(uri="a:1", text="x"), BlobContents(uri="a:2", blob="eA==")]


def test_contents_without_text_and_blob_are_an_error() -> None:
    found = msgspec.json.decode(b'{"contents":[{"uri":"a:1"}]}', type=WireReadResult)
    with pytest.raises(PeerError, match="neither text nor blob"):
        found.contents[0].read()


def test_embedded_resources_become_their_model() -> None:
    body = b'{"content":[{"type":"resource","resource":{"uri":"a:1","text":"x"}}]}'
    blocks = read_blocks(msgspec.json.decode(body, type=WireCallResult).content)
    assert blocks == [EmbeddedResource(resource=TextContents(uri="a:1", text="x"))]


def test_tool_results_of_a_sampling_message_become_their_model() -> None:
    body = (
        b'[{"type":"text","text":"x"},{"type":"tool_result","toolUseId":"u","isError":true,'
        b'"content":[{"type":"resource","resource":{"uri":"a:1","text":"y"}}]}]'
    )
    blocks = msgspec.json.decode(body, type=list[WireSampledBlock])
    assert [read_sampled_block(block) for block in blocks] == [
        TextContent(text="x"),
        ToolResultContent(
            tool_use_id="u",
            content=[EmbeddedResource(resource=TextContents(uri="a:1", text="y"))],
            is_error=True,
        ),
    ]


def test_a_page_has_a_cursor() -> None:
    body = b'{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"n"}'
    page = msgspec.json.decode(body, type=ListToolsResult)
    assert ([tool.name for tool in page.tools], page.next_cursor) == (["a"], "n")
