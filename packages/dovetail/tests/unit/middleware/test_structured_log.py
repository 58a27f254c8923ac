"""The structured log: JSON lines, no values that a person could be recognized by."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from dovetail import Context, Server
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.middleware import StructuredLog
from dovetail.testing import connect
from tests.unit.talk import ERAS, MODERN, answer, ask, call, run, text_of

SECRETS = ("anna@example.com", "hunter2", "the-result", "anna-id", "private words")


def make_server(**how: Any) -> tuple[Server, list[str]]:
    lines: list[str] = []
    server = Server("s", middleware=[StructuredLog(lines.append, **how)])

    @server.tool
    async def mail(to: str, password: str = "") -> str:
        return "the-result"

    @server.tool
    async def fail(to: str) -> str:
        raise ValueError("private words about anna@example.com")

    @server.tool
    async def ask_name(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", {"type": "object", "properties": {"name": {}}})
        return str(answer.data)

    return server, lines


@pytest.mark.parametrize("revision", ERAS)
def test_a_line_has_no_values(revision: str) -> None:
    server, lines = make_server()
    given = {"to": "anna@example.com", "password": "hunter2"}
    principal = Principal("anna-id")
    call(server, "mail", given, principal=principal, revision=revision)
    call(server, "fail", {"to": "anna@example.com"}, principal=principal, revision=revision)
    ask(server, "tools/list", principal=principal, revision=revision)
    assert not [secret for secret in SECRETS if secret in "".join(lines)]
    mail, fail, listed = map(json.loads, lines)
    assert mail["method"] == "tools/call" and mail["name"] == "mail" and mail["outcome"] == "ok"
    assert mail["arguments"] == ["password", "to"] and mail["revision"] == revision
    assert fail["outcome"] == "error" and fail["error"] == "ValueError"
    assert listed["method"] == "tools/list" and "name" not in listed
    assert mail["principal"] == fail["principal"] != "anna-id"


def test_a_line_has_the_ids_of_the_current_span() -> None:
    server, lines = make_server()
    with TracerProvider().get_tracer("test").start_as_current_span("work") as span:
        ask(server, "tools/list")
    ask(server, "tools/list")
    traced, plain = map(json.loads, lines)
    ids = span.get_span_context()
    assert traced["trace_id"] == f"{ids.trace_id:032x}"
    assert traced["span_id"] == f"{ids.span_id:016x}"
    assert "trace_id" not in plain


def test_values_are_logged_where_that_is_allowed() -> None:
    server, lines = make_server(arguments="redacted", principals=True)
    call(server, "mail", {"to": "anna", "password": "hunter2"}, principal=Principal("anna-id"))
    line = json.loads(lines[0])
    assert line["arguments"] == {"to": "anna", "password": "[redacted]"}
    assert line["principal"] == "anna-id"


def test_arguments_can_be_left_out() -> None:
    server, lines = make_server(arguments="none")
    call(server, "mail", {"to": "anna"})
    assert "arguments" not in json.loads(lines[0])


def test_digests_of_one_key_can_be_compared() -> None:
    digests = set()
    for _ in range(2):
        server, lines = make_server(key=b"k" * 32)
        call(server, "mail", {"to": "a"}, principal=Principal("anna-id"))
        digests.add(json.loads(lines[0])["principal"])
    assert len(digests) == 1


def test_rpc_errors_and_tool_errors_differ() -> None:
    server, lines = make_server()
    run(answer(server, "tools/call", {"name": "nothing"}))
    call(server, "mail", {"to": 5})
    unknown, invalid = map(json.loads, lines)
    assert unknown["outcome"] == "error" and unknown["code"] == -32602
    assert invalid["outcome"] == "tool_error"


def test_a_question_is_an_interim_outcome() -> None:
    server, lines = make_server()

    async def scenario() -> None:
        async def name(_: Any) -> dict[str, str]:
            return {"name": "anna@example.com"}

        async with connect(server, mode=MODERN, elicit=name) as client:
            await client.call("ask_name")

    run(scenario())
    outcomes = [json.loads(line)["outcome"] for line in lines if '"ask_name"' in line]
    assert outcomes == ["interim", "ok"]
    assert "anna" not in "".join(lines)


def test_a_log_that_cannot_be_written_does_not_change_the_result(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def write(line: str) -> None:
        raise OSError("disk full")

    server = Server("s", middleware=[StructuredLog(write)])
    server.tools.add(lambda: "x", name="t", blocking=False)
    assert text_of(call(server, "t")) == "x"
    assert "could not be logged" in caplog.text


def test_without_write_lines_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dovetail.requests")
    server = Server("s", middleware=[StructuredLog()])
    server.tools.add(lambda: "x", name="t", blocking=False)
    call(server, "t")
    assert json.loads(caplog.messages[-1])["name"] == "t"


def test_unknown_styles_are_refused() -> None:
    with pytest.raises(UsageError, match="one of names, redacted, none, got 'all'"):
        StructuredLog(arguments="all")  # type: ignore[arg-type]
