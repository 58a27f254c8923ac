"""The dispatcher: the gates, the shapes of an outcome, and the one boundary for what is raised."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from dovetail.core.call import Call, Handler, Style
from dovetail.core.dispatch import Dispatcher, InputRequired, MethodHandler, Shaped
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.middleware import CallNext, GuardChains, Request
from dovetail.core.options import Options
from dovetail.errors import (
    InvalidParamsError,
    LimitError,
    MissingCapabilityError,
    ResourceNotFoundError,
    RpcError,
    ToolError,
    UsageError,
)
from dovetail.runtime.runner import HandlerRunner
from dovetail.spec.models import CallToolResult
from dovetail.spec.revisions import REVISIONS, V2025_11_25, V2026_07_28, Revision
from tests.unit.fakes import PlainEra, drive, make_call

REFERENCE = re.compile(
    r"Internal error, reference ([0-9a-f]{8}); the server's log has the details\."
)


class Value(Struct):
    value: str


class Failure(Struct):
    failure: str


def handler(outcome: Any, *, is_async: bool = False, with_fault: bool = False) -> MethodHandler:
    """A handler that returns `outcome`, or raises it where it is an exception."""

    def at_once(call: Call) -> Any:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def later(call: Call) -> Any:
        await asyncio.sleep(0)
        return at_once(call)

    return MethodHandler(later if is_async else at_once, Failure if with_fault else None)


async def wait_for(answer: bytes | Coroutine[Any, Any, bytes]) -> bytes:
    return answer if isinstance(answer, bytes) else await answer


def answer(
    entry: MethodHandler,
    *,
    method: str = "tools/call",
    revision: Revision = V2025_11_25,
    id: bytes = b"1",
    **options: Any,
) -> Any:
    dispatcher = Dispatcher({method: entry}, lambda: {"tools": {}, "resources": {}}, **options)
    call = make_call(method, b'{"name":"t","uri":"a://b"}', era=PlainEra(revision), id=id)
    return json.loads(drive(wait_for(dispatcher.answer(call))))


both_ways = pytest.mark.parametrize("is_async", [False, True], ids=["at once", "awaited"])


# -- gates ------------------------------------------------------------------------------------


def never(call: Call) -> Value:
    raise AssertionError("the gate is open")


@pytest.mark.parametrize(
    ("method", "revision", "exists"),
    [
        ("tools/call", V2025_11_25, True),
        ("tools/call", V2026_07_28, True),
        ("ping", V2025_11_25, True),
        ("ping", V2026_07_28, False),
        ("server/discover", V2025_11_25, False),
        ("server/discover", V2026_07_28, True),
        ("resources/subscribe", V2026_07_28, False),
        ("no/such", V2025_11_25, False),
    ],
)
def test_a_method_is_served_where_the_table_has_it(
    method: str, revision: Revision, exists: bool
) -> None:
    entry = handler(Value("x")) if exists else MethodHandler(never)
    found = answer(entry, method=method, revision=revision)
    if exists:
        assert "result" in found
    else:
        assert found["error"] == {
            "code": -32601,
            "message": f"Method not found: {method!r} does not exist at {revision}",
        }


def test_a_method_without_a_handler_does_not_exist() -> None:
    dispatcher = Dispatcher({}, lambda: {"tools": {}})
    found = json.loads(drive(wait_for(dispatcher.answer(make_call()))))
    assert found["error"]["code"] == -32601


def test_an_unknown_method_is_repeated_up_to_a_point() -> None:
    found = answer(MethodHandler(never), method="x" * 10_000)
    assert found["error"]["message"].startswith(f"Method not found: {'x' * 100!r} does not")


def test_a_method_needs_the_capability_that_the_server_declares_now() -> None:
    declared: dict[str, Any] = {}
    dispatcher = Dispatcher({"tools/call": handler(Value("x"))}, lambda: declared)
    refused = json.loads(drive(wait_for(dispatcher.answer(make_call()))))
    assert refused["error"] == {
        "code": -32601,
        "message": "Method not found: 'tools/call' needs the capability 'tools', which this "
        "server has not declared",
    }
    declared["tools"] = {}
    assert "result" in json.loads(drive(wait_for(dispatcher.answer(make_call()))))


# -- outcomes -----------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (Value("x"), {"hint": None, "result": {"value": "x"}}),
        ({"a": 1}, {"hint": None, "result": {"a": 1}}),
        (
            Shaped(Value("x"), CacheHint(5, "private")),
            {"hint": [5, "private"], "result": {"value": "x"}},
        ),
        (Encoded(b'{"done":true}'), {"done": True}),
        (InputRequired(b'{"resultType":"input_required"}'), {"resultType": "input_required"}),
    ],
    ids=["struct", "dict", "with a hint", "encoded already", "interim"],
)
def test_an_outcome_is_shaped_by_the_era_unless_it_is_done_already(
    outcome: Any, result: Any, is_async: bool
) -> None:
    found = answer(handler(outcome, is_async=is_async), id=b'"q"')
    assert found == {"jsonrpc": "2.0", "id": "q", "result": result}


def test_what_needs_no_waiting_is_answered_without_a_coroutine() -> None:
    dispatcher = Dispatcher({"tools/call": handler(Value("x"))}, lambda: {"tools": {}})
    assert isinstance(dispatcher.answer(make_call()), bytes)


def test_an_interim_outcome_is_no_failure_of_a_tool() -> None:
    found = answer(handler(InputRequired(b"{}"), is_async=True, with_fault=True))
    assert found["result"] == {}


@both_ways
@pytest.mark.parametrize("with_fault", [False, True])
def test_a_result_over_the_limit_is_refused_with_both_sizes(
    is_async: bool, with_fault: bool
) -> None:
    entry = handler(Encoded(b"x" * 1235), is_async=is_async, with_fault=with_fault)
    found = answer(entry, max_result_bytes=1234)
    said = "The result is too large: 1,235 bytes, the limit is 1,234. Ask for less."
    if with_fault:
        assert found["result"]["result"] == {"failure": said}
    else:
        assert found["error"] == {"code": -32603, "message": said}


def test_a_result_at_the_limit_passes() -> None:
    body = b'{"a":1}'
    assert answer(handler(Encoded(body)), max_result_bytes=len(body))["result"] == {"a": 1}


# -- what is raised -------------------------------------------------------------------------------


@both_ways
@pytest.mark.parametrize("with_fault", [False, True])
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidParamsError("no"), {"code": -32602, "message": "no"}),
        (RpcError("own", {"a": 1}, code=4711), {"code": 4711, "message": "own", "data": {"a": 1}}),
        (
            MissingCapabilityError({"roots": {}}, "no"),
            {"code": -32021, "message": "no", "data": {"requiredCapabilities": {"roots": {}}}},
        ),
    ],
    ids=["invalid params", "own code", "missing capability"],
)
def test_an_rpc_error_is_the_answer_even_of_a_tool(
    error: RpcError, expected: dict[str, Any], is_async: bool, with_fault: bool
) -> None:
    found = answer(handler(error, is_async=is_async, with_fault=with_fault))
    assert found == {"jsonrpc": "2.0", "id": 1, "error": expected}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_resource_that_is_not_there_has_the_code_of_the_revision(revision: Revision) -> None:
    entry = handler(ResourceNotFoundError("a://b"))
    found = answer(entry, method="resources/read", revision=revision)
    assert found["error"] == {
        "code": -32602 if revision is V2026_07_28 else -32002,
        "message": "Resource not found: a://b",
        "data": {"uri": "a://b"},
    }


@both_ways
@pytest.mark.parametrize("error", [ToolError("as written"), LimitError("as written")])
def test_what_an_author_says_is_shown_as_written_and_not_logged(
    error: Exception, is_async: bool, caplog: pytest.LogCaptureFixture
) -> None:
    shown = answer(handler(error, is_async=is_async, with_fault=True))
    assert shown["result"]["result"] == {"failure": "as written"}
    told = answer(handler(error, is_async=is_async))
    assert told["error"] == {"code": -32603, "message": "as written"}
    assert caplog.records == []


@both_ways
@pytest.mark.parametrize("with_fault", [False, True])
@pytest.mark.parametrize("error", [KeyError("hunter2"), UsageError("hunter2"), Exception()])
def test_a_crash_is_a_reference_for_the_client_and_a_traceback_in_the_log(
    error: Exception, is_async: bool, with_fault: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "dovetail"):
        found = answer(handler(error, is_async=is_async, with_fault=with_fault))
    assert "hunter2" not in json.dumps(found)
    if with_fault:
        said = found["result"]["result"]["failure"]
    else:
        assert found["error"]["code"] == -32603
        said = found["error"]["message"]
    matched = REFERENCE.fullmatch(said)
    assert matched is not None
    [record] = caplog.records
    assert record.getMessage() == f"tools/call failed, reference {matched[1]}"
    assert record.exc_info is not None
    assert record.exc_info[1] is error


def test_a_crash_is_logged_with_the_handler_and_its_line(caplog: pytest.LogCaptureFixture) -> None:
    def crash(call: Call) -> Any:
        call.handler = Handler(len, Style.INLINE, "tool 'a'", where="tool 'a' (a.py:3)")
        raise KeyError

    answer(MethodHandler(crash))
    assert (
        caplog.records[0]
        .getMessage()
        .startswith("tools/call failed in tool 'a' (a.py:3), reference ")
    )


def test_each_crash_has_a_reference_of_its_own() -> None:
    found = {answer(handler(KeyError()))["error"]["message"] for _ in range(20)}
    assert len(found) == 20


def test_a_traceback_is_shown_where_the_operator_wants_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    entry = handler(KeyError("hunter2"), with_fault=True)
    found = answer(entry, expose_tracebacks=True)
    said = found["result"]["result"]["failure"]
    assert said.startswith("Traceback")
    assert "KeyError: 'hunter2'" in said
    assert len(caplog.records) == 1


@pytest.mark.parametrize("make", [Value, lambda text: {"a": object()}], ids=["surrogate", "object"])
def test_a_result_that_is_no_json_is_a_crash(
    make: Callable[[str], Any], caplog: pytest.LogCaptureFixture
) -> None:
    found = answer(handler(make("\ud800")))
    assert REFERENCE.fullmatch(found["error"]["message"])
    assert len(caplog.records) == 1


@both_ways
@pytest.mark.parametrize("with_fault", [False, True])
@pytest.mark.parametrize(
    "error", [RpcError("no", object(), code=1), RpcError("\ud800", code=1)], ids=["data", "message"]
)
def test_an_rpc_error_that_is_no_json_is_answered_all_the_same(
    error: RpcError, is_async: bool, with_fault: bool, caplog: pytest.LogCaptureFixture
) -> None:
    found = answer(handler(error, is_async=is_async, with_fault=with_fault))
    said = found["result"]["result"]["failure"] if with_fault else found["error"]["message"]
    assert REFERENCE.fullmatch(said)
    assert len(caplog.records) == 1


@pytest.mark.parametrize("expose", [False, True])
def test_halves_of_surrogate_pairs_in_an_authors_words_become_question_marks(expose: bool) -> None:
    error = Exception("\ud800") if expose else ToolError("no file \udcff here")
    found = answer(handler(error, with_fault=True), expose_tracebacks=expose)
    said = found["result"]["result"]["failure"]
    assert said.endswith("Exception: ?\n") if expose else said == "no file ? here"


@both_ways
@pytest.mark.parametrize("stop", [KeyboardInterrupt, asyncio.CancelledError])
def test_what_is_no_exception_passes_through(stop: type[BaseException], is_async: bool) -> None:
    dispatcher = Dispatcher(
        {"tools/call": handler(stop(), is_async=is_async, with_fault=True)}, lambda: {"tools": {}}
    )

    async def run() -> None:
        with pytest.raises(stop):
            await wait_for(dispatcher.answer(make_call()))

    asyncio.run(run())


# -- calls that another server answers ----------------------------------------------------------


class Noting:
    """A middleware that notes what it sees, and may wait or reject."""

    def __init__(self, refusal: Exception | None = None, *, waits: bool = True) -> None:
        self.refusal = refusal
        self.waits = waits
        self.seen: list[Any] = []

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        self.seen.append("before")
        if self.waits:
            await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        request.add_done_callback(lambda request: self.seen.append(request.outcome))
        return await call_next(request)


def delegate(entry: MethodHandler, *middleware: Noting, limit: int | None = None) -> Any:
    plain = Dispatcher({"tools/call": entry}, lambda: {"tools": {}})
    chains = GuardChains([], middleware)
    dispatcher = plain.guarded(chains, "mount", limit) if middleware else plain
    call = make_call("tools/call", b'{"name":"t"}', era=PlainEra(V2025_11_25))
    call.services = SimpleNamespace(runner=HandlerRunner(Options()))

    async def run() -> Any:
        outcome = dispatcher.delegate(call, entry)
        try:
            return await outcome if isinstance(outcome, Coroutine) else outcome
        finally:
            assert call.request is None

    return drive(run())


def test_a_request_that_ends_the_program_has_ended_for_the_middleware() -> None:
    noting = Noting(waits=False)
    entry = handler(KeyboardInterrupt())
    plain = Dispatcher({"tools/call": entry}, lambda: {"tools": {}})
    guarded = plain.guarded(GuardChains([], [noting]), "memory", None)
    call = make_call("tools/call", b'{"name":"t"}', era=PlainEra(V2025_11_25))
    call.services = SimpleNamespace(runner=HandlerRunner(Options()))
    with pytest.raises(KeyboardInterrupt):
        guarded.answer(call)
    assert noting.seen == ["before", "cancelled"]


@both_ways
def test_a_delegated_call_has_the_middleware_around_it(is_async: bool) -> None:
    slow, quick = Noting(), Noting(waits=False)
    assert delegate(handler({"x": 1}, is_async=is_async), slow, quick) == {"x": 1}
    assert (slow.seen, quick.seen) == (["before", "ok"], ["before", "ok"])
    assert delegate(handler({"x": 1}, is_async=is_async)) == {"x": 1}


@pytest.mark.parametrize(
    ("outcome", "seen"),
    [
        (CallToolResult(content=[], is_error=True), "tool_error"),
        (ToolError("no"), "error"),
        (InputRequired(b"{}"), "ok"),
    ],
)
def test_a_middleware_sees_how_a_delegated_call_ended(outcome: Any, seen: str) -> None:
    noting = Noting(waits=False)
    if isinstance(outcome, Exception):
        with pytest.raises(type(outcome)):
            delegate(handler(outcome), noting)
    else:
        assert delegate(handler(outcome), noting) is outcome
    assert noting.seen == ["before", seen]


def test_a_middleware_may_reject_a_delegated_call() -> None:
    outer, refusing, inner = Noting(), Noting(LimitError("busy")), Noting()
    with pytest.raises(LimitError, match="busy"):
        delegate(handler({"x": 1}), outer, refusing, inner)
    assert (outer.seen, refusing.seen, inner.seen) == (["before", "refused"], ["before"], [])


def test_the_result_limit_holds_for_delegated_calls() -> None:
    with pytest.raises(LimitError, match="too large"):
        delegate(handler({"x": "y" * 100}), Noting(), limit=50)
    assert delegate(handler({"x": "y"}), Noting(), limit=50) == {"x": "y"}
