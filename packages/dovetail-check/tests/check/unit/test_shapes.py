"""The tables of shapes must agree with the models of `mcp-types`."""

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
from dovetail_check.shapes.spans import Choice, Entry, Span, at
from dovetail_check.shapes.validation import SHAPES
from tests.check.unit.shape_corpus import (
    INPUTS,
    NOTIFICATIONS,
    REQUESTS,
    RESULTS,
    Spoiled,
    modernize,
    spoil,
)

# Where mcp-types deviates from the schema: path of the changed member -> reason.
DEVIATIONS: dict[str, str] = {
    r".*requestedSchema\.properties\..*|.*requestedSchema\.properties": (
        "the models accept any JSON as the schema of a property; the schema names the allowed types"
    ),
    r"_meta\.io\.modelcontextprotocol/serverInfo.*": (
        "the models do not check _meta of a result; the schema types serverInfo"
    ),
    "method": "the models fix the method; here an unknown method may belong to an extension",
    "id": "without an id a request is a notification, and is checked as one",
}
# The models of the newest legacy revision are used for all: differences of older revisions.
OLDER_DEVIATIONS: dict[str, str] = {
    r".*serverInfo\.description": "undefined before 2025-11-25, so any value is allowed",
    r"params\.requestId|params": "the id of cancelled is optional in 2025-11-25 only",
}
# Members added later: the models check them, but the schema of the older revision does not.
_AFTER_JUNE = frozenset(
    # ... and the properties of the corpus with multiple selection.
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
    """A message of the newest legacy revision without members that were added after `revision`."""
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
    """Whether a content block, or a message with one, has a type of the revision."""
    if not isinstance(item, dict) or revision not in LATER_MEMBERS:
        return True
    content = item.get("content", item)
    if isinstance(content, list):
        return False
    kind = content.get("type")
    return kind in revision.content_types or kind not in ("audio", "resource_link")


def fits_model(model: Any, value: Any) -> bool:
    """Whether mcp-types accepts a value; resultType selects among several models."""
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
    """Name, message, model, and our validator."""
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
def test_invalid_messages_are_judged_like_the_models(revision: Revision) -> None:
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
    """Whether resultType was replaced: the models then use another shape, we do not."""
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


# -- what the models do not check ------------------------------------------------------------------


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
                "status: expected 'working' or 'input_required' or 'completed' or 'failed' or "
                "'cancelled', got 'gone'"
            ],
        ),
        (
            "Annotations",
            {"priority": 2},
            V2025_11_25,
            ["priority: expected a number from 0 to 1, got 2"],
        ),
        ("Task", [], V2025_11_25, ["value: expected an object (Task), got []"]),
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
        ({"id": 1, "result": {}}, V2025_11_25, ["jsonrpc: expected '2.0', got None"]),
        ({"jsonrpc": "2.0", "result": {}}, V2025_11_25, ["id: missing"]),
        (
            {"jsonrpc": "2.0", "id": 1},
            V2025_11_25,
            ["neither method, result nor error: not a JSON-RPC message"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
            V2025_11_25,
            ["both result and error: expected exactly one of them"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "result": []},
            V2025_11_25,
            ["result: expected an object (EmptyResult), got []"],
        ),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, V2025_11_25, []),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": ""}}, V2025_06_18, ["id: missing"]),
        ({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": ""}}, V2026_07_28, []),
        (
            {"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": ""}},
            V2026_07_28,
            ["error.data: expected an object (UnsupportedProtocolVersionData), got None"],
        ),
        (
            [{"jsonrpc": "2.0", "id": 1, "result": {}}, 5],
            V2025_03_26,
            ["[1].value: expected an object, got 5"],
        ),
        ([], V2025_11_25, ["value: expected an object, got []"]),
        ({"jsonrpc": "2.0", "method": "notifications/own", "params": {}}, V2025_11_25, []),
        (
            {"jsonrpc": "2.0", "method": "notifications/own", "params": []},
            V2025_11_25,
            ["params: expected an object, got []"],
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
            V2026_07_28,
            ["method 'roots/list': not a server request at 2026-07-28"],
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
        "id: expected a string or an integer, got 1.5"
    ]
    assert shapes.envelope_problems([], V2025_11_25) == ["value: expected an object, got []"]
