"""Tasks as the extension has them."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.core.call import Ask, Peer
from dovetail.eras.modern.era import ModernEra
from dovetail.errors import MissingCapabilityError
from dovetail.spec.keys import TASKS
from dovetail.spec.models import Implementation
from dovetail.spec.revisions import V2026_07_28
from dovetail.tasks.modern import ModernTasks, require_tasks
from dovetail.tasks.views import Status, TaskView, detail
from dovetail.wire import codec
from tests.unit.fakes import make_call

IMPLEMENTATION = Implementation(name="s", version="1")
SHAPE = ModernTasks(ModernEra(V2026_07_28, IMPLEMENTATION, None))  # type: ignore[arg-type]  # asks nothing
BARE = {
    "taskId": "a",
    "createdAt": "1970-01-01T00:00:00.000Z",
    "lastUpdatedAt": "1970-01-01T00:00:01.000Z",
    "ttlMs": 1000,
    "pollIntervalMs": 50,
}


def view(status: Status, **members: Any) -> TaskView:
    return TaskView("a", status, 0, 1, 1000, 50, **members)


@pytest.mark.parametrize(
    ("task", "extra"),
    [
        (view(Status.WORKING, message="m"), {"status": "working", "statusMessage": "m"}),
        (view(Status.CANCELLED), {"status": "cancelled"}),
        (view(Status.COMPLETED, result=b'{"x":1}'), {"status": "completed", "result": {"x": 1}}),
        (view(Status.FAILED, error=b'{"code":1}'), {"status": "failed", "error": {"code": 1}}),
        (
            view(
                Status.INPUT_REQUIRED,
                asks={"k": Ask("k", "roots/list", None), "l": Ask("l", "x", b'{"y":1}')},
            ),
            {
                "status": "input_required",
                "inputRequests": {
                    "k": {"method": "roots/list"},
                    "l": {"method": "x", "params": {"y": 1}},
                },
            },
        ),
    ],
)
def test_a_task_is_shown_with_what_its_status_brings_along(
    task: TaskView, extra: dict[str, Any]
) -> None:
    assert codec.decode_json(codec.encode(detail(task))) == {**BARE, **extra}
    assert SHAPE.shown(task).body.startswith(b'{"resultType":"complete"')


def test_what_is_created_is_flat_and_has_no_outcome() -> None:
    created = SHAPE.created(make_call(), view(Status.COMPLETED, result=b"{}")).body
    decoded = codec.decode_json(created)
    assert decoded.pop("_meta") == {
        "io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}
    }
    assert decoded == {"resultType": "task", "status": "completed", **BARE}


def test_an_acknowledgement_says_nothing_else() -> None:
    body = codec.decode_json(SHAPE.cancelled(view(Status.COMPLETED), was_final=True).body)
    assert body.keys() == {"resultType", "_meta"} and body["resultType"] == "complete"


@pytest.mark.parametrize(
    ("capabilities", "knows"),
    [
        ({"extensions": {TASKS: {}}}, True),
        ({"extensions": {TASKS: True}}, False),
        ({"extensions": {}}, False),
        ({"extensions": 1}, False),
        ({}, False),
    ],
)
def test_only_the_request_tells_whether_tasks_are_known(
    capabilities: dict[str, Any], knows: bool
) -> None:
    call = make_call(peer=Peer(None, capabilities, None))
    assert SHAPE.is_wanted(call) is knows
    if knows:
        SHAPE.require(call)
    else:
        with pytest.raises(MissingCapabilityError) as caught:
            require_tasks(call)
        assert caught.value.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


def test_the_server_chooses_and_clients_have_no_say() -> None:
    assert SHAPE.unsupported("t") is None
    assert SHAPE.wanted_ttl_ms(make_call()) is None
    assert SHAPE.related("a", b"{}") is None
    assert isinstance(SHAPE.needed("t"), MissingCapabilityError)
    assert SHAPE.asks_first


def test_a_tool_that_failed_has_a_result_all_the_same() -> None:
    assert SHAPE.status_of(b'{"isError":true}') == (Status.COMPLETED, None)
