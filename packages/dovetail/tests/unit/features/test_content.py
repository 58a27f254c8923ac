"""What authors return becomes blocks: plain values, bytes by their first bytes, mixed lists."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from dovetail import Annotations, Audio, EmbeddedResource, Image, Message, ResourceLink, Text
from dovetail.errors import UsageError
from dovetail.features.content import fit_block, fit_blocks, to_block, to_blocks, to_contents
from dovetail.spec import models
from dovetail.spec.revisions import REVISIONS, V2024_11_05, V2025_03_26, V2025_06_18

PNG = b"\x89PNG\r\n\x1a\n" + b"rest"
WAV = b"RIFF\x00\x00\x00\x00WAVEfmt "
LINK = ResourceLink(uri="n://a", name="a")


@dataclass
class Point:
    x: int
    y: int


class Size(msgspec.Struct):
    width: int


class Model(pydantic.BaseModel):
    name: str


def wire(value: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = msgspec.to_builtins(to_blocks(value))
    return blocks


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_text_is_one_block_and_none_is_no_block() -> None:
    assert wire("hello") == [{"type": "text", "text": "hello"}]
    assert wire("") == [{"type": "text", "text": ""}]
    assert wire(None) == []


@pytest.mark.parametrize(
    ("data", "kind", "mime_type"),
    [
        (PNG, "image", "image/png"),
        (b"\xff\xd8\xff\xe0", "image", "image/jpeg"),
        (b"GIF89a", "image", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBP", "image", "image/webp"),
        (b"<svg xmlns=''/>", "image", "image/svg+xml"),
        (WAV, "audio", "audio/wav"),
        (b"ID3\x04", "audio", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio", "audio/mpeg"),
        (b"OggS\x00", "audio", "audio/ogg"),
        (b"fLaC\x00", "audio", "audio/flac"),
    ],
)
def test_bytes_are_what_their_first_bytes_say(data: bytes, kind: str, mime_type: str) -> None:
    assert wire(data) == [{"type": kind, "data": encoded(data), "mimeType": mime_type}]


@pytest.mark.parametrize("data", [b"\x00\x01\x02", b""])
def test_bytes_of_no_known_format_are_an_embedded_resource(data: bytes) -> None:
    [block] = wire(data)
    assert block["type"] == "resource"
    assert block["resource"]["blob"] == encoded(data)
    assert block["resource"]["mimeType"] == "application/octet-stream"
    assert block["resource"]["uri"].startswith("urn:dovetail:blob:")
    assert wire(data) == [block]
    assert wire(data + b"x")[0]["resource"]["uri"] != block["resource"]["uri"]


def test_a_list_with_content_in_it_is_several_blocks_in_order() -> None:
    blocks = wire(["before", Image(PNG), Audio(WAV), PNG, LINK, EmbeddedResource("n://b", "B")])
    assert [block["type"] for block in blocks] == [
        "text",
        "image",
        "audio",
        "image",
        "resource_link",
        "resource",
    ]
    assert wire(("a", Text("b"))) == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None]}, '{"a":[1,null]}'),
        (["a", "b"], '["a","b"]'),
        ([], "[]"),
        (True, "true"),
        (3, "3"),
        (2.5, "2.5"),
        (Point(1, 2), '{"x":1,"y":2}'),
        (Size(3), '{"width":3}'),
        (Model(name="é"), '{"name":"é"}'),
        ([Model(name="a"), Point(1, 2)], '[{"name":"a"},{"x":1,"y":2}]'),
        ([Image, 1][1:], "[1]"),
    ],
)
def test_plain_data_is_its_json(value: Any, text: str) -> None:
    assert wire(value) == [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    "value",
    [object(), [Image(PNG), 5], {1j: 2}, "\ud800".join("ab").split("x")],
    ids=["object", "mixed list", "odd key", "half a pair"],
)
def test_what_is_no_content_and_no_json_is_a_clear_error(value: Any) -> None:
    with pytest.raises(UsageError, match=f"type {type(value).__name__} is neither content"):
        to_blocks(value)


def test_a_value_that_holds_itself_is_a_clear_error() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(UsageError, match="is neither content nor JSON"):
        to_blocks(loop)


def test_one_value_that_is_no_block_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(
        UsageError, match="expected text, Image, Audio, ResourceLink or EmbeddedResource, got int"
    ):
        to_block(5)


@pytest.mark.parametrize("media", [Image, Audio])
def test_media_takes_bytes_and_says_how_to_get_them(media: type[Image] | type[Audio]) -> None:
    with pytest.raises(UsageError, match=rf"{media.__name__} takes the bytes of the file, got str"):
        media("picture.png")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Image(b"???"), "begins with 'image/', got bytes of no known format"),
        (lambda: Image(PNG, "text/plain"), "begins with 'image/', got 'text/plain'"),
        (lambda: Image(WAV), "begins with 'image/', got 'audio/wav'"),
        (lambda: Audio(PNG), "begins with 'audio/', got 'image/png'"),
    ],
)
def test_media_of_another_family_is_refused(make: Any, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        make()


def test_media_takes_any_buffer_and_a_mime_type_of_its_family() -> None:
    assert Image(bytearray(PNG)).data == PNG  # type: ignore[arg-type]
    own = Image(memoryview(b"?"), "image/x-own")  # type: ignore[arg-type]
    assert own.to_block().mime_type == "image/x-own"
    assert Audio(b"?", "audio/x-own").to_block().mime_type == "audio/x-own"


def test_annotations_and_meta_stand_on_every_kind_of_block() -> None:
    notes = Annotations(audience=["user"], priority=0.5, last_modified="2026-01-01T00:00:00Z")
    meta = {"example.com/a": 1}
    for block in (
        Text("a", annotations=notes, meta=meta),
        Image(PNG, annotations=notes, meta=meta),
        Audio(WAV, annotations=notes, meta=meta),
        EmbeddedResource("n://a", "a", annotations=notes, meta=meta),
        ResourceLink(uri="n://a", name="a", annotations=notes, meta=meta),
    ):
        [shown] = wire(block)
        assert shown["annotations"] == {
            "audience": ["user"],
            "priority": 0.5,
            "lastModified": "2026-01-01T00:00:00Z",
        }
        assert shown["_meta"] == meta


def test_embedded_resources_hold_text_or_bytes() -> None:
    [text] = wire(EmbeddedResource("n://a", "A", "text/markdown"))
    assert text["resource"] == {"uri": "n://a", "mimeType": "text/markdown", "text": "A"}
    [blob] = wire(EmbeddedResource("n://a", PNG))
    assert blob["resource"] == {"uri": "n://a", "mimeType": "image/png", "blob": encoded(PNG)}
    assert to_contents("n://a", "A", None).mime_type == "text/plain"


def test_a_message_has_a_role_and_one_block() -> None:
    assert msgspec.to_builtins(Message("hi").to_message()) == {
        "role": "user",
        "content": {"type": "text", "text": "hi"},
    }
    assert Message(Image(PNG), "assistant").to_message().role == "assistant"
    with pytest.raises(UsageError, match="role must be 'user' or 'assistant', got 'system'"):
        Message("hi", "system")  # type: ignore[arg-type]


def test_blocks_pass_unchanged_where_the_revision_knows_all_of_them() -> None:
    blocks = to_blocks(["a", Audio(WAV), LINK])
    for revision in REVISIONS[2:]:
        assert fit_blocks(blocks, revision) == blocks


def test_a_link_becomes_text_where_there_are_no_links() -> None:
    notes = Annotations(priority=1.0)
    link = ResourceLink(
        uri="n://a", name="a", title="The A", description="first", annotations=notes
    )
    for revision in (V2024_11_05, V2025_03_26):
        [text] = fit_blocks([link], revision)
        assert text == models.TextContent(text="The A <n://a> first", annotations=notes)
    assert fit_block(LINK, V2024_11_05) == models.TextContent(text="a <n://a>")
    assert fit_block(LINK, V2025_06_18) is LINK


def test_sound_becomes_an_embedded_resource_where_there_is_no_audio() -> None:
    audio = Audio(WAV, annotations=Annotations(priority=0.0)).to_block()
    [shown] = fit_blocks([audio], V2024_11_05)
    assert isinstance(shown, models.EmbeddedResource)
    assert isinstance(shown.resource, models.BlobContents)
    assert (shown.resource.blob, shown.resource.mime_type) == (encoded(WAV), "audio/wav")
    assert shown.annotations == audio.annotations
    assert fit_blocks([audio], V2025_03_26) == [audio]
    text = models.TextContent(text="a")
    assert fit_blocks([text], V2024_11_05) == [text]
