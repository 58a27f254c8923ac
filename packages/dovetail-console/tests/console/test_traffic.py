from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail_console.traffic import Traffic, classify
from tests.console.pages import take


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"id":1,"method":"ping"}', ("request", "ping", 1)),
        ('{"method":"a/b"}', ("notification", "a/b", None)),
        ('{"id":"x","result":{}}', ("response", None, "x")),
        ('{"id":1,"error":{}}', ("error", None, 1)),
        ('[{"id":1,"method":"ping"},{}]', ("request", "ping", 1)),
        ("[]", ("http", None, None)),
        ("", ("http", None, None)),
        ("<html>", ("http", None, None)),
        ("{}", ("http", None, None)),
    ],
)
def test_a_message_has_a_kind(text: str, expected: tuple[Any, ...]) -> None:
    assert classify(text) == expected


def test_the_last_500_frames_are_kept_and_long_texts_are_cut() -> None:
    async def run() -> list[dict[str, Any]]:
        traffic = Traffic()
        for number in range(600):
            traffic.add("a", "out", f"{number} {'x ' * 40_000 if number == 599 else ''}")
        return await take(traffic, 500)

    frames = asyncio.run(run())
    assert [frame["n"] for frame in frames] == list(range(101, 601))
    assert len(frames[-1]["text"]) < 65 * 1024
    assert frames[-1]["text"].endswith("[cut]")


def test_a_page_that_reads_slowly_loses_the_oldest_frames_only() -> None:
    async def run() -> list[int]:
        traffic = Traffic()
        following = traffic.follow()
        traffic.add("a", "out", "first")
        assert (await anext(following))["text"] == "first"
        for number in range(1500):
            traffic.add("a", "out", str(number))
        found = [int((await anext(following))["text"]) for _ in range(1000)]
        await following.aclose()  # type: ignore[attr-defined]
        return found

    assert asyncio.run(run()) == list(range(500, 1500))


@pytest.mark.parametrize(
    ("params", "target"),
    [
        ('{"name":"add"}', "add"),
        ('{"uri":"a:b","name":1}', "a:b"),
        ('{"name":"%s"}' % ("n" * 300), "n" * 200),
        ("{}", None),
        ("[]", None),
    ],
)
def test_a_request_names_its_tool_and_so_does_its_response(params: str, target: Any) -> None:
    traffic = Traffic()
    text = f'{{"id":1,"method":"tools/call","params":{params}}}'
    request = traffic.add("a", "out", text)
    assert request["target"] == target
    for answer in ('{"id":1,"result":{"name":"other"}}', '{"id":1,"error":{}}'):
        frame = traffic.add("a", "in", answer, request=request)
        assert (frame["method"], frame["target"]) == ("tools/call", target)
    progress = '{"method":"notifications/progress","params":{}}'
    assert traffic.add("a", "in", progress, request=request)["target"] is None
