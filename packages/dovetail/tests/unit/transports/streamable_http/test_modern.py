"""Modern requests over HTTP: statuses, mirrored headers, streams, and clients that leave."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from dovetail.spec import keys
from dovetail.transports.asgi import reply as reply_module
from tests.patience import CAP
from tests.unit.fakes import settle
from tests.unit.talk import MODERN, request, run, text_of
from tests.unit.transports.streamable_http.asgi_client import Client, Response
from tests.unit.transports.streamable_http.workshop import Workshop

LOGS = {keys.LOG_LEVEL: "info"}
Changes = dict[str, str | None]


def sent(method: str, params: dict[str, Any] | None = None, *args: Any, **how: Any) -> Response:
    async def play() -> Response:
        return await Workshop().client.modern(method, params, *args, **how).done()

    return run(play())


def called(tool: str, arguments: dict[str, Any], headers: Changes | None = None) -> Response:
    return sent("tools/call", {"name": tool, "arguments": arguments}, headers)


def wrapped(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def test_a_request_that_just_answers_is_answered_in_json() -> None:
    response = called("echo", {"text": "hi"})
    assert response.status == 200
    assert text_of(response.json["result"]) == "hi"
    assert "mcp-session-id" not in response.headers


@pytest.mark.parametrize(
    ("method", "params", "changes"),
    [
        ("tools/list", None, {"mcp-protocol-version": None}),
        ("tools/list", None, {"mcp-protocol-version": "2025-11-25"}),
        ("tools/list", None, {"mcp-method": None}),
        ("tools/list", None, {"mcp-method": "prompts/list"}),
        ("tools/list", None, {"mcp-method": "Tools/List"}),
        ("tools/list", None, {"mcp-method": ""}),
        ("server/discover", None, {"mcp-method": None}),
        ("tools/call", {"name": "echo"}, {"mcp-name": None}),
        ("tools/call", {"name": "echo"}, {"mcp-name": "ECHO"}),
        ("tools/call", {"name": "echo"}, {"mcp-name": "other"}),
        ("tools/call", {"name": "echo"}, {"mcp-name": "=?base64?!?="}),
        ("tools/call", {"name": "echo"}, {"mcp-name": wrapped("other")}),
        ("tools/call", {"name": "echo"}, {"mcp-name": "ech\xf6"}),
        ("resources/read", {"uri": "notes://today"}, {"mcp-name": None}),
        ("resources/read", {"uri": "notes://today"}, {"mcp-name": "today"}),
        ("prompts/get", {"name": "p"}, {"mcp-name": "q"}),
    ],
)
def test_a_header_that_is_missing_or_lies_is_a_400(
    method: str, params: dict[str, Any] | None, changes: Changes
) -> None:
    response = sent(method, params, changes)
    assert (response.status, response.code) == (400, -32020)
    assert response.json["id"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"mcp-name": wrapped("echo")},
        {"mcp-name": "  echo\t"},
        {"mcp-method": " tools/call "},
        {"mcp-protocol-version": f" {MODERN} "},
        {"mcp-session-id": "of no meaning here"},
        {"mcp-param-other": "of no meaning here"},
    ],
)
def test_a_header_may_be_wrapped_or_padded(changes: Changes) -> None:
    response = called("echo", {"text": "hi"}, changes)
    assert response.status == 200, response.body


def test_a_resource_is_named_by_its_uri() -> None:
    response = sent("resources/read", {"uri": "notes://today"})
    assert response.json["result"]["contents"][0]["text"] == "today"


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {"mcp-param-region": "eu"}),
        ({"region": "eu"}, {"mcp-param-region": wrapped("eu")}),
        ({"region": "Zürich"}, {"mcp-param-region": wrapped("Zürich")}),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "42"}),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "42.0"}),
        ({"region": "eu", "text": "\u2603"}, {"mcp-param-region": "eu"}),
    ],
)
def test_parameters_that_are_repeated_rightly_pass(
    arguments: dict[str, Any], headers: Changes
) -> None:
    assert called("route", arguments, headers).status == 200


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {}),
        ({"region": "eu"}, {"mcp-param-region": "us"}),
        ({"region": "eu"}, {"mcp-param-region": "=?base64?ZXU?="}),
        ({"region": "Zürich"}, {"mcp-param-region": "Z\xfcrich"}),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu"}),
        ({"region": "eu", "count": 42}, {"mcp-param-region": "eu", "mcp-param-count": "4_2"}),
    ],
)
def test_parameters_that_are_repeated_wrongly_are_a_400(
    arguments: dict[str, Any], headers: Changes
) -> None:
    response = called("route", arguments, headers)
    assert (response.status, response.code) == (400, -32020)


@pytest.mark.parametrize("params", [{"name": "route"}, {"name": "route", "arguments": {}}])
def test_a_parameter_that_is_not_there_needs_no_header(params: dict[str, Any]) -> None:
    response = sent("tools/call", params)
    assert response.status == 200
    assert response.json["result"]["isError"] is True


@pytest.mark.parametrize("arguments", [[], "x", 5, None])
def test_arguments_that_are_no_object_are_refused_as_such(arguments: Any) -> None:
    response = sent("tools/call", {"name": "route", "arguments": arguments})
    assert "error" in response.json or response.json["result"]["isError"]
    assert response.status in (200, 400)


def test_arguments_that_no_reader_understands_are_refused() -> None:
    async def play() -> Response:
        body = request(
            "tools/call", {"name": "route", "arguments": {"region": "@"}}, revision=MODERN
        )
        headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call")]
        headers += [("mcp-name", "route"), ("mcp-param-region", "x")]
        client = Workshop().client
        return await client.send("POST", body.replace(b"@", rb"\ud800"), headers)

    response = run(play())
    assert response.status in (200, 400)
    assert "error" in response.json or response.json["result"]["isError"]


def test_a_version_nobody_speaks_is_a_400_that_lists_what_we_speak() -> None:
    async def play() -> list[Response]:
        client = Workshop().client
        body = request("tools/list", revision=MODERN).replace(MODERN.encode(), b"2099-01-01")
        found = []
        for version in ("2099-01-01", MODERN, None):
            headers = [("mcp-method", "tools/list")]
            if version is not None:
                headers.append(("mcp-protocol-version", version))
            found.append(await client.send("POST", body, headers))
        return found

    unknown, lying, missing = run(play())
    assert (unknown.status, unknown.code) == (400, -32022)
    assert MODERN in unknown.json["error"]["data"]["supported"]
    assert (lying.status, lying.code) == (400, -32020)
    assert (missing.status, missing.code) == (400, -32020)


def test_what_every_request_carries_must_be_there() -> None:
    async def play() -> Response:
        headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")]
        return await Workshop().client.send("POST", request("tools/list"), headers)

    response = run(play())
    assert (response.status, response.code) == (400, -32602)


@pytest.mark.parametrize("method", ["nothing/here", "initialize", "ping", "prompts/list"])
def test_a_method_that_does_not_exist_is_a_404(method: str) -> None:
    response = sent(method)
    assert (response.status, response.code) == (404, -32601)
    assert response.json["id"] == 1


def test_a_client_without_what_a_call_needs_gets_a_400() -> None:
    response = called("ask", {})
    assert (response.status, response.code) == (400, -32021)


@pytest.mark.parametrize(
    ("params", "status"), [({"name": "nobody"}, 200), ({"arguments": {}}, 400)]
)
def test_other_errors_are_what_the_feature_says(params: dict[str, Any], status: int) -> None:
    response = sent("tools/call", params)
    assert (response.status, response.code) == (status, -32602)


def test_a_question_is_asked_by_answering() -> None:
    response = sent(
        "tools/call", {"name": "ask", "arguments": {}}, capabilities={"elicitation": {}}
    )
    assert response.status == 200
    assert response.json["result"]["resultType"] == "input_required"


# -- streams ----------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["talk", "talk_from_thread"])
def test_what_is_said_before_the_answer_makes_a_stream_without_ids(tool: str) -> None:
    async def play() -> Response:
        return await Workshop().client.modern_call(tool, meta=LOGS).done()

    response = run(play())
    *said, answer = response.messages
    assert [message["params"]["data"] for message in said][:2] == ["said 0", "said 1"]
    assert text_of(answer["result"]) == "talked"
    assert response.ids == []
    assert response.is_complete


def test_nothing_is_streamed_where_streaming_is_off() -> None:
    async def play() -> Response:
        shop = Workshop({"streaming": False})
        return await shop.client.modern_call("talk", meta=LOGS).done()

    assert text_of(run(play()).json["result"]) == "talked"


def test_a_client_that_leaves_has_cancelled_its_request() -> None:
    async def play() -> None:
        shop = Workshop()
        for tool in ("wait", "talk_and_wait"):
            shop.reached.clear()
            shop.cancelled.clear()
            response = shop.client.modern_call(tool, meta=LOGS)
            async with asyncio.timeout(CAP):
                await shop.reached.wait()
                response.disconnect()
                await shop.cancelled.wait()
            await response.done()
            assert b"result" not in response.body
        assert shop.finished == 0

    run(play())


def test_a_server_that_stops_cancels_too_and_leaves_nothing_behind() -> None:
    async def play() -> None:
        shop = Workshop()
        response = shop.client.modern_call("talk_and_wait", meta=LOGS)
        await response.hear("notifications/message")
        response.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await response.task
        await response.until(lambda response: response.is_complete)
        assert shop.cancelled.is_set()

    run(play())


def listening(client: Client, **wanted: Any) -> Response:
    return client.modern("subscriptions/listen", {"notifications": wanted})


def test_a_listen_stream_tells_of_changes_until_the_app_is_closed() -> None:
    async def play() -> None:
        shop = Workshop()
        response = listening(shop.client, toolsListChanged=True)
        await response.hear("notifications/subscriptions/acknowledged")
        shop.change()
        await response.hear("notifications/tools/list_changed")
        await asyncio.to_thread(shop.change)
        await response.hear("notifications/tools/list_changed", 2)
        shop.app.close()
        await response.done()
        assert response.messages[-1]["id"] == 1
        assert "result" in response.messages[-1]
        # Nobody listens any more.
        shop.change()
        shop.app.close()

    run(play())


def test_a_listener_that_leaves_is_forgotten() -> None:
    async def play() -> None:
        shop = Workshop()
        response = listening(shop.client, toolsListChanged=True)
        await response.hear("notifications/subscriptions/acknowledged")
        response.disconnect()
        await response.done()
        body = response.body
        shop.change()
        assert response.body == body

    run(play())


def test_a_listener_that_does_not_read_is_told_only_so_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        shop = Workshop()
        response = listening(shop.client, toolsListChanged=True)
        await response.hear("notifications/subscriptions/acknowledged")
        response.reads.clear()
        for _ in range(500):
            shop.change()
            await settle(3)
        response.reads.set()
        shop.app.close()
        await response.done()
        assert 2 < len(response.heard("notifications/tools/list_changed")) < 20
        assert "result" in response.messages[-1]

    run(play())


def test_there_is_no_listening_where_streaming_is_off() -> None:
    async def play() -> Response:
        shop = Workshop({"streaming": False})
        return await listening(shop.client, toolsListChanged=True).done()

    response = run(play())
    assert (response.status, response.json["error"]["code"]) == (404, -32601)


def test_a_slow_reader_gets_the_answer_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reply_module, "_MAX_QUEUED_BYTES", 1000)

    async def play() -> None:
        shop = Workshop()
        response = shop.client.modern_call("flood", meta=LOGS, reads=False)
        async with asyncio.timeout(CAP):
            await shop.reached.wait()
        response.reads.set()
        await response.done()
        assert len(response.messages) < 20
        assert text_of(response.messages[-1]["result"]) == "flooded"

    run(play())


def test_several_requests_at_once_do_not_meet() -> None:
    async def play() -> None:
        client = Workshop().client
        waiting = [client.modern_call("echo", {"text": f"{n}"}) for n in range(20)]
        for number, response in enumerate(waiting):
            await response.done()
            assert text_of(response.json["result"]) == f"{number}"

    run(play())


def test_the_scope_reaches_the_handler() -> None:
    assert text_of(called("who", {}).json["result"]) == "/mcp"


def test_a_modern_body_needs_no_version_header_to_be_known_as_one() -> None:
    async def play() -> Response:
        body = json.loads(request("tools/list", revision=MODERN))
        return await Workshop().client.send("POST", json.dumps(body).encode())

    response = run(play())
    assert (response.status, response.code) == (400, -32020)
