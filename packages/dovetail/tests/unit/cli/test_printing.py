"""Readable output."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dovetail.cli.printing import describe_block, describe_capabilities, print_result
from dovetail.client import CallResult
from dovetail.spec.models import (
    AudioContent,
    BlobContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextContents,
)


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (TextContent(text="[b]as it is[/b]"), "[b]as it is[/b]"),
        (ImageContent(data="AAAA" * 1000, mime_type="image/png"), "[image/png, 3.0 kB]"),
        (AudioContent(data="AA==", mime_type="audio/wav"), "[audio/wav, 1 B]"),
        (ImageContent(data="AAAA" * 500_000, mime_type="a/b"), "[a/b, 1.5 MB]"),
        (ResourceLink(uri="memo://a", name="a"), "[link memo://a a]"),
        (EmbeddedResource(resource=TextContents(uri="a:b", text="inside")), "inside"),
        (EmbeddedResource(resource=BlobContents(uri="a:b", blob="AAAA")), "[bytes, 3 B, a:b]"),
    ],
)
def test_content_is_text_or_a_summary(block: Any, text: str) -> None:
    assert describe_block(block) == text


def test_capabilities_show_enabled_options() -> None:
    declared = {"tools": {"listChanged": True}, "prompts": {"listChanged": False}, "logging": {}}
    assert describe_capabilities(declared) == "tools (listChanged), prompts, logging"
    assert describe_capabilities({}) == "none"


@pytest.mark.parametrize(
    ("texts", "structured", "shown"),
    [
        (['{"a":1}'], {"a": 1}, '{\n  "a": 1\n}\n'),
        (["2"], {"result": 2}, "2\n"),
        (["hey"], {"result": "hey"}, "hey\n"),
        (["a summary"], {"a": 1}, 'a summary\n{\n  "a": 1\n}\n'),
        ([], {"a": 1}, '{\n  "a": 1\n}\n'),
        (["null"], None, "null\n"),
    ],
)
def test_structured_content_is_shown_once(
    texts: list[str], structured: Any, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = [TextContent(text=text) for text in texts]
    print_result(CallResult("t", content, structured, has_structured=True))
    assert capsys.readouterr().out == shown


def test_control_characters_are_escaped_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = CallResult("t", [TextContent(text="\x1b[2Jgone\n\ttab \x9b1m")])
    print_result(result)
    assert capsys.readouterr().out == "\x1b[2Jgone\n\ttab \x9b1m\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_result(result)
    assert capsys.readouterr().out == "\\x1b[2Jgone\n\ttab \\x9b1m\n"
