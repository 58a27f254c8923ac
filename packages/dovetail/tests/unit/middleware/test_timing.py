"""Timing: every request is reported once, whatever becomes of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dovetail import Server, ToolError
from dovetail.middleware import Timed, Timing
from tests.unit.talk import ERAS, ask, call, text_of


def make_server(timing: Timing) -> Server:
    server = Server("s", middleware=[timing])

    @server.tool
    async def add(a: int) -> int:
        return a

    @server.tool
    async def fail() -> str:
        raise ToolError("no")

    @server.resource("notes://a")
    async def note() -> str:
        return "a"

    return server


@pytest.mark.parametrize("revision", ERAS)
def test_calls_lists_and_failures_are_reported(revision: str) -> None:
    seen: list[Timed] = []
    server = make_server(Timing(seen.append))
    call(server, "add", {"a": 1}, revision=revision)
    call(server, "fail", revision=revision)
    ask(server, "tools/list", revision=revision)
    ask(server, "resources/read", {"uri": "notes://a"}, revision=revision)
    assert [(timed.method, timed.name) for timed in seen] == [
        ("tools/call", "add"),
        ("tools/call", "fail"),
        ("tools/list", None),
        ("resources/read", "notes://a"),
    ]
    assert all(timed.seconds >= 0 for timed in seen)
    assert [type(timed.error) for timed in seen] == [type(None), ToolError, type(None), type(None)]


def test_without_a_report_times_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dovetail.timing")
    server = make_server(Timing())
    call(server, "add", {"a": 1})
    call(server, "fail")
    assert "tools/call add:" in caplog.text
    assert "failed with ToolError" in caplog.text


def test_a_report_that_fails_does_not_change_the_result(caplog: pytest.LogCaptureFixture) -> None:
    def report(timed: Any) -> None:
        raise RuntimeError("disk full")

    assert text_of(call(make_server(Timing(report)), "add", {"a": 1})) == "1"
    assert "the report of a timing failed" in caplog.text
