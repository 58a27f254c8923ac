from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail.spec import keys
from dovetail.spec.revisions import LATEST_LEGACY, MODERN
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    Question,
    answered_as,
    got_misfit_reply,
    is_asking,
    missing_capability,
    questions_behind,
    questions_in,
    subject_of,
)

FORM = {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {}}}
PAGE = {"method": "elicitation/create", "params": {"mode": "url", "url": "https://x.example"}}
ROOTS = {"method": "roots/list"}


class Script:
    """Builds the frames of a session."""

    def __init__(self, *, modern: bool) -> None:
        self.revision = MODERN[-1] if modern else LATEST_LEGACY
        self.frames: list[Frame] = []

    def add(self, kind: Any, message: Any, tag: str = "", of: int | None = None) -> int:
        n = len(self.frames)
        text = json.dumps(message)
        name = f"stdio {self.revision}"
        self.frames.append(
            Frame(n=n, at=n, session=name, connection="main", kind=kind, tag=tag, of=of, text=text)
        )
        return n

    def send(self, method: str, params: Any, tag: str = "") -> int:
        message = {"jsonrpc": "2.0", "id": len(self.frames), "method": method, "params": params}
        return self.add("sent", message, tag)

    def call(self, tag: str, declared: Any, result: Any, **more: Any) -> None:
        """A modern call and its result."""
        meta = {keys.CLIENT_CAPABILITIES: declared}
        n = self.send("tools/call", {"name": "x", "_meta": meta, **more}, tag)
        self.add("received", {"jsonrpc": "2.0", "id": n, "result": result}, of=n)

    def ask(self, id: int, question: Any) -> None:
        """A request of the server."""
        self.add("received", {"jsonrpc": "2.0", "id": id, **question})

    @property
    def seen(self) -> ProbeSession:
        return ProbeSession("stdio", self.revision, self.frames)


def asking(**questions: Any) -> dict[str, Any]:
    return {"resultType": "input_required", "inputRequests": questions}


def question(asked: dict[str, Any], declared: Any) -> Question:
    incoming = Incoming(Frame(n=0, at=0, session="", connection="", kind="received"), asked)
    return Question(incoming, asked["method"], asked.get("params", {}), declared)


@pytest.mark.parametrize(
    ("asked", "declared", "missing"),
    [
        (FORM, {}, "elicitation"),
        (FORM, {"elicitation": {}}, None),
        (FORM, {"elicitation": {"form": {}}}, None),
        (FORM, {"elicitation": {"url": {}}}, "elicitation.form"),
        (PAGE, {"elicitation": {}}, "elicitation.url"),
        (PAGE, {"elicitation": {"url": {}}}, None),
        (ROOTS, {"sampling": {}}, "roots"),
        (ROOTS, {"roots": {}}, None),
        # The declared capabilities are unknown, so none is reported as missing.
        (FORM, None, None),
    ],
)
def test_a_question_needs_its_capability(asked: Any, declared: Any, missing: str | None) -> None:
    assert missing_capability(question(asked, declared)) == missing


def test_requests_of_the_server_are_questions_of_the_legacy_era() -> None:
    script = Script(modern=False)
    script.send("initialize", {"capabilities": {"roots": {}}})
    script.ask(1, ROOTS)
    script.ask(2, {"method": "ping"})
    [found] = questions_in(script.seen)
    assert (found.method, found.declared) == ("roots/list", {"roots": {}})


def test_entries_of_a_result_are_questions_of_the_modern_era() -> None:
    script = Script(modern=True)
    script.call("", {"roots": {}}, asking(a=FORM, b=PAGE, c={"method": "ping"}, d=5))
    first, second = questions_in(script.seen)
    assert (first.is_form, second.is_url) == (True, True)
    assert first.declared == {"roots": {}}
    assert questions_in(script.seen, "roots/list") == []


@pytest.mark.parametrize(
    "result",
    [None, [], "input_required", {}, {"resultType": "input_required", "inputRequests": ["x"]}],
)
def test_strange_results_ask_nothing(result: Any) -> None:
    script = Script(modern=True)
    script.call("", {}, result)
    assert questions_in(script.seen) == []


def test_a_retry_answers_the_last_questions_of_the_same_request() -> None:
    script = Script(modern=True)
    script.call("input-rounds/ask", {}, asking(a=FORM))
    script.call("input-rounds/ask", {}, asking(b=ROOTS), arguments={"other": 1})
    script.call("input-rounds/decline", {}, {}, inputResponses={"a": {}}, requestState="s")
    [(exchange, [asked])] = answered_as(script.seen, "decline")
    assert asked.is_form
    assert not is_asking(exchange)


def test_a_retry_without_questions_answers_nothing() -> None:
    script = Script(modern=True)
    script.call("input-rounds/decline", {}, {}, inputResponses={"a": {}})
    assert answered_as(script.seen, "decline") == []


def test_a_legacy_question_belongs_to_the_request_that_was_open() -> None:
    script = Script(modern=False)
    script.ask(1, FORM)
    n = script.send("tools/call", {"name": "x"}, "asking/misfit")
    script.ask(2, ROOTS)
    script.add("sent", {"id": 2, "result": {"x": "dovetail-check-misfit"}}, "answer")
    script.add("received", {"jsonrpc": "2.0", "id": n, "result": {}}, of=n)
    script.ask(3, PAGE)
    seen = script.seen
    [exchange] = seen.tagged("asking/misfit")
    assert [asked.method for asked in questions_behind(seen, exchange)] == ["roots/list"]
    assert got_misfit_reply(seen, exchange)


def test_a_request_and_its_retry_have_the_same_subject() -> None:
    script = Script(modern=True)
    script.call("", {}, {}, arguments={"a": 1})
    script.call("", {"roots": {}}, {}, arguments={"a": 1}, requestState="s", inputResponses={})
    script.call("", {}, {}, arguments={"a": 2})
    first, retry, other = (subject_of(exchange) for exchange in script.seen.exchanges)
    assert first == retry != other


def test_an_exchange_without_an_answer_asks_nothing() -> None:
    frame = Frame(n=0, at=0, session="", connection="", kind="sent", text="{}")
    assert not is_asking(Exchange(frame))
