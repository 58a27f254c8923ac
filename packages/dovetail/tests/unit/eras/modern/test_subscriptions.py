"""subscriptions/listen: the acknowledgement first, then what was asked for, then a proper end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from dovetail.core.call import Call, Peer
from dovetail.core.changes import ChangeEvent, ChangeKind, ChangeStream
from dovetail.core.link import ClientChannels
from dovetail.eras.modern.era import ModernEra
from dovetail.eras.modern.mrtr import InputRounds
from dovetail.eras.modern.sealing import Sealer
from dovetail.eras.modern.subscriptions import honoured, listen_methods
from dovetail.errors import MethodNotFoundError
from dovetail.spec.keys import SERVER_INFO, SUBSCRIPTION_ID, TASKS
from dovetail.spec.models import Implementation, SubscriptionFilter
from dovetail.spec.revisions import V2026_07_28
from dovetail.tasks.views import Status, TaskView
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from tests.unit.fakes import NOBODY, FakeLink, drive, make_call, sent_by, settle

SERVER = Implementation(name="s", version="1")
ERA = ModernEra(V2026_07_28, SERVER, InputRounds(Sealer(), 60, SERVER))
ALL: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
}
EVERYTHING = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["a://b", "a://c"],
}
CHANGES = [
    ChangeEvent(ChangeKind.TOOLS),
    ChangeEvent(ChangeKind.PROMPTS),
    ChangeEvent(ChangeKind.RESOURCES),
]
ONLY_IDS = [b"7", b'"7"', b'"a\\"b"', b"-3", b"18446744073709551617", b"9" * 5000]


def listening(
    wanted: Any, *, id: bytes = b"7", capabilities: dict[str, Any] = ALL, peer: Peer = NOBODY
) -> Any:
    """A listen call and what it runs."""
    params = json.dumps({"notifications": wanted}).encode()
    call = make_call("subscriptions/listen", params, era=ERA, id=id, peer=peer)
    return call, listen_methods(lambda: capabilities)["subscriptions/listen"].run(call)


def streams_of(call: Call) -> list[ChangeStream]:
    assert isinstance(call.link, FakeLink)
    return call.link.streams


async def opened(running: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    task = asyncio.ensure_future(running)
    await settle()
    return task


def raw_id(message: Any) -> Any:
    return message["params"]["_meta"][SUBSCRIPTION_ID]


# -- opening ------------------------------------------------------------------------------------


def test_a_client_that_cannot_be_told_of_changes_is_refused() -> None:
    call, running = listening(EVERYTHING)
    call.link.channels = ClientChannels(changes=False)
    with pytest.raises(MethodNotFoundError, match="this server answers without streams"):
        drive(running)
    assert sent_by(call) == [] and streams_of(call) == []


def test_the_acknowledgement_is_the_first_thing_and_comes_before_the_stream_is_open() -> None:
    async def run() -> None:
        call, running = listening(EVERYTHING)
        seen: list[int] = []
        call.link.open_stream = lambda stream: seen.append(len(sent_by(call)))
        call.link.close_stream = lambda stream: None
        task = await opened(running)
        assert seen == [1]
        assert sent_by(call) == [
            {
                "jsonrpc": "2.0",
                "method": "notifications/subscriptions/acknowledged",
                "params": {"_meta": {SUBSCRIPTION_ID: 7}, "notifications": EVERYTHING},
            }
        ]
        task.cancel()

    drive(run())


@pytest.mark.parametrize(
    ("wanted", "capabilities", "granted"),
    [
        (EVERYTHING, ALL, EVERYTHING),
        (EVERYTHING, {}, {}),
        ({}, ALL, {}),
        ({"toolsListChanged": False}, ALL, {}),
        ({"toolsListChanged": True}, ALL, {"toolsListChanged": True}),
        (EVERYTHING, {"tools": {"listChanged": True}}, {"toolsListChanged": True}),
        (EVERYTHING, {"tools": {}}, {}),
        (EVERYTHING, {"prompts": {"listChanged": True}}, {"promptsListChanged": True}),
        (EVERYTHING, {"prompts": {"listChanged": False}}, {}),
        (EVERYTHING, {"resources": {"listChanged": True}}, {"resourcesListChanged": True}),
        (
            EVERYTHING,
            {"resources": {"subscribe": True}},
            {"resourceSubscriptions": ["a://b", "a://c"]},
        ),
        ({"resourceSubscriptions": []}, ALL, {"resourceSubscriptions": []}),
    ],
)
def test_what_is_acknowledged_is_the_part_that_can_be_delivered(
    wanted: dict[str, Any], capabilities: dict[str, Any], granted: dict[str, Any]
) -> None:
    async def run() -> Any:
        call, running = listening(wanted, capabilities=capabilities)
        task = await opened(running)
        task.cancel()
        return sent_by(call)[0]["params"]["notifications"]

    assert drive(run()) == granted


def test_a_filter_is_never_widened() -> None:
    assert honoured(SubscriptionFilter(), ALL) == SubscriptionFilter()


@pytest.mark.parametrize("id", ONLY_IDS)
def test_everything_on_a_stream_carries_the_id_in_type_and_value(id: bytes) -> None:
    async def run() -> None:
        call, running = listening(EVERYTHING, id=id)
        task = await opened(running)
        [stream] = streams_of(call)
        stream.end()
        result = await task
        told = [
            stream.announce(change)
            for change in (*CHANGES, ChangeEvent(ChangeKind.RESOURCE, "a://b"))
        ]
        carried = b'{"%b":%b}' % (SUBSCRIPTION_ID.encode(), id)
        encoded = [codec.encode_message(message) for message in told if message is not None]
        assert len(encoded) == len(told)
        for message in [*call.link.sent, *encoded]:
            assert b'"_meta":%b' % carried in message
        assert b'"%b":%b' % (SUBSCRIPTION_ID.encode(), id) in ERA.complete(result)

    drive(run())


# -- delivering ---------------------------------------------------------------------------------


async def stream_of(wanted: Any, *, id: bytes = b"7") -> ChangeStream:
    call, running = listening(wanted, id=id)
    task = await opened(running)
    [stream] = streams_of(call)
    task.cancel()
    return stream


def heard(wanted: Any, change: ChangeEvent) -> Any:
    async def run() -> Notification | None:
        return (await stream_of(wanted)).announce(change)

    message = drive(run())
    return None if message is None else json.loads(codec.encode_message(message))


@pytest.mark.parametrize(
    ("member", "what"),
    [
        ("toolsListChanged", ChangeKind.TOOLS),
        ("promptsListChanged", ChangeKind.PROMPTS),
        ("resourcesListChanged", ChangeKind.RESOURCES),
    ],
)
def test_a_list_is_heard_of_by_whoever_asked_for_this_list(member: str, what: ChangeKind) -> None:
    assert heard({member: True}, ChangeEvent(what)) == {
        "jsonrpc": "2.0",
        "method": what.value,
        "params": {"_meta": {SUBSCRIPTION_ID: 7}},
    }
    others = [change for change in CHANGES if change.what is not what]
    for change in [*others, ChangeEvent(ChangeKind.RESOURCE, "a://b")]:
        assert heard({member: True}, change) is None


def test_a_resource_is_heard_of_by_whoever_named_it() -> None:
    wanted = {"resourceSubscriptions": ['a://"b"']}
    assert heard(wanted, ChangeEvent(ChangeKind.RESOURCE, 'a://"b"')) == {
        "jsonrpc": "2.0",
        "method": "notifications/resources/updated",
        "params": {"_meta": {SUBSCRIPTION_ID: 7}, "uri": 'a://"b"'},
    }
    assert heard(wanted, ChangeEvent(ChangeKind.RESOURCE, "a://c")) is None
    assert heard(wanted, ChangeEvent(ChangeKind.RESOURCES)) is None
    assert heard({}, ChangeEvent(ChangeKind.RESOURCE, "a://b")) is None


def test_streams_of_one_client_are_told_apart_by_their_ids() -> None:
    async def run() -> list[Any]:
        streams = [await stream_of({"toolsListChanged": True}, id=id) for id in (b"1", b'"1"')]
        messages = [stream.announce(ChangeEvent(ChangeKind.TOOLS)) for stream in streams]
        encoded = [codec.encode_message(message) for message in messages if message is not None]
        return [raw_id(json.loads(message)) for message in encoded]

    assert drive(run()) == [1, "1"]


# -- tasks --------------------------------------------------------------------------------------


class Tasks:
    """The caller's task is "mine"."""

    tasks = keeper = property(lambda self: self)

    async def followed(self, call: Call, ids: list[str]) -> list[str]:
        assert ids == ["mine", "theirs"]
        return ["mine"]


