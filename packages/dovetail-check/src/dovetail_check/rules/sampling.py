"""client/sampling: sampling requests, and how servers handle the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    Question,
    answered_as,
    got_misfit_reply,
    is_asking,
    missing_capability,
    questions_in,
    subject_of,
)
from dovetail_check.replies import MAX_TURNS, MISFIT, is_tool_sampling
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import unhandled
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_SAMPLE = "sampling/createMessage"
_ASKED = ("asking", "asking-plainly", "input-rounds")
_WIDE = ("thisServer", "allServers")

unjudged["sampling.no-retain"] = "not visible from outside: what the server stores"
unjudged["sampling.sensitive"] = "not visible from outside: which data is sensitive"


def _samplings(session: ProbeSession) -> list[Question]:
    return questions_in(session, _SAMPLE)


def _messages(question: Question) -> list[dict[str, Any]]:
    found = question.params.get("messages")
    listed = found if isinstance(found, list) else []
    return [message for message in listed if isinstance(message, dict)]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    listed = content if isinstance(content, list) else [content]
    return [block for block in listed if isinstance(block, dict)]


def _of_type(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [block for block in _blocks(message) if block.get("type") == kind]


@rule("sampling.capability", reads=_ASKED)
def sampling_is_requested_only_if_declared(session: ProbeSession) -> Iterator[Note]:
    """The server sends no sampling request to a client without the capability."""
    for question in _samplings(session):
        missing = missing_capability(question)
        if missing is None:
            yield satisfied(question.where)
        else:
            yield violated(question.where, f"{_SAMPLE}, but the client did not declare {missing}")


@rule("sampling.tools-capability", reads=_ASKED)
def tools_need_a_capability(session: ProbeSession) -> Iterator[Note]:
    """tools and toolChoice are used only if the client declares sampling.tools."""
    for question in _samplings(session):
        if question.declared is None or not ({"tools", "toolChoice"} & question.params.keys()):
            continue
        able = question.declared.get("sampling")
        if isinstance(able, dict) and "tools" in able:
            yield satisfied(question.where)
        else:
            yield violated(
                question.where, "tools are sent, but the client did not declare sampling.tools"
            )


@rule("sampling.include-context", reads=_ASKED)
def other_context_is_not_requested(session: ProbeSession) -> Iterator[Note]:
    """includeContext is 'none' or missing."""
    for question in _samplings(session):
        value = question.params.get("includeContext")
        if value not in _WIDE:
            yield satisfied(question.where)
            continue
        able = (question.declared or {}).get("sampling")
        has_context = isinstance(able, dict) and "context" in able
        why = "is deprecated" if has_context else "needs sampling.context, which is not declared"
        yield violated(question.where, f"includeContext {value!r} {why}; expected 'none'")


@rule("sampling.message-shape", reads=_ASKED)
def messages_have_role_and_content(session: ProbeSession) -> Iterator[Note]:
    """The role is user or assistant, and the content has a known type."""
    for question in _samplings(session):
        found = shapes.problems(question.params, "CreateMessageRequestParams", session.revision)
        wrong = [problem for problem in found if problem.startswith("messages")]
        if wrong:
            yield violated(question.where, "; ".join(wrong[:3]))
        else:
            yield satisfied(question.where)


@rule("sampling.tool-result-only", reads=_ASKED)
def tool_results_stand_alone(session: ProbeSession) -> Iterator[Note]:
    """A message with tool results has no other content."""
    for question in _samplings(session):
        for message in _messages(question):
            results = _of_type(message, "tool_result")
            if not results:
                continue
            others = [b.get("type") for b in _blocks(message) if b.get("type") != "tool_result"]
            if others:
                yield violated(
                    question.where,
                    f"a message has tool results and {shown(others)}; expected tool results only",
                )
            else:
                yield satisfied(question.where)


@rule("sampling.tool-balance", reads=_ASKED)
def tool_uses_have_their_results(session: ProbeSession) -> Iterator[Note]:
    """Each tool_use is followed by a message with its tool_result."""
    for question in _samplings(session):
        conversation = _messages(question)
        for at, message in enumerate(conversation):
            used = [str(block.get("id")) for block in _of_type(message, "tool_use")]
            if not used:
                continue
            then = conversation[at + 1] if at + 1 < len(conversation) else {}
            answered = [str(block.get("toolUseId")) for block in _of_type(then, "tool_result")]
            if sorted(used) == sorted(answered) and then.get("role") == "user":
                yield satisfied(question.where)
            else:
                yield violated(
                    question.where,
                    f"tool uses {shown(used)} are followed by results for {shown(answered)}",
                )


@rule("sampling.validate", reads=_ASKED)
def answers_of_the_model_are_validated(session: ProbeSession) -> Iterator[Note]:
    """Content of an unknown type is handled and not used."""
    for exchange, questions in answered_as(session, "misfit"):
        if all(question.method != _SAMPLE for question in questions):
            continue
        if not got_misfit_reply(session, exchange):
            continue
        result = exchange.result
        if exchange.answer is None:
            yield violated(exchange, f"after a malformed model answer, {unhandled(exchange)}")
        elif result is None or is_asking(exchange) or result.get("isError") is True:
            yield satisfied(exchange)
        elif MISFIT in str(result):
            yield violated(
                exchange, f"content of the unknown type {MISFIT!r} was used: {shown(result)}"
            )
        else:
            yield satisfied(exchange, "the content was not used")


@rule("sampling.iteration-limit", reads=("asking", "input-rounds"))
def tool_loops_have_a_limit(session: ProbeSession) -> Iterator[Note]:
    """The server stops a model that requests tools without end."""
    for exchange, turns in _loops(session):
        if turns >= MAX_TURNS:
            yield ambiguous(
                exchange,
                f"a model that always requests a tool was called {turns} times: there is no limit, "
                "or it is higher",
            )
        else:
            yield satisfied(exchange, f"stopped after {turns} turns")


def _loops(session: ProbeSession) -> Iterator[tuple[Exchange, int]]:
    if not session.is_modern:
        for exchange, questions in answered_as(session, "tool-use"):
            turns = [one for one in questions if is_tool_sampling(one.method, one.params)]
            if turns:
                yield exchange, len(turns)
        return
    rounds = session.tagged("input-rounds/tool-use")
    for subject in dict.fromkeys(map(subject_of, rounds)):
        mine = [exchange for exchange in rounds if subject_of(exchange) == subject]
        yield mine[-1], len(mine) - (0 if is_asking(mine[-1]) else 1)


@rule("sampling.deprecated", reads=("input-rounds",))
def sampling_is_deprecated(session: ProbeSession) -> Iterator[Note]:
    """Ambiguous if the server samples: only new servers must not."""
    asked = _samplings(session)
    for question in asked[:1]:
        yield ambiguous(
            question.where,
            "the server uses sampling, which is deprecated: new servers should not, existing ones "
            "may",
        )
    if not asked:
        yield from (satisfied(exchange) for exchange in session.tagged("input-rounds/ask")[:1])
