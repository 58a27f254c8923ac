"""client/elicitation: what requests look like, and to whom they go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.exchanges import Heard
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.questions import Question, lacking, questions_in
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import errors_in
from dovetail_check.verdicts import Note, broken, kept

__all__: list[str] = []

_ELICIT = "elicitation/create"
_ASKED = ("asking", "asking-plainly", "input-rounds")
_COMPLETE = "notifications/elicitation/complete"
_URL_REQUIRED = -32042

_PERMISSION = "a permission: there is nothing to break"
_INSIDE = "what a server keeps, and for whom, is not seen from outside"

unjudged["elicit.mode-omitted"] = _PERMISSION
unjudged["elicit.complete.send"] = _PERMISSION
unjudged["elicit.complete.same-client"] = "it takes somebody to complete the page of one client"
unjudged["elicit.url.not-preauthenticated"] = "a check does not visit the pages of a server"
unjudged["elicit.state.user-bound"] = _INSIDE
unjudged["elicit.state.not-session-only"] = "it takes the credentials of two users"
unjudged["elicit.state.protected"] = _INSIDE
unjudged["elicit.state.identity-from-auth"] = _INSIDE
unjudged["elicit.oauth.not-for-self"] = "what a page is for is not seen from outside"
unjudged["elicit.oauth.no-client-credentials"] = _INSIDE
unjudged["elicit.bind-identity"] = _INSIDE
unjudged["elicit.no-client-claimed-user"] = _INSIDE
unjudged["elicit.phishing.verify-user"] = "it takes two users, each with a browser"


def _each(
    seen: ProbeSession,
    fits: Callable[[Question], bool],
    find_problem: Callable[[Question], str | None],
) -> Iterator[Note]:
    """A note for each elicitation that fits."""
    for question in questions_in(seen, _ELICIT):
        if fits(question):
            problem = find_problem(question)
            yield kept(question.where) if problem is None else broken(question.where, problem)


def _is_any(_: Question) -> bool:
    return True


@rule("elicit.capability", reads=_ASKED)
def only_declared_modes_are_used(seen: ProbeSession) -> Iterator[Note]:
    """No elicitation, and no mode of it, that the client did not declare."""

    def problem(question: Question) -> str | None:
        missing = lacking(question)
        return missing and f"an elicitation although the client did not declare {missing}"

    yield from _each(seen, _is_any, problem)


@rule("elicit.params", reads=_ASKED)
def an_elicitation_has_a_message(seen: ProbeSession) -> Iterator[Note]:
    """A message, and a mode that exists."""
    modes = (None, "form", "url") if seen.revision.url_elicitation else (None, "form")

    def problem(question: Question) -> str | None:
        message, mode = question.params.get("message"), question.params.get("mode")
        if not isinstance(message, str):
            return f"the message is {message!r:.60}; a text was due"
        if seen.revision.url_elicitation and not (mode is None or mode in modes):
            return f"the mode is {mode!r:.60}; 'form' or 'url' was due"
        return None

    yield from _each(seen, _is_any, problem)


@rule("elicit.form.schema", reads=_ASKED)
def a_form_is_flat(seen: ProbeSession) -> Iterator[Note]:
    """An object of texts, numbers, booleans and choices."""

    def problem(question: Question) -> str | None:
        if "requestedSchema" not in question.params:
            return "there is no requestedSchema"
        schema = question.params["requestedSchema"]
        found = shapes.problems(schema, "RequestedSchema", seen.revision)
        return f"requestedSchema: {'; '.join(found[:3])}" if found else None

    yield from _each(seen, lambda question: question.is_form, problem)


@rule("elicit.form.mode", reads=_ASKED)
def a_form_says_form_or_nothing(seen: ProbeSession) -> Iterator[Note]:
    """Whatever has a requestedSchema."""

    def problem(question: Question) -> str | None:
        mode = question.params.get("mode", "form")
        return None if mode == "form" else f"a form has the mode {mode!r:.60}; 'form' was due"

    yield from _each(seen, lambda question: "requestedSchema" in question.params, problem)


@rule("elicit.url.mode", reads=_ASKED)
def a_page_says_everything(seen: ProbeSession) -> Iterator[Note]:
    """mode, message, url; an elicitationId where there are such."""

    def problem(question: Question) -> str | None:
        found = shapes.problems(question.params, "ElicitRequestURLParams", seen.revision)
        return "; ".join(found[:3]) if found else None

    yield from _each(seen, lambda question: question.is_page, problem)


# -- notices and errors ----------------------------------------------------------------------------


@rule("elicit.complete.id", reads=_ASKED)
def a_completion_names_its_elicitation(seen: ProbeSession) -> Iterator[Note]:
    """An elicitationId that was given before."""
    for heard in seen.notifications(_COMPLETE):
        id = heard.params.get("elicitationId")
        if isinstance(id, str) and id in _known_ids(seen, heard):
            yield kept(heard)
        else:
            yield broken(heard, f"elicitationId is {id!r:.80}; one that was asked with was due")


def _known_ids(seen: ProbeSession, heard: Heard) -> list[Any]:
    asked = [
        question.params.get("elicitationId")
        for question in questions_in(seen, _ELICIT)
        if question.where.frame.n < heard.frame.n
    ]
    for error, elicitations in _required(seen):
        if error.frame.n < heard.frame.n:
            asked += [one.get("elicitationId") for one in elicitations if isinstance(one, dict)]
    return asked


def _required(seen: ProbeSession) -> Iterator[tuple[Heard, list[Any]]]:
    """Errors that say that a page must be visited first, and what they list."""
    for heard, code in errors_in(seen):
        if code == _URL_REQUIRED:
            data = heard.message["error"].get("data")
            listed = data.get("elicitations") if isinstance(data, dict) else None
            yield heard, listed if isinstance(listed, list) else []


@rule("elicit.required-error.only", reads=_ASKED)
def a_page_is_required_only_where_it_is(seen: ProbeSession) -> Iterator[Note]:
    """Not for what does not exist, and not without naming a page."""
    for heard, elicitations in _required(seen):
        asked = (
            "" if heard.exchange is None else heard.exchange.sent.data.decode("utf-8", "replace")
        )
        if "dovetail-check-no-such" in asked:
            yield broken(heard, f"{_URL_REQUIRED} for what does not exist")
        elif not elicitations:
            yield broken(heard, f"{_URL_REQUIRED} without anything that must be visited")
        else:
            yield kept(heard)


@rule("elicit.required-error.list", reads=_ASKED)
def what_is_required_is_listed(seen: ProbeSession) -> Iterator[Note]:
    """error.data.elicitations."""
    for heard, elicitations in _required(seen):
        if elicitations:
            yield kept(heard)
        else:
            data = heard.message["error"].get("data")
            yield broken(
                heard, f"the data of {_URL_REQUIRED} is {data!r:.80}; elicitations were due"
            )


@rule("elicit.required-error.url-mode", reads=_ASKED)
def what_is_required_are_pages(seen: ProbeSession) -> Iterator[Note]:
    """Each has mode url and an elicitationId."""
    for heard, elicitations in _required(seen):
        for one in elicitations:
            found = shapes.problems(one, "ElicitRequestURLParams", seen.revision)
            if found:
                yield broken(heard, f"an elicitation of {_URL_REQUIRED}: {'; '.join(found[:3])}")
            else:
                yield kept(heard)
