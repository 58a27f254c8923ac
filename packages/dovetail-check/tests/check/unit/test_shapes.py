"""The tables of shapes against the models of `mcp-types`: neither may say what the other denies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, get_args

import pytest
from mcp_types import methods
from pydantic import ValidationError

from dovetail.spec.revisions import (
    MODERN,
    REVISIONS,
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    Revision,
)
from dovetail_check import shapes
from dovetail_check.shapes.by_method import NOTIFICATIONS as OUR_NOTIFICATIONS
from dovetail_check.shapes.by_method import REQUESTS as OUR_REQUESTS
from dovetail_check.shapes.by_method import RESULTS as OUR_RESULTS
from dovetail_check.shapes.fitting import SHAPES
from dovetail_check.shapes.spans import Choice, Entry, Span, at
from tests.check.unit.shape_corpus import (
    INPUTS,
    NOTIFICATIONS,
    REQUESTS,
    RESULTS,
    Spoiled,
    modernize,
    spoil,
)

# Where mcp-types departs from the schema: path of what was spoiled -> why the models say otherwise.
DEVIATIONS: dict[str, str] = {
    r".*requestedSchema\.properties\..*|.*requestedSchema\.properties": (
        "the models take any JSON as the schema of a property; the schema names the allowed kinds"
    ),
    r"_meta\.io\.modelcontextprotocol/serverInfo.*": (
        "the models leave what is in _meta of a result alone; the schema types serverInfo"
    ),
    "method": "the models fix the method; for us a method that nobody knows may be an extension's",
    "id": "without an id a request is a notification, which we judge as one",
}
# The models of the newest legacy revision serve for all: what the older ones had otherwise.
OLDER_DEVIATIONS: dict[str, str] = {
    r".*serverInfo\.description": "unknown before 2025-11-25, so anybody's own",
    r"params\.requestId|params": "the id of cancelled is optional in 2025-11-25 only",
}
# Members that came later, so that the models judge what the schema of the time leaves open.
_AFTER_JUNE = frozenset(
    # ... and the properties of the corpus that choose several values.
    {"icons", "websiteUrl", "$schema", "toolChoice", "mode", "many", "many titled"}
)
_AFTER_MARCH = _AFTER_JUNE | {
    "_meta",
    "title",
    "lastModified",
    "outputSchema",
    "structuredContent",
}
LATER_MEMBERS: dict[Revision, frozenset[str]] = {
    V2024_11_05: _AFTER_MARCH | {"completions", "message"},
    V2025_03_26: _AFTER_MARCH,
    V2025_06_18: _AFTER_JUNE,
}


def as_of(revision: Revision, value: Any) -> Any:
    """A message of the newest legacy revision without what came after another one."""
    later = LATER_MEMBERS.get(revision, frozenset())
    if isinstance(value, list):
        return [as_of(revision, item) for item in value if exists_at(revision, item)]
    if not isinstance(value, dict):
        return value
    kept = {name: as_of(revision, item) for name, item in value.items() if name not in later}
    if revision is V2024_11_05 and "inputSchema" in kept:
        kept.pop("annotations", None)
    return kept


def exists_at(revision: Revision, item: Any) -> bool:
    """Whether a content block, or a message with one, is of a kind that the revision knows."""
    if not isinstance(item, dict) or revision not in LATER_MEMBERS:
        return True
    content = item.get("content", item)
    if isinstance(content, list):
        return False
    kind = content.get("type")
    return kind in revision.content_types or kind not in ("audio", "resource_link")


def fits_model(model: Any, value: Any) -> bool:
    """What mcp-types says; of several results the one that the type asks for."""
    arms = get_args(model) or (model,)
    if len(arms) > 1:
        wanted = isinstance(value, dict) and value.get("resultType") == "input_required"
        arms = tuple(arm for arm in arms if arm.__name__.startswith("InputRequired") is wanted)
    try:
        arms[0].model_validate(value, by_name=False)
    except ValidationError:
        return False
    return True


Judge = Callable[[Any], list[str]]


def judge_result(value: Any, method: str, revision: Revision) -> list[str]:
    return shapes.result_problems(value, method, revision)


def cases(revision: Revision) -> Iterator[tuple[str, Any, Any, Judge]]:
    """Name, message, its model, and our judge of it."""
    date = revision.date
    for method, results in RESULTS.items():
        model = methods.SERVER_RESULTS.get((method, date))
        for result in results if model is not None else ():
            value = modernize(result, method) if revision in MODERN else as_of(revision, result)
            yield (
                f"result of {method}",
                value,
                model,
                partial(judge_result, method=method, revision=revision),
            )

    def judge_message(value: Any) -> list[str]:
        return shapes.message_problems(value, None, revision)

    for table, models, extra in (
        (REQUESTS, methods.SERVER_REQUESTS, {"id": 1}),
        (NOTIFICATIONS, methods.SERVER_NOTIFICATIONS, {}),
    ):
        for method, given in table.items():
            model = models.get((method, date))
            for params in given if model is not None else ():
                if params is not None and params.get("mode") == "url" and date < "2025-11-25":
                    continue
                message: dict[str, Any] = {"jsonrpc": "2.0", **extra, "method": method}
                if params is not None:
                    message["params"] = as_of(revision, params)
                if revision in LATER_MEMBERS and "tools" in message.get("params", {}):
                    del message["params"]["tools"]
                yield method, message, model, judge_message
    if revision in MODERN:
        for asked in INPUTS:
            asked = {**asked, "params": {**asked.get("params", {})}}
            yield (
                f"input {asked['method']}",
                {"resultType": "input_required", "inputRequests": {"k": asked}},
                methods.SERVER_RESULTS["tools/call", date],
                partial(judge_result, method="tools/call", revision=revision),
            )


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_good_messages_have_no_problems(revision: Revision) -> None:
    for name, message, model, judge in cases(revision):
        assert fits_model(model, message), name
        assert judge(message) == [], name


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_spoiled_messages_are_seen_as_the_models_see_them(revision: Revision) -> None:
    allowed = DEVIATIONS | (OLDER_DEVIATIONS if revision in LATER_MEMBERS else {})
    differences = [
        f"{name} {spoiled.path} = {spoiled.now!r}: we say {found}"
        for name, message, model, judge in cases(revision)
        for spoiled in spoil(message)
        if not any(re.fullmatch(path, spoiled.path) for path in allowed)
        and fits_model(model, spoiled.value) == bool(found := judge(spoiled.value))
        and not is_open_here(spoiled)
    ]
    assert differences == []


def is_open_here(spoiled: Spoiled) -> bool:
    """A result whose type was replaced is of another kind; we judge it as it was meant."""
    return spoiled.path == "resultType" and isinstance(spoiled.now, str)


def test_every_deviation_is_still_needed() -> None:
    needed = set()
    for revision in REVISIONS:
        for _, message, model, judge in cases(revision):
            for spoiled in spoil(message):
                if fits_model(model, spoiled.value) == bool(judge(spoiled.value)):
                    needed |= {
                        path
                        for path in DEVIATIONS | OLDER_DEVIATIONS
                        if re.fullmatch(path, spoiled.path)
                    }
    assert needed == DEVIATIONS.keys() | OLDER_DEVIATIONS.keys()


# -- the tables themselves -------------------------------------------------------------------------


def entries() -> Iterator[tuple[str, str]]:
    tables = [*SHAPES.values(), OUR_RESULTS, OUR_REQUESTS, OUR_NOTIFICATIONS]
    for table in tables:
        rows = table.shapes if isinstance(table, Choice) else table
        for name, entry in rows.items():
            for what in spelled(entry):
                yield name, what


def spelled(entry: Entry) -> tuple[str, ...]:
    if isinstance(entry, str):
        return (entry,)
    return tuple(span.what for span in ((entry,) if isinstance(entry, Span) else entry))


def test_every_name_in_the_tables_is_known() -> None:
    words = {"string", "integer", "number", "fraction", "count", "boolean", "object", "null", "any"}
    for name, what in entries():
        for word in re.findall(r"'[^']*'|\w+", what):
            assert word[0] == "'" or word in words or word in SHAPES, f"{name}: {what}"


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_methods_exist_where_the_models_say(revision: Revision) -> None:
    for ours, theirs in (
        (OUR_RESULTS, methods.SERVER_RESULTS),
        (OUR_REQUESTS, methods.SERVER_REQUESTS),
        (OUR_NOTIFICATIONS, methods.SERVER_NOTIFICATIONS),
    ):
        found = {name.removesuffix("?") for name, entry in ours.items() if at(revision, entry)}
        # mcp-types leaves tasks out on purpose.
        found = {name for name in found if not name.startswith(("tasks/", "notifications/tasks"))}
        assert found == {method for method, date in theirs if date == revision.date}


# -- what the models do not say --------------------------------------------------------------------


TASK = {"taskId": "1", "status": "working", "createdAt": "t", "lastUpdatedAt": "t"}


@pytest.mark.parametrize(
    ("shape", "value", "revision", "expected"),
    [
        ("CreateTaskResult", {"task": {**TASK, "ttl": None}}, V2025_11_25, []),
        ("CreateTaskResult", {"task": TASK}, V2025_11_25, ["task.ttl: missing"]),
        (
            "CreateTaskResult",
            {"resultType": "task", **TASK, "ttlMs": 5},
            V2026_07_28,
            [],
        ),
        (
            "GetTaskResult",
            {"resultType": "complete", **TASK, "status": "completed", "ttlMs": 5},
            V2026_07_28,
            ["result: missing"],
        ),
        (
            "GetTaskResult",
            {**TASK, "status": "gone", "ttl": 5},
            V2025_11_25,
            [
                "status: 'gone', 'working' or 'input_required' or 'completed' or 'failed' or "
                "'cancelled' was due"
            ],
        ),
        (
            "Annotations",
            {"priority": 2},
            V2025_11_25,
            ["priority: 2, a number from 0 to 1 was due"],
        ),
        ("Task", [], V2025_11_25, ["value: [], an object (Task) was due"]),
    ],
)
def test_problems_say_where_and_what(
    shape: str, value: Any, revision: Revision, expected: list[str]
) -> None:
    assert shapes.problems(value, shape, revision) == expected


@pytest.mark.parametrize(
    ("message", "revision", "expected"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, V2025_11_25, []),
        ({"id": 1, "result": {}}, V2025_11_25, ["jsonrpc: None, '2.0' was due"]),
        ({"jsonrpc": "2.0", "result": {}}, V2025_11_25, ["id: missing"]),
        (
            {"jsonrpc": "2.0", "id": 1},
            V2025_11_25,
            ["neither method, result nor error: no message of JSON-RPC"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
            V2025_11_25,
            ["both result and error: one of them was due"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": []},
            V2025_11_25,
            ["result: [], an object (EmptyResult) was due"],
        ),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, V2025_11_25, []),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, V2025_06_18, ["id: missing"]),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": ""}}, V2026_07_28, []),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": ""}},
            V2026_07_28,
            ["error.data: None, an object (UnsupportedProtocolVersionData) was due"],
        ),
        (
            [{"jsonrpc": "2.0", "id": 1, "result": {}}, 5],
            V2025_03_26,
            ["[1].value: 5, an object was due"],
        ),
        ([], V2025_11_25, ["value: [], an object was due"]),
        ({"jsonrpc": "2.0", "method": "notifications/own", "params": {}}, V2025_11_25, []),
        (
            {"jsonrpc": "2.0", "method": "notifications/own", "params": []},
            V2025_11_25,
            ["params: [], an object was due"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
            V2026_07_28,
            ["method 'roots/list': no request of a server at 2026-07-28"],
        ),
    ],
)
def test_messages_are_judged_whole(message: Any, revision: Revision, expected: list[str]) -> None:
    assert shapes.message_problems(message, "ping", revision) == expected


def test_the_envelope_is_judged_without_what_it_holds() -> None:
    good = {"jsonrpc": "2.0", "id": 1, "result": {"tools": 5}}
    assert shapes.envelope_problems(good, V2026_07_28) == []
    asked = {"jsonrpc": "2.0", "id": 1.5, "method": "roots/list", "params": []}
    assert shapes.envelope_problems(asked, V2026_07_28) == [
        "id: 1.5, a string or an integer was due"
    ]
    assert shapes.envelope_problems([], V2025_11_25) == ["value: [], an object was due"]
