from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_design.media import identify, read_data_uri


@pytest.mark.parametrize(
    ("head", "mime", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png", "IMAGE"),
        (b"\xff\xd8\xff\xe0", "image/jpeg", "IMAGE"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", "IMAGE"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav", "AUDIO"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- a -->\n<svg/>", "image/svg+xml", "IMAGE"),
        (b"OTTO\0\x01", "font/otf", "FONT"),
        (b"\0\0\0\x18ftypmp42", "video/mp4", "VIDEO"),
    ],
)
def test_a_file_is_what_its_first_bytes_say(head: bytes, mime: str, kind: str) -> None:
    assert identify(head, kind, "file").mime_type == mime
    assert identify(head, "OTHER", "file").kind == "OTHER"


@pytest.mark.parametrize("data", [b"", b"MZ\x90", b"<html><svg/></html>", b"OTTO"])
def test_a_file_that_is_not_what_it_is_called_is_refused(data: bytes) -> None:
    with pytest.raises(ToolError):
        identify(data, "IMAGE", "photo.png")


def test_data_uris() -> None:
    assert read_data_uri("data:text/plain;base64,aGk=") == b"hi"
    assert read_data_uri("data:image/svg+xml;charset=utf-8,%3Csvg/%3E") == b"<svg/>"
    for wrong in ("data:image/png;base64,@@", "data", "http://example.org/a.png"):
        with pytest.raises(ToolError):
            read_data_uri(wrong)
