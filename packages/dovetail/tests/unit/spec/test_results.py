"""Decoding of results whose content msgspec cannot decode by itself."""

from __future__ import annotations

import msgspec
import pytest

from dovetail.errors import PeerError
from dovetail.spec.models import BlobContents, EmbeddedResource, TextContents
from dovetail.spec.results import ListToolsResult, WireCallResult, WireReadResult, read_blocks


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


def test_a_page_has_a_cursor() -> None:
    body = b'{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"n"}'
    page = msgspec.json.decode(body, type=ListToolsResult)
    assert ([tool.name for tool in page.tools], page.next_cursor) == (["a"], "n")
