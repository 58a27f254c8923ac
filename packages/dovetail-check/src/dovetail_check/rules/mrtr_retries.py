"""basic/patterns/mrtr: results of retries and of forged states."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import INPUT_REQUIRED, is_asking, questions_behind, subject_of
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import still_answers
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_ROUNDS = ("input-rounds",)
_FORGED = ("input-rounds/flipped", "input-rounds/random", "input-rounds/oversized")


def _is_tool_error(exchange: Exchange) -> bool:
    return (exchange.result or {}).get("isError") is True


def _is_done(exchange: Exchange) -> bool:
    """Whether it has a final result that is not a tool error."""
    return exchange.result is not None and not is_asking(exchange) and not _is_tool_error(exchange)


@rule("mrtr.state-untrusted", reads=_ROUNDS)
def forged_states_do_no_harm(session: ProbeSession) -> Iterator[Note]:
    """Any requestState gets an answer, and the server still responds afterwards."""
    for exchange in session.tagged(*_FORGED):
        if exchange.answer is None:
            yield violated(
                exchange, f"a forged requestState got {exchange.describe()}; expected an error"
            )
        elif still_answers(session, exchange) is False:
            yield violated(exchange, "the server stopped responding after a forged requestState")
        else:
            yield satisfied(exchange)


@rule("mrtr.state-integrity", reads=_ROUNDS)
def altered_states_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """A requestState with one changed character is rejected."""
    for exchange in session.tagged("input-rounds/flipped"):
        if _is_done(exchange):
            yield ambiguous(
                exchange,
                "a requestState with one changed character was accepted: expected a rejection "
                "unless nothing depends on the state",
            )
        elif exchange.answer is not None:
            yield satisfied(exchange)


@rule("mrtr.state-request-bound", reads=_ROUNDS)
def states_belong_to_their_request(session: ProbeSession) -> Iterator[Note]:
    """A requestState is rejected with another tool or other arguments."""
    taken = [exchange for exchange in session.tagged("input-rounds/flipped") if _is_done(exchange)]
    for exchange in session.tagged("input-rounds/elsewhere"):
        if not _is_done(exchange):
            if exchange.answer is not None:
                yield satisfied(exchange)
        elif taken:
            yield ambiguous(
                exchange,
                "a requestState was accepted with another request, but so was a forged one: "
                "perhaps nothing depends on it",
            )
        else:
            yield violated(
                exchange, "a requestState was accepted with another request; expected a rejection"
            )


@rule("mrtr.no-assume-retry", reads=_ROUNDS)
def the_server_does_not_wait_for_a_retry(session: ProbeSession) -> Iterator[Note]:
    """The server still responds after requests that were never retried."""
    asked = [one for one in session.tagged("input-rounds/ask") if is_asking(one)]
    for exchange in asked[-1:]:
        alive = still_answers(session, exchange)
        if alive is None:
            continue
        if alive:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"the server stopped responding after abandoned {INPUT_REQUIRED}"
            )


@rule("mrtr.validate-responses", reads=_ROUNDS)
def answers_are_validated(session: ProbeSession) -> Iterator[Note]:
    """Malformed inputResponses do not complete a request."""
    for exchange in session.tagged("input-rounds/no-map", "input-rounds/no-answer"):
        if _is_done(exchange):
            given = exchange.params.get("inputResponses")
            yield violated(
                exchange, f"inputResponses {shown(given)} was accepted; expected an error"
            )
        elif exchange.answer is not None:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"malformed inputResponses got {exchange.describe()}; expected an error"
            )


@rule("mrtr.protocol-errors", reads=_ROUNDS)
def malformed_answers_are_protocol_errors(session: ProbeSession) -> Iterator[Note]:
    """Malformed inputResponses get a JSON-RPC error, not a result with isError."""
    for exchange in session.tagged("input-rounds/no-map", "input-rounds/no-answer"):
        if exchange.error is not None:
            yield satisfied(exchange)
        elif is_asking(exchange):
            yield ambiguous(
                exchange,
                f"malformed inputResponses got {INPUT_REQUIRED} again: correct for missing "
                "answers, but malformed ones should get an error",
            )
        elif exchange.answer is not None:
            yield violated(
                exchange,
                f"malformed inputResponses got {exchange.describe()}; expected a JSON-RPC error",
            )


@rule("mrtr.ignore-extra", reads=_ROUNDS)
def extra_answers_are_ignored(session: ProbeSession) -> Iterator[Note]:
    """An extra answer does not turn a result into an error."""
    for exchange in session.tagged("input-rounds/extra", "input-rounds/unasked"):
        before = _without_extra(session, exchange)
        if before is None or before.result is None:
            continue
        if exchange.result is not None:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange,
                f"a retry with an extra answer got {exchange.describe()}; without it there was a "
                "result",
            )


def _without_extra(session: ProbeSession, exchange: Exchange) -> Exchange | None:
    tag = "input-rounds/follow" if exchange.tag.endswith("/extra") else "input-rounds/ask"
    same = [one for one in session.tagged(tag) if subject_of(one) == subject_of(exchange)]
    return same[0] if same else None


@rule("mrtr.missing-reasks", reads=_ROUNDS)
def missing_answers_are_requested_again(session: ProbeSession) -> Iterator[Note]:
    """A retry with missing answers gets input_required again, not an error."""
    for exchange in session.tagged("input-rounds/empty", "input-rounds/partial"):
        if not questions_behind(session, exchange) or exchange.answer is None:
            continue
        if exchange.error is not None:
            yield violated(
                exchange,
                f"a retry without all answers got {exchange.describe()}; expected {INPUT_REQUIRED}",
            )
        elif _is_tool_error(exchange):
            yield ambiguous(
                exchange,
                f"a retry with missing answers got a tool error: expected {INPUT_REQUIRED} if the "
                "tool needs them",
            )
        else:
            text = "" if is_asking(exchange) else "the answer was not needed"
            yield satisfied(exchange, text)