def task_view(id: str) -> TaskView:
    return TaskView(id, Status.WORKING, 0, 1, 1000, 50)


def test_a_stream_carries_the_tasks_of_the_caller_only() -> None:
    async def run() -> Call:
        wanted = {"taskIds": ["mine", "mine", "theirs"]}
        call, running = listening(wanted, peer=Peer(None, {"extensions": {TASKS: {}}}, None))
        call.services = Tasks()
        task = await opened(running)
        [stream] = streams_of(call)
        assert stream.announce(ChangeEvent(ChangeKind.ITEM, item=task_view("theirs"))) is None
        told = stream.announce(ChangeEvent(ChangeKind.ITEM, item=task_view("mine")))
        assert told is not None
        params = json.loads(codec.encode_message(told))["params"]
        assert (params["taskId"], params["_meta"]) == ("mine", {SUBSCRIPTION_ID: 7})
        stream.end()
        await task
        assert isinstance(call, Call)
        return call

    [acknowledged] = sent_by(drive(run()))
    assert acknowledged["params"]["notifications"] == {"taskIds": ["mine"]}


# -- the end ------------------------------------------------------------------------------------


def test_a_stream_that_the_server_ends_is_answered_with_a_result() -> None:
    async def run() -> tuple[Call, Any]:
        call, running = listening({"toolsListChanged": True})
        task = await opened(running)
        assert not task.done()
        [stream] = streams_of(call)
        stream.end()
        stream.end()
        return call, json.loads(ERA.complete(await task))

    call, result = drive(run())
    assert result == {
        "resultType": "complete",
        "_meta": {SUBSCRIPTION_ID: 7, SERVER_INFO: {"name": "s", "version": "1"}},
    }
    assert streams_of(call) == []


def test_a_stream_that_the_client_cancels_is_closed_without_an_answer() -> None:
    async def run() -> Call:
        call, running = listening({"toolsListChanged": True})
        task = await opened(running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(call, Call)
        return call

    call = drive(run())
    assert streams_of(call) == []
    assert len(sent_by(call)) == 1
