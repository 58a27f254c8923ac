"""A change is told in the notification of its own, whatever made it."""

from __future__ import annotations

import pytest

from dovetail import Server
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.spec.methods import METHODS, Kind


def test_every_kind_of_change_is_a_notification_of_the_protocol() -> None:
    known = {method.name for method in METHODS if method.kind is Kind.NOTIFICATION}
    # An item says itself which notification it is.
    assert {what.value for what in ChangeKind if what is not ChangeKind.ITEM} <= known


def test_equal_changes_are_one_change() -> None:
    changes = {
        ChangeEvent(ChangeKind.TOOLS),
        ChangeEvent(ChangeKind.TOOLS),
        ChangeEvent(ChangeKind.RESOURCE, "n://a"),
    }
    assert len(changes) == 2


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("tool", [ChangeEvent(ChangeKind.TOOLS)]),
        ("prompt", [ChangeEvent(ChangeKind.PROMPTS)]),
        ("resource", [ChangeEvent(ChangeKind.RESOURCES)]),
        ("template", [ChangeEvent(ChangeKind.RESOURCES)]),
        ("contents", [ChangeEvent(ChangeKind.RESOURCE, "n://a")]),
    ],
)
def test_whatever_changes_a_server_is_published_once(what: str, changes: list[ChangeEvent]) -> None:
    server = Server("s")
    heard: list[ChangeEvent] = []
    server.engine.bus.subscribe(heard.append)
    if what == "tool":
        server.tools.add(lambda: "x", name="a")
    elif what == "prompt":
        server.prompts.add(lambda: "x", name="a")
    elif what == "resource":
        server.resources.add("n://a", lambda: "x", name="a")
    elif what == "template":
        server.resources.add("n://{a}", lambda a: "x", name="a")
    else:
        server.resource_updated("n://a")
    assert heard == changes
