"""No method without a transcript, at any revision that has it, in the directions it may go."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from dovetail.spec.methods import Kind, MethodSpec, Sender, methods_at
from dovetail.spec.revisions import REVISIONS, Revision
from tests.contracts.test_clause_ids import read_clauses
from tests.transcripts.script import Kind as Line
from tests.transcripts.script import Script, Step, find_scripts

# What our server never sends, although it might -> why.
NOT_SENT = {
    "ping": "the specification lets a server ping; ours relies on the transport",
    "notifications/elicitation/complete": "a MAY: nobody tells the server that a page was visited",
}

_REFERENCE = re.compile(r'(?<!")\$\w+')

Covered = frozenset[tuple[str, str]]


def read_messages(step: Step) -> list[dict[str, Any]]:
    """What a line carries, as far as it is JSON; references stand as text."""
    try:
        message = json.loads(_REFERENCE.sub('"reference"', step.text))
    except ValueError:
        return []
    items = message if isinstance(message, list) else [message]
    return [item for item in items if isinstance(item, dict)]


def find_covered(script: Script, revision: Revision) -> Iterator[tuple[str, str]]:
    """Pairs of method and sender that the transcript shows at work."""
    asked: dict[str, str] = {}
    for step in script.steps_at(revision):
        for message in read_messages(step):
            method, key = message.get("method"), json.dumps(message.get("id"))
            if step.kind is Line.SEND and isinstance(method, str):
                if "id" in message:
                    asked[key] = method
                else:
                    yield method, "client"
            elif step.kind in (Line.EXPECT, Line.EXPECT_UNORDERED):
                if isinstance(method, str):
                    yield method, "server"
                elif "result" in message and key in asked:
                    # Only an answer that is no error shows a request at work.
                    yield asked[key], "client"
                    yield from _inputs(message["result"])


def _inputs(result: Any) -> Iterator[tuple[str, str]]:
    wanted = result.get("inputRequests", {}) if isinstance(result, dict) else {}
    for ask in wanted.values():
        yield ask["method"], "server"


@cache
def covered_at(revision: Revision) -> Covered:
    return frozenset(
        pair
        for script in find_scripts()
        if revision in script.revisions
        for pair in find_covered(script, revision)
    )


def senders_of(method: MethodSpec) -> tuple[str, ...]:
    if method.sender is Sender.BOTH:
        return ("client", "server")
    return (method.sender.value,)


METHODS = [
    pytest.param(method, revision, sender, id=f"{method.name}-{revision}-{sender}")
    for revision in REVISIONS
    for method in methods_at(revision).values()
    for sender in senders_of(method)
    if not (sender == "server" and method.name in NOT_SENT)
]


@pytest.mark.parametrize(("method", "revision", "sender"), METHODS)
def test_every_method_is_in_a_transcript(
    method: MethodSpec, revision: Revision, sender: str
) -> None:
    assert (method.name, sender) in covered_at(revision)


def test_what_is_said_to_be_never_sent_is_never_sent() -> None:
    sent = {name for r in REVISIONS for name, sender in covered_at(r) if sender == "server"}
    assert not sent & NOT_SENT.keys()
    assert all(NOT_SENT.values())


def test_no_transcript_shows_a_method_at_work_that_the_table_does_not_have() -> None:
    for revision in REVISIONS:
        known = methods_at(revision)
        for name, sender in covered_at(revision):
            is_request = name in known and known[name].kind is Kind.REQUEST
            assert name in known or sender == "client", f"{name} from the {sender} at {revision}"
            assert is_request or name.startswith("notifications/") or name not in known


@pytest.mark.parametrize("script", find_scripts(), ids=lambda script: script.name)
def test_a_transcript_names_clauses_that_exist(script: Script) -> None:
    assert script.clauses, "say on top what it guards"
    assert set(script.clauses) <= read_clauses().keys()
