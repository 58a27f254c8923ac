"""The method table, compared with the official types, at every revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from mcp_types import methods as official

from dovetail.spec import models
from dovetail.spec.methods import METHODS, Kind, MethodSpec, Sender, methods_at
from dovetail.spec.revisions import REVISIONS, V2025_11_25, V2026_07_28, Family, Revision

# Tasks were an experiment of one revision and are an extension of the next: the official tables
# have no rows for them.
TASKS: dict[Revision, dict[str, set[str]]] = {
    V2025_11_25: {
        "requests": {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel"},
        "notifications": {"notifications/tasks/status"},
    },
    V2026_07_28: {
        "requests": {"tasks/get", "tasks/update", "tasks/cancel"},
        "notifications": {"notifications/tasks"},
    },
}

# At modern revisions these are no requests but inputs, which travel inside a result. The official
# tables have no row for them there; ours has, because a handler asks for them by the same name.
INPUTS = frozenset({"elicitation/create", "roots/list", "sampling/createMessage"})

SENDERS = {Sender.CLIENT: {Sender.CLIENT, Sender.BOTH}, Sender.SERVER: {Sender.SERVER, Sender.BOTH}}


def rows(revision: Revision, kind: Kind, sender: Sender) -> set[str]:
    return {
        method.name
        for method in methods_at(revision).values()
        if method.kind is kind and method.sender in SENDERS[sender]
    }


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize(
    ("kind", "sender", "table"),
    [
        (Kind.REQUEST, Sender.CLIENT, official.CLIENT_REQUESTS),
        (Kind.REQUEST, Sender.SERVER, official.SERVER_REQUESTS),
        (Kind.NOTIFICATION, Sender.CLIENT, official.CLIENT_NOTIFICATIONS),
        (Kind.NOTIFICATION, Sender.SERVER, official.SERVER_NOTIFICATIONS),
    ],
    ids=["client requests", "server requests", "client notifications", "server notifications"],
)
def test_a_method_exists_exactly_where_the_official_table_has_it(
    revision: Revision, kind: Kind, sender: Sender, table: Mapping[tuple[str, str], Any]
) -> None:
    expected = {method for method, date in table if date == revision.date}
    if revision.family is Family.MODERN and (kind, sender) == (Kind.REQUEST, Sender.SERVER):
        expected |= INPUTS
    tasks = TASKS.get(revision, {})
    if (kind, sender) == (Kind.REQUEST, Sender.CLIENT):
        expected |= tasks.get("requests", set())
    elif (kind, sender) == (Kind.NOTIFICATION, Sender.SERVER):
        expected |= tasks.get("notifications", set())
    assert rows(revision, kind, sender) == expected


def test_the_official_tables_have_no_tasks() -> None:
    tables = (
        official.CLIENT_REQUESTS,
        official.SERVER_REQUESTS,
        official.CLIENT_NOTIFICATIONS,
        official.SERVER_NOTIFICATIONS,
    )
    assert not [name for table in tables for name, _ in table if "tasks" in name]


def test_input_may_be_asked_for_where_the_official_types_say_so() -> None:
    asking = {method.name for method in METHODS if method.asks_back}
    assert asking == official.INPUT_REQUIRED_METHODS
    carrying = {m.name for m in METHODS if issubclass(m.params, models.InputParams)}
    assert carrying == asking


@pytest.mark.parametrize(
    ("capability", "names"),
    [
        ("tools", {"tools/list", "tools/call"}),
        ("prompts", {"prompts/list", "prompts/get"}),
        (
            "resources",
            {
                "resources/list",
                "resources/templates/list",
                "resources/read",
                "resources/subscribe",
                "resources/unsubscribe",
            },
        ),
        ("completions", {"completion/complete"}),
        ("tasks", {"tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"}),
        ("logging", {"logging/setLevel"}),
        ("sampling", {"sampling/createMessage"}),
        ("roots", {"roots/list"}),
        ("elicitation", {"elicitation/create"}),
        (None, {"initialize", "ping", "server/discover", "subscriptions/listen"}),
    ],
)
def test_a_request_needs_the_capability_of_its_page(
    capability: str | None, names: set[str]
) -> None:
    requests = [method for method in METHODS if method.kind is Kind.REQUEST]
    assert {method.name for method in requests if method.capability == capability} == names


def test_http_mirrors_the_name_of_the_request() -> None:
    assert {m.name: m.mirrored for m in METHODS if m.mirrored is not None} == {
        "tools/call": "name",
        "prompts/get": "name",
        "resources/read": "uri",
        "tasks/get": "taskId",
        "tasks/update": "taskId",
        "tasks/cancel": "taskId",
    }


def test_the_mirrored_member_matches_the_param() -> None:
    for method in METHODS:
        if method.mirrored is not None:
            members = {f.name: f.encode_name for f in msgspec.structs.fields(method.params)}
            assert members[method.member or ""] == method.mirrored


def test_task_ids_are_mirrored_only_for_the_extension() -> None:
    assert methods_at(V2025_11_25)["tasks/get"].mirrored is None


def test_a_notification_needs_no_capability() -> None:
    assert all(m.capability is None for m in METHODS if m.kind is Kind.NOTIFICATION)


def test_no_name_has_two_rows_at_one_revision() -> None:
    for revision in REVISIONS:
        names = [method.name for method in METHODS if method.exists_at(revision)]
        assert len(names) == len(set(names)) == len(methods_at(revision))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_row_covers_at_least_one_revision(method: MethodSpec) -> None:
    assert [r for r in REVISIONS if method.exists_at(r)] == [
        r for r in REVISIONS if method.since.order <= r.order <= method.until.order
    ]
    assert method.exists_at(method.since)
    assert method.exists_at(method.until)


def test_the_params_of_every_row_are_compared_with_the_official_ones() -> None:
    """A field that the official params require is required by the params of the row."""
    tables = {**official.CLIENT_REQUESTS, **official.SERVER_NOTIFICATIONS}
    for (name, date), theirs in tables.items():
        [revision] = [r for r in REVISIONS if r.date == date]
        ours = {f.encode_name for f in msgspec.structs.fields(methods_at(revision)[name].params)}
        params: Any = theirs.model_fields["params"].annotation
        required = {
            field.alias or field_name
            for field_name, field in getattr(params, "model_fields", {}).items()
            if field.is_required()
        }
        built_elsewhere = SENT_AS_BYTES.get(name, set())
        assert required <= ours | built_elsewhere, (name, date)


# Notifications whose params are put together from bytes, without a struct.
SENT_AS_BYTES = {
    "notifications/resources/updated": {"uri"},
    "notifications/subscriptions/acknowledged": {"notifications"},
    "notifications/elicitation/complete": {"elicitationId"},
}


def test_an_unknown_revision_has_no_table() -> None:
    stranger = Revision("1900-01-01", 9, Family.LEGACY)
    with pytest.raises(AssertionError):
        methods_at(stranger)
