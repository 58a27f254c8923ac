"""basic/transports, session management and the version header; sessions in the best practices."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator
from itertools import takewhile

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_refused
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__ = ["weakness_of"]

unjudged["http.session.assign"] = "a permission: nothing to break"
unjudged["http.session.delete-405"] = "a permission: nothing to break"

_VISIBLE = re.compile(r"[\x21-\x7e]+")
# Bits that an id must have to be beyond guessing: OWASP asks for 64.
_ENOUGH_BITS = 64
# The letters that ids are usually written in, fewest first; else all that a header can show.
_ALPHABETS = tuple(
    frozenset(letters)
    for letters in (
        string.digits,
        string.digits + "abcdef",
        string.digits + "ABCDEF",
        string.digits + "abcdef-",
        string.digits + "ABCDEF-",
        string.ascii_letters + string.digits + "-_",
    )
)
_VISIBLE_LETTERS = 94
_NONE_GIVEN = "the server gives out no session ids"


def _given(seen: ProbeSession) -> list[tuple[Exchange, str]]:
    """Every session id that came with the answer to an initialize."""
    return [
        (exchange, id)
        for exchange in seen.sent("initialize")
        if exchange.result is not None and (id := exchange.header("mcp-session-id")) is not None
    ]


def _why_none(seen: ProbeSession) -> Iterator[Note]:
    if seen.opening is not None and not _given(seen):
        yield absent(_NONE_GIVEN)


@rule("http.session.ascii")
def session_ids_are_visible_ascii(seen: ProbeSession) -> Iterator[Note]:
    """0x21 to 0x7E, at least one of them."""
    for exchange, id in _given(seen):
        if _VISIBLE.fullmatch(id):
            yield kept(exchange)
        else:
            yield broken(exchange, f"the session id {id!r} has more than visible ASCII")
    yield from _why_none(seen)


@rule("http.session.random", reads=("http-sessions",))
def session_ids_cannot_be_guessed(seen: ProbeSession) -> Iterator[Note]:
    """All differ, in enough places."""
    yield from _judge_ids(seen)


@rule("sbp.session-nondeterministic", reads=("http-sessions",))
def session_ids_cannot_be_foretold(seen: ProbeSession) -> Iterator[Note]:
    """The best practices say MUST to what the transport says SHOULD to."""
    yield from _judge_ids(seen)


def _judge_ids(seen: ProbeSession) -> Iterator[Note]:
    given = _given(seen)
    if len(given) < 2:
        yield from _why_none(seen)
        return
    weakness = weakness_of([id for _, id in given])
    if weakness is None:
        yield kept(given[-1][0], f"{len(given)} ids compared")
    else:
        yield broken(given[-1][0], weakness)


def weakness_of(ids: list[str]) -> str | None:
    """Why somebody could guess the next id, judged by what changes from one to the other."""
    if len(set(ids)) < len(ids):
        return f"{len(ids)} sessions share {len(set(ids))} ids; each must have its own"
    front = _same_at_the_front(ids)
    back = _same_at_the_front([id[front:][::-1] for id in ids])
    parts = [id[front : len(id) - back] for id in ids]
    length = max(map(len, parts))
    used = set("".join(parts))
    size = next((len(letters) for letters in _ALPHABETS if used <= letters), _VISIBLE_LETTERS)
    bits = int(length * math.log2(size))
    if bits < _ENOUGH_BITS:
        due = f"{_ENOUGH_BITS} are due"
        return f"only {length} characters change from id to id, {bits} bits at most; {due}"
    return None


def _same_at_the_front(texts: list[str]) -> int:
    """How many characters all texts begin with."""
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


@rule("http.session.missing-400", reads=("http-sessions",))
def a_missing_session_id_gets_400(seen: ProbeSession) -> Iterator[Note]:
    """Where an id is needed, a request without one is a bad request."""
    for exchange in seen.tagged("http-sessions/missing"):
        if exchange.result is not None:
            yield absent("requests without a session id are served: none is needed")
        elif exchange.status == 400:
            yield kept(exchange)
        elif exchange.status not in (401, 403, None):
            what = exchange.describe()
            yield broken(exchange, f"a request without its session id got {what}; 400 was due")
    yield from _why_none(seen)


@rule("http.session.ended-404", reads=("http-sessions",))
def an_ended_session_gets_404(seen: ProbeSession) -> Iterator[Note]:
    """A session that DELETE has ended does not exist any more."""
    deletions = seen.tagged("http-sessions/delete")
    deleted = [one for one in deletions if one.status is not None and not is_refused(one)]
    for exchange in seen.tagged("http-sessions/ended") if deleted else ():
        if exchange.status == 404:
            yield kept(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield broken(exchange, f"a request in a session that was ended got {what}; 404 was due")
    for exchange in seen.tagged("http-sessions/fake"):
        if exchange.result is not None:
            text = "404 is said of ended sessions; one that never was may be taken for such"
            yield unsettled(exchange, f"an id that was never given out is served; {text}")
    if deletions and not deleted:
        yield absent("clients cannot end sessions here")
    yield from _why_none(seen)


@rule("http.version-header.default", reads=("http-version-header",))
def a_missing_version_is_no_fault(seen: ProbeSession) -> Iterator[Note]:
    """A request without the header is served."""
    for exchange in seen.tagged("http-version-header/absent"):
        if is_refused(exchange):
            what = exchange.describe()
            text = "the version of the session, or the oldest, was to be assumed"
            yield broken(exchange, f"a request without MCP-Protocol-Version got {what}; {text}")
        elif exchange.answer is not None:
            yield kept(exchange)


@rule("http.version-header.invalid-400", reads=("http-version-header",))
def an_impossible_version_gets_400(seen: ProbeSession) -> Iterator[Note]:
    """What is no version, or none of the server's, is a bad request."""
    for exchange in seen.tagged("http-version-header/invalid"):
        version = exchange.sent.header("mcp-protocol-version")
        if exchange.status == 400:
            yield kept(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield broken(exchange, f"MCP-Protocol-Version {version!r} got {what}; 400 was due")
