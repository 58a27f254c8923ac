"""The result limit: text is cut, anything else over the limit is an error."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Image, Server
from dovetail.errors import UsageError
from dovetail.middleware import ResultLimit
from tests.unit.talk import ERAS, ask, call, refusal, text_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(3000)


def make_server(limit: ResultLimit) -> Server:
    server = Server("s", middleware=[limit])

    @server.tool
    async def text(size: int) -> Any:
        return "ä" * size

    @server.tool
    async def data(size: int) -> dict[str, str]:
        return {"text": "x" * size}

    @server.tool
    async def picture() -> Image:
        return Image(PNG, "image/png")

    @server.resource("notes://{size}")
    async def note(size: int) -> str:
        return "x" * size

    return server


@pytest.mark.parametrize("revision", ERAS)
def test_a_result_below_the_limit_is_unchanged(revision: str) -> None:
    server = make_server(ResultLimit(1000))
    assert text_of(call(server, "text", {"size": 10}, revision=revision)) == "ä" * 10
    assert call(server, "data", {"size": 10}, revision=revision)["structuredContent"]


@pytest.mark.parametrize("revision", ERAS)
def test_text_is_cut_between_characters_and_says_so(revision: str) -> None:
    text = text_of(call(make_server(ResultLimit(101)), "text", {"size": 500}, revision=revision))
    kept, note = text.split("\n")
    assert kept == "ä" * 50
    assert note.startswith("[cut: the result has 1,0") and "the limit is 101" in note


@pytest.mark.parametrize("name", ["data", "picture"])
def test_other_results_are_errors(name: str) -> None:
    given = {"size": 5000} if name == "data" else {}
    result = call(make_server(ResultLimit(1000)), name, given)
    assert result["isError"] is True
    assert text_of(result).startswith("The result is too large: ")


def test_text_can_be_an_error_too() -> None:
    result = call(make_server(ResultLimit(100, cut=False)), "text", {"size": 500})
    assert result["isError"] is True


def test_tools_can_have_limits_of_their_own() -> None:
    server = make_server(ResultLimit(100, tools={"text": 10_000}))
    assert text_of(call(server, "text", {"size": 500})) == "ä" * 500


def test_resources_are_bounded() -> None:
    server = make_server(ResultLimit(1000))
    assert ask(server, "resources/read", {"uri": "notes://10"})["contents"]
    error = refusal(server, "resources/read", {"uri": "notes://5000"})
    assert "The result is too large" in error["message"]


def test_a_limit_is_positive() -> None:
    cases: list[dict[str, Any]] = [{"max_bytes": 0}, {"max_bytes": 5, "tools": {"t": 0}}]
    for wrong in cases:
        with pytest.raises(UsageError, match="at least 1 byte, got 0"):
            ResultLimit(**wrong)
