"""basic/transports, security of both HTTP transports: Origin, addresses, anonymous clients."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_NO_ORIGIN = "null"


def _is_served(exchange: Exchange) -> bool:
    is_open = exchange.sent.method == "GET" and exchange.status == 200
    return exchange.result is not None or is_open


def _is_local(exchange: Exchange) -> bool:
    return is_loopback(exchange.sent.url or "")


def _judge_origins(seen: ProbeSession) -> Iterator[Note]:
    for exchange in seen.tagged("http-origin"):
        origin = exchange.sent.header("origin")
        if exchange.status is None:
            continue
        if not _is_served(exchange):
            yield kept(exchange)
        elif origin == _NO_ORIGIN:
            text = "pages of no site are foreign, unless somebody decided that they are not"
            yield unsettled(exchange, f"a request with Origin {origin!r} is served; {text}")
        elif not _is_local(exchange):
            text = "a server on the web may have decided to serve every site"
            yield unsettled(exchange, f"a request with Origin {origin!r} is served; {text}")
        else:
            host = exchange.sent.header("host")
            given = f"Origin {origin!r} and Host {host!r}"
            yield broken(exchange, f"a request with {given} is served; it was to be refused")


@rule("http.origin.validate", reads=("http-origin",))
def foreign_pages_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """A page of another site gets nothing from a server on this machine."""
    yield from _judge_origins(seen)


@rule("sse.origin", reads=("http-origin",))
def foreign_pages_are_refused_by_the_old_transport(seen: ProbeSession) -> Iterator[Note]:
    """The same at both endpoints of HTTP+SSE."""
    yield from _judge_origins(seen)


@rule("http.origin.403", reads=("http-origin",))
def a_foreign_origin_gets_403(seen: ProbeSession) -> Iterator[Note]:
    """The status of the refusal."""
    for exchange in seen.tagged("http-origin/foreign"):
        if exchange.status == 403:
            yield kept(exchange)
        elif exchange.status in (401, None) or (_is_served(exchange) and not _is_local(exchange)):
            # Credentials may be asked for first; whom a server on the web serves is its choice.
            continue
        else:
            origin = exchange.sent.header("origin")
            yield broken(exchange, f"Origin {origin!r} got {exchange.describe()}; 403 was due")


@rule("http.origin.403-body", reads=("http-origin",))
def the_body_of_a_403_has_no_id(seen: ProbeSession) -> Iterator[Note]:
    """Where the refusal is an error of JSON-RPC, it names no request."""
    for exchange in seen.tagged("http-origin"):
        if exchange.status == 403 and exchange.answer is not None:
            id = exchange.answer.message.get("id")
            if id is None:
                yield kept(exchange)
            else:
                yield broken(exchange, f"the error has the id {id!r}; none was due")


def _judge_reach(seen: ProbeSession) -> Iterator[Note]:
    for exchange in seen.tagged("http-reach/other"):
        if exchange.status is not None:
            text = "a local server is to be reached by this machine only"
            yield broken(exchange, f"{exchange.sent.url} answers as well; {text}")
        elif exchange.failure is not None:
            yield kept(exchange)
    opening = seen.opening
    if opening is not None and not _is_local(opening):
        yield absent("the server is not on this machine")


@rule("http.bind-localhost", reads=("http-reach",))
def a_local_server_is_local(seen: ProbeSession) -> Iterator[Note]:
    """It does not answer at other addresses of the machine."""
    yield from _judge_reach(seen)


@rule("sse.bind-localhost", reads=("http-reach",))
def a_local_server_of_the_old_transport_is_local(seen: ProbeSession) -> Iterator[Note]:
    """It does not answer at other addresses of the machine."""
    yield from _judge_reach(seen)


def _judge_anonymous(seen: ProbeSession) -> Iterator[Note]:
    opening = seen.opening
    if opening is None:
        return
    if _is_local(opening):
        yield absent("the server is on this machine")
    elif opening.sent.header("authorization") is None:
        yield broken(opening, "anybody is served; connections were to be authenticated")
    else:
        yield kept(opening)


@rule("http.authenticate")
def clients_are_authenticated(seen: ProbeSession) -> Iterator[Note]:
    """A server on the network does not serve clients that say nothing of who they are."""
    yield from _judge_anonymous(seen)


@rule("sse.authenticate")
def clients_of_the_old_transport_are_authenticated(seen: ProbeSession) -> Iterator[Note]:
    """A server on the network does not serve clients that say nothing of who they are."""
    yield from _judge_anonymous(seen)


@rule("sbp.local-restrict")
def a_local_server_is_restricted(seen: ProbeSession) -> Iterator[Note]:
    """stdio, or HTTP that asks for a token; other restrictions cannot be seen from here."""
    opening = seen.opening
    if opening is None:
        return
    if seen.transport == "stdio":
        yield kept(opening, "stdio: only the client that started it talks to it")
    elif not _is_local(opening):
        yield absent("the server is not on this machine")
    elif opening.sent.header("authorization") is None:
        text = "every program of this machine can talk to it; while it is being made that is usual"
        yield unsettled(opening, f"a local server is served over HTTP without a token: {text}")
    else:
        yield kept(opening)
