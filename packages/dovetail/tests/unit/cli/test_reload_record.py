"""What is replayed to a new server process."""

from __future__ import annotations

import json
from typing import Any

from dovetail.cli.reload_record import ReloadRecord, is_replayed, list_changes, stream_of
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request, Response


def decode(**message: Any) -> Any:
    return codec.decode(json.dumps({"jsonrpc": "2.0", **message}).encode())


def exchange(record: ReloadRecord, id: int, method: str, result: Any = None, **params: Any) -> None:
    request = decode(id=id, method=method, params=params)
    assert isinstance(request, Request)
    record.sent(request)
    if result is not None:
        response = decode(id=id, **result)
        assert isinstance(response, Response)
        record.answered(request, response)


OK: dict[str, Any] = {"result": {}}
FAILED = {"error": {"code": -32602, "message": "no"}}


def replayed(record: ReloadRecord) -> list[tuple[str, Any]]:
    messages = [json.loads(line) for line in record.replay()]
    return [(message["method"], message.get("params")) for message in messages]


def test_an_empty_record_replays_nothing() -> None:
    record = ReloadRecord()
    exchange(record, 1, "initialize", FAILED, protocolVersion="2025-11-25")
    assert list(record.replay()) == []
    assert list(record.list_changes()) == []


def test_the_session_of_a_legacy_client_is_replayed() -> None:
    record = ReloadRecord()
    capabilities = {"tools": {"listChanged": True}, "prompts": {}, "logging": {}}
    result = {"result": {"protocolVersion": "2025-11-25", "capabilities": capabilities}}
    exchange(record, 1, "initialize", result, protocolVersion="2025-11-25")
    assert list(record.list_changes()) == []
    record.sent(decode(method="notifications/initialized"))
    for level in ("info", "debug"):
        exchange(record, 2, "logging/setLevel", OK, level=level)
    exchange(record, 2, "logging/setLevel", FAILED, level="loud")
    for uri in ("a://1", "a://2", "a://3"):
        exchange(record, 3, "resources/subscribe", FAILED if uri == "a://3" else OK, uri=uri)
    exchange(record, 4, "resources/unsubscribe", OK, uri="a://1")
    exchange(record, 5, "tools/list", OK)
    assert replayed(record) == [
        ("initialize", {"protocolVersion": "2025-11-25"}),
        ("notifications/initialized", None),
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "a://2"}),
    ]
    ids = [json.loads(line).get("id") for line in record.replay()]
    assert len(set(ids)) == 4
    assert all(is_replayed(decode(id=id, result={})) for id in ids if id is not None)
    assert not is_replayed(decode(id=1, result={}))
    assert [json.loads(line)["method"] for line in record.list_changes()] == [
        "notifications/tools/list_changed"
    ]


def test_listen_streams_are_replayed_until_they_end() -> None:
    record = ReloadRecord()
    for id in (1, 2, 3):
        exchange(record, id, "subscriptions/listen", notifications={"toolsListChanged": True})
    record.cancelled(b"1")
    exchange(record, 2, "subscriptions/listen", OK)
    assert [stream.id for stream in record.streams] == [b"3"]
    assert not record.has_stream(b"2")
    [line] = record.replay()
    assert json.loads(line)["id"] == 3


def test_the_lists_of_a_stream_are_announced_with_its_id() -> None:
    meta = {"io.modelcontextprotocol/subscriptionId": "s"}
    params = {"_meta": meta, "notifications": {"toolsListChanged": True, "promptsListChanged": 0}}
    message = decode(method="notifications/subscriptions/acknowledged", params=params)
    assert isinstance(message, Notification)
    assert stream_of(message) == b'"s"'
    [line] = list_changes(message)
    assert json.loads(line)["method"] == "notifications/tools/list_changed"
    assert json.loads(line)["params"] == {"_meta": meta}
    assert stream_of(decode(method="notifications/progress")) is None
