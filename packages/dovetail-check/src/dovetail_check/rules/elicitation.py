"""client/elicitation: the form of the requests, and which clients get them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Incoming
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import Question, missing_capability, questions_in
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import errors_in
from dovetail_check.verdicts import Note, satisfied, violated

__all__: list[str] = []

_ELICIT = "elicitation/create"
_ASKED = ("asking", "asking-plainly", "input-rounds")
_COMPLETE = "notifications/elicitation/complete"
_URL_REQUIRED = -32042

_PERMISSION = "a permission: nothing to violate"
_INSIDE = "not visible from outside: what state the server keeps for which user"

unjudged["elicit.mode-omitted"] = _PERMISSION
unjudged["elicit.complete.send"] = _PERMISSION
unjudged["elicit.complete.same-client"] = "needs a user who completes the page of one client"
unjudged["elicit.url.not-preauthenticated"] = "a check does not visit the pages that a server names"
unjudged["elicit.state.user-bound"] = _INSIDE
unjudged["elicit.state.not-session-only"] = "needs the credentials of two users"
unjudged["elicit.state.protected"] = _INSIDE
unjudged["elicit.state.identity-from-auth"] = _INSIDE
unjudged["elicit.oauth.not-for-self"] = "not visible from outside: the purpose of a page"
unjudged["elicit.oauth.no-client-credentials"] = _INSIDE
unjudged["elicit.bind-identity"] = _INSIDE
unjudged["elicit.no-client-claimed-user"] = _INSIDE
unjudged["elicit.phishing.verify-user"] = "needs two users, each with a browser"


def _each(
    session: ProbeSession,
    fits: Callable[[Question], bool],
    find_problem: Callable[[Question], str | None],
) -> Iterator[Note]:
    """A note for each elicitation that `fits` selects."""
    for question in questions_in(session, _ELICIT):
        if fits(question):
            problem = find_problem(question)
            yield (
                satisfied(question.where) if problem is None else violated(question.where, problem)
            )


def _is_any(_: Question) -> bool:
    return True


@rule("elicit.capability", reads=_ASKED)
def only_declared_modes_are_used(session: ProbeSession) -> Iterator[Note]:
    """The client declared elicitation and the mode that the server uses."""

    def problem(question: Question) -> str | None:
        missing = missing_capability(question)
        return missing and f"the server elicits, but the client did not declare {missing}"

    yield from _each(session, _is_any, problem)


@rule("elicit.params", reads=_ASKED)
def an_elicitation_has_a_message(session: ProbeSession) -> Iterator[Note]:
    """It has a message and a known mode."""
    modes = (None, "form", "url") if session.revision.url_elicitation else (None, "form")

    def problem(question: Question) -> str | None:
        message, mode = question.params.get("message"), question.params.get("mode")
        if not isinstance(message, str):
            return f"the message is {message!r:.60}; expected a string"
        if session.revision.url_elicitation and not (mode is None or mode in modes):
            return f"the mode is {mode!r:.60}; expected 'form' or 'url'"
        return None

    yield from _each(session, _is_any, problem)


@rule("elicit.form.schema", reads=_ASKED)
def a_form_is_flat(session: ProbeSession) -> Iterator[Note]:
    """The schema is an object of strings, numbers, booleans and enums, without nesting."""

    def problem(question: Question) -> str | None:
        if "requestedSchema" not in question.params:
            return "requestedSchema is missing"
        schema = question.params["requestedSchema"]
        found = shapes.problems(schema, "RequestedSchema", session.revision)
        return f"requestedSchema: {'; '.join(found[:3])}" if found else None

    yield from _each(session, lambda question: question.is_form, problem)


@rule("elicit.form.mode", reads=_ASKED)
def a_form_has_mode_form_or_none(session: ProbeSession) -> Iterator[Note]:
    """If requestedSchema is present, mode is 'form' or missing."""

    def problem(question: Question) -> str | None:
        mode = question.params.get("mode", "form")
        return None if mode == "form" else f"a form has the mode {mode!r:.60}; expected 'form'"

    yield from _each(session, lambda question: "requestedSchema" in question.params, problem)


@rule("elicit.url.mode", reads=_ASKED)
def url_elicitations_are_complete(session: ProbeSession) -> Iterator[Note]:
    """mode, message and url are present, and elicitationId if the revision has it."""

    def problem(question: Question) -> str | None:
        found = shapes.problems(question.params, "ElicitRequestURLParams", session.revision)
        return "; ".join(found[:3]) if found else None

    yield from _each(session, lambda question: question.is_url, problem)


# -- notifications and errors ----------------------------------------------------------------------


@rule("elicit.complete.id", reads=_ASKED)
def a_completion_names_its_elicitation(session: ProbeSession) -> Iterator[Note]:
    """Its elicitationId was used in an earlier elicitation."""
    for incoming in session.notifications(_COMPLETE):
        id = incoming.params.get("elicitationId")
        if isinstance(id, str) and id in _known_ids(session, incoming):
            yield satisfied(incoming)
        else:
            yield violated(
                incoming, f"elicitationId is {id!r:.80}; expected one of an earlier elicitation"
            )


def _known_ids(session: ProbeSession, incoming: Incoming) -> list[Any]:
    asked = [
        question.params.get("elicitationId")
        for question in questions_in(session, _ELICIT)
        if question.where.frame.n < incoming.frame.n
    ]
    for error, elicitations in _required(session):
        if error.frame.n < incoming.frame.n:
            asked += [one.get("elicitationId") for one in elicitations if isinstance(one, dict)]
    return asked


def _required(session: ProbeSession) -> Iterator[tuple[Incoming, list[Any]]]:
    """URLElicitationRequired errors, each with its list of elicitations."""
    for incoming, code in errors_in(session):
        if code == _URL_REQUIRED:
            data = incoming.message["error"].get("data")
            listed = data.get("elicitations") if isinstance(data, dict) else None
            yield incoming, listed if isinstance(listed, list) else []


@rule("elicit.required-error.only", reads=_ASKED)
def url_elicitation_is_required_only_if_needed(session: ProbeSession) -> Iterator[Note]:
    """The error is not used for unknown names, and it lists an elicitation."""
    for incoming, elicitations in _required(session):
        asked = (
            ""
            if incoming.exchange is None
            else incoming.exchange.sent.data.decode("utf-8", "replace")
        )
        if "dovetail-check-no-such" in asked:
            yield violated(incoming, f"{_URL_REQUIRED} for an unknown name")
        elif not elicitations:
            yield violated(incoming, f"{_URL_REQUIRED} without a URL to visit")
        else:
            yield satisfied(incoming)


@rule("elicit.required-error.list", reads=_ASKED)
def required_elicitations_are_listed(session: ProbeSession) -> Iterator[Note]:
    """error.data.elicitations is a list that is not empty."""
    for incoming, elicitations in _required(session):
        if elicitations:
            yield satisfied(incoming)
        else:
            data = incoming.message["error"].get("data")
            yield violated(
                incoming, f"the data of {_URL_REQUIRED} is {shown(data)}; expected elicitations"
            )


@rule("elicit.required-error.url-mode", reads=_ASKED)
def required_elicitations_have_mode_url(session: ProbeSession) -> Iterator[Note]:
    """Each listed elicitation has mode url and an elicitationId."""
    for incoming, elicitations in _required(session):
        for one in elicitations:
            found = shapes.problems(one, "ElicitRequestURLParams", session.revision)
            if found:
                yield violated(
                    incoming, f"an elicitation in error {_URL_REQUIRED}: {'; '.join(found[:3])}"
                )
            else:
                yield satisfied(incoming)
