"""client/sampling: what servers ask of a model, and what they make of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import (
    Question,
    answered_as,
    is_asking,
    is_told_misfit,
    lacking,
    questions_in,
    subject_of,
)
from dovetail_check.replies import MISFIT, MOST_TURNS, is_tool_sampling
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import unhandled
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_SAMPLE = "sampling/createMessage"
_ASKED = ("asking", "asking-plainly", "input-rounds")
_WIDE = ("thisServer", "allServers")

unjudged["sampling.no-retain"] = "what a server keeps is not seen from outside"
unjudged["sampling.sensitive"] = "which data is sensitive is not seen from outside"


def _samplings(seen: ProbeSession) -> list[Question]:
    return questions_in(seen, _SAMPLE)


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
def only_who_declared_it_is_asked(seen: ProbeSession) -> Iterator[Note]:
    """No sampling without the capability."""
    for question in _samplings(seen):
        missing = lacking(question)
        if missing is None:
            yield kept(question.where)
        else:
            yield broken(question.where, f"{_SAMPLE} although the client did not declare {missing}")


@rule("sampling.tools-capability", reads=_ASKED)
def tools_need_a_capability(seen: ProbeSession) -> Iterator[Note]:
    """No tools and no toolChoice without sampling.tools."""
    for question in _samplings(seen):
        if question.declared is None or not ({"tools", "toolChoice"} & question.params.keys()):
            continue
        able = question.declared.get("sampling")
        if isinstance(able, dict) and "tools" in able:
            yield kept(question.where)
        else:
            yield broken(question.where, "tools for a client that did not declare sampling.tools")


@rule("sampling.include-context", reads=_ASKED)
def other_context_is_not_asked_for(seen: ProbeSession) -> Iterator[Note]:
    """includeContext is none, or absent."""
    for question in _samplings(seen):
        value = question.params.get("includeContext")
        if value not in _WIDE:
            yield kept(question.where)
            continue
        able = (question.declared or {}).get("sampling")
        has_context = isinstance(able, dict) and "context" in able
        why = "is deprecated" if has_context else "needs sampling.context, which is not declared"
        yield broken(question.where, f"includeContext {value!r} {why}; 'none' was due")


@rule("sampling.message-shape", reads=_ASKED)
def messages_have_role_and_content(seen: ProbeSession) -> Iterator[Note]:
    """user or assistant, and content of a kind that exists."""
    for question in _samplings(seen):
        found = shapes.problems(question.params, "CreateMessageRequestParams", seen.revision)
        wrong = [problem for problem in found if problem.startswith("messages")]
        if wrong:
            yield broken(question.where, "; ".join(wrong[:3]))
        else:
            yield kept(question.where)


@rule("sampling.tool-result-only", reads=_ASKED)
def tool_results_stand_alone(seen: ProbeSession) -> Iterator[Note]:
    """A message with tool results holds nothing else."""
    for question in _samplings(seen):
        for message in _messages(question):
            results = _of_type(message, "tool_result")
            if not results:
                continue
            others = [b.get("type") for b in _blocks(message) if b.get("type") != "tool_result"]
            if others:
                yield broken(question.where, f"tool results together with {others!r:.60}")
            else:
                yield kept(question.where)


@rule("sampling.tool-balance", reads=_ASKED)
def tool_uses_have_their_results(seen: ProbeSession) -> Iterator[Note]:
    """Each tool_use is followed by a message with its tool_result."""
    for question in _samplings(seen):
        conversation = _messages(question)
        for at, message in enumerate(conversation):
            used = [str(block.get("id")) for block in _of_type(message, "tool_use")]
            if not used:
                continue
            then = conversation[at + 1] if at + 1 < len(conversation) else {}
            answered = [str(block.get("toolUseId")) for block in _of_type(then, "tool_result")]
            if sorted(used) == sorted(answered) and then.get("role") == "user":
                yield kept(question.where)
            else:
                yield broken(
                    question.where,
                    f"tool uses {used!r:.80} are followed by results of {answered!r:.80}",
                )


@rule("sampling.validate", reads=_ASKED)
def answers_of_the_model_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """Content of a type that does not exist is handled, and not used."""
    for exchange, questions in answered_as(seen, "misfit"):
        if all(question.method != _SAMPLE for question in questions):
            continue
        if not is_told_misfit(seen, exchange):
            continue
        result = exchange.result
        if exchange.answer is None:
            yield broken(exchange, f"a malformed answer of the model: {unhandled(exchange)}")
        elif result is None or is_asking(exchange) or result.get("isError") is True:
            yield kept(exchange)
        elif MISFIT in str(result):
            yield broken(exchange, f"content of the type {MISFIT!r} was used: {result!r:.120}")
        else:
            yield kept(exchange, "it was not used")


@rule("sampling.iteration-limit", reads=("asking", "input-rounds"))
def tool_loops_have_a_limit(seen: ProbeSession) -> Iterator[Note]:
    """A model that never stops using tools is stopped."""
    for exchange, turns in _loops(seen):
        if turns >= MOST_TURNS:
            yield unsettled(
                exchange,
                f"a model that always wanted a tool called was asked {turns} times: there is no "
                "limit, or it is a higher one",
            )
        else:
            yield kept(exchange, f"{turns} times")


def _loops(seen: ProbeSession) -> Iterator[tuple[Exchange, int]]:
    if not seen.is_modern:
        for exchange, questions in answered_as(seen, "tool-use"):
            turns = [one for one in questions if is_tool_sampling(one.method, one.params)]
            if turns:
                yield exchange, len(turns)
        return
    rounds = seen.tagged("input-rounds/tool-use")
    for subject in dict.fromkeys(map(subject_of, rounds)):
        mine = [exchange for exchange in rounds if subject_of(exchange) == subject]
        yield mine[-1], len(mine) - (0 if is_asking(mine[-1]) else 1)


@rule("sampling.deprecated", reads=("input-rounds",))
def sampling_is_on_its_way_out(seen: ProbeSession) -> Iterator[Note]:
    """New servers do without."""
    asked = _samplings(seen)
    for question in asked[:1]:
        yield unsettled(
            question.where,
            "the server samples, which is deprecated: a new server should not, one that always "
            "did may",
        )
    if not asked:
        yield from (kept(exchange) for exchange in seen.tagged("input-rounds/ask")[:1])
