"""client/roots."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import answered_as, lacking, questions_in
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import lived_on, unhandled
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_ROOTS = "roots/list"
_ASKED = ("asking", "input-rounds")

unjudged["roots.boundaries"] = "it takes tools that work on files, and knowing which"
unjudged["roots.validate-paths"] = "it takes tools that work on files, and knowing which"
unjudged["roots.cache"] = "how long roots may be kept depends on what they are used for"


@rule("roots.capability", reads=("tool-calls", "asking", "input-rounds"))
def only_who_has_roots_is_asked(seen: ProbeSession) -> Iterator[Note]:
    """No roots/list without the capability."""
    asked = questions_in(seen, _ROOTS)
    wrong = [question for question in asked if lacking(question) is not None]
    for question in wrong:
        yield broken(question.where, "roots/list although the client did not declare roots")
    if not wrong and seen.opening is not None:
        yield kept(seen.opening)


@rule("roots.unavailable", reads=_ASKED)
def roots_that_are_not_there_are_handled(seen: ProbeSession) -> Iterator[Note]:
    """A folder that does not exist, or none at all, does not end in silence or a crash."""
    for variant in ("decline", "fail", "follow"):
        for exchange, questions in answered_as(seen, variant):
            if all(question.method != _ROOTS for question in questions):
                continue
            problem = unhandled(exchange)
            if problem is None:
                yield kept(exchange)
            else:
                yield broken(exchange, f"roots were not there, and {problem}")


@rule("roots.changes", reads=("roots-changed", "asking"))
def changes_of_roots_are_handled(seen: ProbeSession) -> Iterator[Note]:
    """Told that roots changed, the server lives on, and may ask again."""
    for exchange in seen.tagged("roots-changed"):
        if exchange.answer is not None:
            yield broken(exchange, f"a notification got {exchange.describe()}")
        elif lived_on(seen, exchange) is False:
            yield broken(exchange, "told that roots changed, the server answered nothing more")
        elif questions_in(seen, _ROOTS):
            yield kept(exchange)


@rule("roots.deprecated", reads=("input-rounds",))
def roots_are_on_their_way_out(seen: ProbeSession) -> Iterator[Note]:
    """New servers do without."""
    asked = questions_in(seen, _ROOTS)
    for question in asked[:1]:
        yield unsettled(
            question.where,
            "the server asks for roots, which are deprecated: a new server should not, one that "
            "always did may",
        )
    if not asked:
        yield from (kept(exchange) for exchange in seen.tagged("input-rounds/ask")[:1])
