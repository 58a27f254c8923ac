"""Routing between a client and the processes that serve it one after another."""

from __future__ import annotations

import json
from typing import Any, cast

from dovetail.cli.reload_relay import Child, Relay
from dovetail.errors import InvalidRequestError


class Pipe:
    """The stdin of a process, and the process itself."""

    def __init__(self) -> None:
        self.stdin = self
        self.got: list[Any] = []
        self.closed = False

    def is_closing(self) -> bool:
        return self.closed

    def write(self, line: bytes) -> None:
        self.got.append(json.loads(line))


class Scene:
    """A relay, its client, and its children."""

    def __init__(self) -> None:
        self.client: list[Any] = []
        self.relay = Relay(lambda line: self.client.append(json.loads(line)))

    def start(self) -> tuple[Child, Pipe]:
        pipe = Pipe()
        child = Child(cast("Any", pipe))
        return child, pipe

    def say(self, **message: Any) -> None:
        self.relay.receive(encode(message))

    def take(self, child: Child, **message: Any) -> None:
        self.relay.take(child, encode(message))

    def heard(self) -> list[Any]:
        client, self.client = self.client, []
        return client


def encode(message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def test_messages_wait_for_the_first_child_and_are_refused_without_one() -> None:
    scene = Scene()
    scene.say(id=1, method="ping")
    assert scene.heard() == []
    scene.relay.resume(None)
    scene.say(id=2, method="ping")
    scene.say(method="notifications/initialized")
    first, second = scene.heard()
    assert (first["id"], second["id"]) == (1, 2)
    assert "The server is not running; its log says why" in first["error"]["message"]
    scene.relay.hold()
    scene.say(id=3, method="ping")
    child, pipe = scene.start()
    scene.relay.resume(child)
    assert [message["id"] for message in pipe.got] == [3]
    scene.relay.refuse(InvalidRequestError("too long"))
    assert scene.heard()[0]["error"]["message"] == "too long"


def test_what_a_child_left_open_is_answered() -> None:
    scene = Scene()
    child, pipe = scene.start()
    scene.relay.resume(child)
    for id in (1, 2, 3):
        scene.say(id=id, method="tools/call", params={"name": "x"})
    scene.take(child, id=1, result={})
    scene.say(method="notifications/cancelled", params={"requestId": 2})
    assert pipe.got[-1]["method"] == "notifications/cancelled"
    scene.take(child, id=7, method="elicitation/create", params={})
    assert [message.get("id") for message in scene.heard()] == [1, 1]
    scene.relay.drop(child)
    error, cancelled = scene.heard()
    assert error["id"] == 3
    assert "ended before it answered" in error["error"]["message"]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == 1
    # The answer to a request of a child that has ended goes nowhere.
    other, other_pipe = scene.start()
    scene.relay.resume(other)
    scene.say(id=1, result={"action": "accept"})
    assert other_pipe.got == []


def test_requests_of_two_children_have_different_ids_and_find_their_answers() -> None:
    scene = Scene()
    old, old_pipe = scene.start()
    new, new_pipe = scene.start()
    scene.relay.resume(old)
    scene.take(old, id=1, method="elicitation/create", params={"message": "old"})
    scene.relay.hold()
    scene.relay.resume(new)
    scene.take(new, id=1, method="elicitation/create", params={"message": "new"})
    scene.take(new, id=2, method="roots/list")
    asked = scene.heard()
    assert [message["id"] for message in asked] == [1, 2, 3]
    scene.say(id=2, result={"action": "accept"})
    scene.say(id=1, error={"code": -1, "message": "no"})
    assert new_pipe.got == [{"jsonrpc": "2.0", "id": 1, "result": {"action": "accept"}}]
    assert old_pipe.got[-1]["error"] == {"code": -1, "message": "no"}
    assert old_pipe.got[-1]["id"] == 1
    scene.take(new, method="notifications/cancelled", params={"requestId": 2, "reason": "late"})
    [cancelled] = scene.heard()
    assert cancelled["params"] == {"requestId": 3, "reason": "late"}


def test_the_handshake_is_replayed_and_its_answers_do_not_reach_the_client() -> None:
    scene = Scene()
    old, _ = scene.start()
    scene.relay.resume(old)
    scene.say(id="a", method="initialize", params={"protocolVersion": "2025-11-25"})
    scene.take(old, id="a", result={"capabilities": {"tools": {"listChanged": True}}})
    scene.say(method="notifications/initialized")
    scene.heard()
    scene.relay.hold()
    old.is_replaced = True
    scene.say(id="b", method="tools/list")
    scene.relay.drop(old)
    new, pipe = scene.start()
    scene.relay.resume(new)
    methods = [message["method"] for message in pipe.got]
    assert methods == ["initialize", "notifications/initialized", "tools/list"]
    scene.take(new, id=pipe.got[0]["id"], result={"capabilities": {}})
    [changed] = scene.heard()
    assert changed["method"] == "notifications/tools/list_changed"


def test_batches_are_passed_on_whole() -> None:
    scene = Scene()
    child, pipe = scene.start()
    scene.relay.resume(child)
    batch = [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in (1, 2)]
    scene.relay.receive(json.dumps(batch).encode())
    assert pipe.got == [batch]
    assert child.in_flight.keys() == {b"1", b"2"}
    answers: list[Any] = [{"jsonrpc": "2.0", "id": id, "result": {}} for id in (1, 2)]
    scene.relay.take(child, json.dumps(answers).encode())
    assert scene.heard() == [answers]
    assert child.in_flight == {}


LISTEN = {"notifications": {"toolsListChanged": True}}
META = {"_meta": {"io.modelcontextprotocol/subscriptionId": 5}}


def test_a_listen_stream_goes_on_in_the_next_child() -> None:
    scene = Scene()
    old, _ = scene.start()
    scene.relay.resume(old)
    scene.say(id=5, method="subscriptions/listen", params=LISTEN)
    acknowledged = {
        "method": "notifications/subscriptions/acknowledged",
        "params": {**META, **LISTEN},
    }
    scene.take(old, **acknowledged)
    assert len(scene.heard()) == 1
    scene.relay.hold()
    old.is_replaced = True
    # The old child ends the stream; the client does not see that.
    scene.take(old, id=5, result=META)
    scene.take(old, method="notifications/cancelled", params={**META, "requestId": 5})
    scene.relay.drop(old)
    new, pipe = scene.start()
    scene.relay.resume(new)
    assert [(message["id"], message["method"]) for message in pipe.got] == [
        (5, "subscriptions/listen")
    ]
    assert scene.heard() == []
    scene.take(new, **acknowledged)
    [changed] = scene.heard()
    assert (changed["method"], changed["params"]) == ("notifications/tools/list_changed", META)
    scene.take(new, id=5, result=META)
    assert scene.heard()[0]["id"] == 5
