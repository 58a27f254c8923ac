"""basic/patterns/mrtr: what came of retries, and of states that were forged."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import INPUT_REQUIRED, is_asking, questions_behind, subject_of
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import lived_on
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_ROUNDS = ("input-rounds",)
_FORGED = ("input-rounds/flipped", "input-rounds/random", "input-rounds/oversized")


def _is_tool_error(exchange: Exchange) -> bool:
    return (exchange.result or {}).get("isError") is True


def _is_done(exchange: Exchange) -> bool:
    """Whether it came to a result, and that is no error of a tool."""
    return exchange.result is not None and not is_asking(exchange) and not _is_tool_error(exchange)


@rule("mrtr.state-untrusted", reads=_ROUNDS)
def forged_states_do_no_harm(seen: ProbeSession) -> Iterator[Note]:
    """Whatever stands in requestState, there is an answer, and the server lives on."""
    for exchange in seen.tagged(*_FORGED):
        if exchange.answer is None:
            yield broken(
                exchange, f"a forged requestState got {exchange.describe()}; an error was due"
            )
        elif lived_on(seen, exchange) is False:
            yield broken(exchange, "behind a forged requestState the server answered nothing more")
        else:
            yield kept(exchange)


@rule("mrtr.state-integrity", reads=_ROUNDS)
def altered_states_are_rejected(seen: ProbeSession) -> Iterator[Note]:
    """A requestState with one letter changed."""
    for exchange in seen.tagged("input-rounds/flipped"):
        if _is_done(exchange):
            yield unsettled(
                exchange,
                "a requestState with one letter changed was taken: right only where nothing "
                "depends on the state, and then tampering could only fail the request; a "
                "rejection was due otherwise",
            )
        elif exchange.answer is not None:
            yield kept(exchange)


@rule("mrtr.state-request-bound", reads=_ROUNDS)
def states_belong_to_their_request(seen: ProbeSession) -> Iterator[Note]:
    """A requestState is refused with another tool or other arguments."""
    taken = [exchange for exchange in seen.tagged("input-rounds/flipped") if _is_done(exchange)]
    for exchange in seen.tagged("input-rounds/elsewhere"):
        if not _is_done(exchange):
            if exchange.answer is not None:
                yield kept(exchange)
        elif taken:
            yield unsettled(
                exchange,
                "a requestState was taken with another request, but so was a forged one: nothing "
                "may depend on it",
            )
        else:
            yield broken(
                exchange, "a requestState was taken with another request; a rejection was due"
            )


@rule("mrtr.no-assume-retry", reads=_ROUNDS)
def nobody_waits_for_a_retry(seen: ProbeSession) -> Iterator[Note]:
    """Requests that were not retried keep the server from nothing."""
    asked = [one for one in seen.tagged("input-rounds/ask") if is_asking(one)]
    for exchange in asked[-1:]:
        alive = lived_on(seen, exchange)
        if alive is None:
            continue
        if alive:
            yield kept(exchange)
        else:
            yield broken(exchange, f"behind abandoned {INPUT_REQUIRED} nothing was answered")


@rule("mrtr.validate-responses", reads=_ROUNDS)
def answers_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """Answers that are no answers do not complete a request."""
    for exchange in seen.tagged("input-rounds/no-map", "input-rounds/no-answer"):
        if _is_done(exchange):
            given = exchange.params.get("inputResponses")
            yield broken(exchange, f"inputResponses {given!r:.80} was taken; an error was due")
        elif exchange.answer is not None:
            yield kept(exchange)
        else:
            yield broken(
                exchange, f"malformed inputResponses got {exchange.describe()}; an error was due"
            )


@rule("mrtr.protocol-errors", reads=_ROUNDS)
def malformed_answers_are_protocol_errors(seen: ProbeSession) -> Iterator[Note]:
    """A JSON-RPC error, not a result that says so."""
    for exchange in seen.tagged("input-rounds/no-map", "input-rounds/no-answer"):
        if exchange.error is not None:
            yield kept(exchange)
        elif is_asking(exchange):
            yield unsettled(
                exchange,
                f"malformed inputResponses got {INPUT_REQUIRED} again: an error was due for what "
                "is malformed, asking again for what is missing",
            )
        elif exchange.answer is not None:
            yield broken(
                exchange,
                f"malformed inputResponses got {exchange.describe()}; a JSON-RPC error was due",
            )


@rule("mrtr.ignore-extra", reads=_ROUNDS)
def answers_that_nobody_needs_are_ignored(seen: ProbeSession) -> Iterator[Note]:
    """One more answer makes no error of what was none."""
    for exchange in seen.tagged("input-rounds/extra", "input-rounds/unasked"):
        before = _without_extra(seen, exchange)
        if before is None or before.result is None:
            continue
        if exchange.result is not None:
            yield kept(exchange)
        else:
            yield broken(
                exchange,
                f"an answer that nobody asked for got {exchange.describe()}; without it there "
                "was a result",
            )


def _without_extra(seen: ProbeSession, exchange: Exchange) -> Exchange | None:
    tag = "input-rounds/follow" if exchange.tag.endswith("/extra") else "input-rounds/ask"
    same = [one for one in seen.tagged(tag) if subject_of(one) == subject_of(exchange)]
    return same[0] if same else None


@rule("mrtr.missing-reasks", reads=_ROUNDS)
def missing_answers_are_asked_for_again(seen: ProbeSession) -> Iterator[Note]:
    """input_required once more, not an error."""
    for exchange in seen.tagged("input-rounds/empty", "input-rounds/partial"):
        if not questions_behind(seen, exchange) or exchange.answer is None:
            continue
        if exchange.error is not None:
            yield broken(
                exchange,
                f"answers were missing, and {exchange.describe()} came; {INPUT_REQUIRED} was due",
            )
        elif _is_tool_error(exchange):
            yield unsettled(
                exchange,
                f"answers were missing, and the tool failed: {INPUT_REQUIRED} was due if it needs "
                "them, and a tool may also take nothing for an answer",
            )
        else:
            text = "" if is_asking(exchange) else "it was not needed after all"
            yield kept(exchange, text)
