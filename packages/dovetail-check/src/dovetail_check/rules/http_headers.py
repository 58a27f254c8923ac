"""basic/transports/streamable-http: headers that mirror the body, and what is refused for them."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_refused
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.http_eras import is_dual
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

unjudged["http2.endpoint.post"] = (
    "a server that does not take POST is not found to speak the revision, so nothing is judged"
)

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
METHOD_NOT_FOUND = -32601

# What must be refused for its headers alone, by tags of probes.
_REFUSED = (
    "http-headers/method-missing",
    "http-headers/method-mismatch",
    "http-headers/case/value",
    "http-headers/name-missing",
    "http-headers/name-mismatch",
    "http-params/missing",
    "http-params/mismatch",
    "http-params/invalid",
)


def _is_about_something_fake(exchange: Exchange) -> bool:
    return exchange.tag.endswith("/fake")


def _judge_refusal(seen: ProbeSession, *tags: str) -> Iterator[Note]:
    """Whether what these tags sent was refused; of what is not there, only the code can tell."""
    for exchange in seen.tagged(*tags):
        if exchange.result is not None:
            yield broken(exchange, f"{_said(exchange)} is served; it was to be refused")
        elif exchange.error is None and not is_refused(exchange):
            continue
        elif _is_about_something_fake(exchange) and exchange.code != HEADER_MISMATCH:
            text = "refused, but perhaps because it does not exist"
            yield unsettled(exchange, f"{_said(exchange)} got {exchange.describe()}: {text}")
        else:
            yield kept(exchange)


def _said(exchange: Exchange) -> str:
    names = ("mcp-method", "mcp-name", "mcp-protocol-version")
    said = [f"{n}: {v}" for n, v in exchange.sent.headers if n.lower() in names or _is_param(n)]
    return f"{exchange.method} with {', '.join(said)}"


def _is_param(name: str) -> bool:
    return name.lower().startswith("mcp-param-")


@rule("http2.header.method-missing", reads=("http-headers",))
def a_missing_method_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """No Mcp-Method."""
    yield from _judge_refusal(seen, "http-headers/method-missing")


@rule("http2.header.method-mismatch", reads=("http-headers",))
def another_method_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """Mcp-Method of another method than the body's."""
    yield from _judge_refusal(seen, "http-headers/method-mismatch")


@rule("http2.header.method-case", reads=("http-headers",))
def names_have_no_case_and_values_have(seen: ProbeSession) -> Iterator[Note]:
    """`mcp-method` and `MCP-METHOD` are the header; `Server/Discover` is not the method."""
    for exchange in seen.tagged("http-headers/case/lower", "http-headers/case/upper"):
        if exchange.result is not None:
            yield kept(exchange)
        elif exchange.code == HEADER_MISMATCH:
            yield broken(exchange, f"{_said(exchange)} is refused; names of headers have no case")
    yield from _judge_refusal(seen, "http-headers/case/value")


@rule("http2.header.name-missing", reads=("http-headers",))
def a_missing_name_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """No Mcp-Name."""
    yield from _judge_refusal(seen, "http-headers/name-missing")


@rule("http2.header.name-mismatch", reads=("http-headers",))
def another_name_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """Mcp-Name of something else than the body's."""
    yield from _judge_refusal(seen, "http-headers/name-mismatch")


@rule("http2.header.name-base64", reads=("http-headers",))
def a_wrapped_name_is_unwrapped(seen: ProbeSession) -> Iterator[Note]:
    """Mcp-Name in base64 says the same as the plain one."""
    for exchange in seen.tagged("http-headers/name-base64"):
        if exchange.code == HEADER_MISMATCH:
            yield broken(exchange, f"{_said(exchange)} is refused; it was to be decoded first")
        elif exchange.answer is not None:
            yield kept(exchange)


@rule("http2.header.reject-status", reads=("http-headers", "http-params"))
def a_refusal_for_headers_has_status_400(seen: ProbeSession) -> Iterator[Note]:
    """400, whatever was wrong with them."""
    for exchange in seen.tagged(*_REFUSED):
        if exchange.result is not None or exchange.status is None:
            continue
        if exchange.status == 400:
            yield kept(exchange)
        elif not _is_about_something_fake(exchange) or exchange.code == HEADER_MISMATCH:
            yield broken(exchange, f"{_said(exchange)} got {exchange.describe()}; 400 was due")


@rule("http2.header.reject-code", reads=("http-headers", "http-params"))
def a_refusal_for_headers_has_its_code(seen: ProbeSession) -> Iterator[Note]:
    """-32020, in an error of JSON-RPC."""
    for exchange in seen.tagged(*_REFUSED):
        if exchange.result is not None or exchange.status is None:
            continue
        if exchange.code == HEADER_MISMATCH:
            yield kept(exchange)
        elif not _is_about_something_fake(exchange):
            what = exchange.describe()
            yield broken(exchange, f"{_said(exchange)} got {what}; {HEADER_MISMATCH} was due")


@rule("http2.version-header.mismatch", reads=("http-headers", "http-eras"))
def another_version_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """The header says another version than the body."""
    for exchange in seen.tagged("http-headers/version-mismatch"):
        if exchange.result is not None:
            yield broken(exchange, f"{_said(exchange)} is served; the body says {seen.revision}")
        elif exchange.status == 400 and exchange.code in (HEADER_MISMATCH, UNSUPPORTED_VERSION):
            yield kept(exchange)
        elif is_dual(seen) and (is_refused(exchange) or exchange.error is not None):
            text = f"400 with {HEADER_MISMATCH}, or what a legacy client gets, as the header says"
            yield unsettled(exchange, f"{_said(exchange)} got {exchange.describe()}; {text}")
        elif exchange.status is not None:
            what = exchange.describe()
            yield broken(exchange, f"{_said(exchange)} got {what}; 400, {HEADER_MISMATCH} was due")


@rule("http2.version-header.unsupported", reads=("http-headers",))
def an_unknown_version_is_refused_with_the_known_ones(seen: ProbeSession) -> Iterator[Note]:
    """400, -32022 and the versions that are spoken."""
    for exchange in seen.tagged("http-headers/version-unsupported"):
        if exchange.status is None:
            continue
        data = (exchange.error or {}).get("data")
        known = data.get("supported") if isinstance(data, dict) else None
        is_listed = isinstance(known, list) and bool(known)
        if exchange.status == 400 and exchange.code == UNSUPPORTED_VERSION and is_listed:
            yield kept(exchange)
        else:
            due = f"400, {UNSUPPORTED_VERSION} and the supported versions were due"
            what = f"{exchange.describe()}, supported: {known!r}"
            yield broken(exchange, f"{_said(exchange)} got {what}; {due}")


@rule("http2.method.unknown-404", reads=("http-headers",))
def an_unknown_method_gets_404(seen: ProbeSession) -> Iterator[Note]:
    """404 and -32601."""
    for exchange in seen.tagged("http-headers/unknown-method"):
        if exchange.status == 404 and exchange.code == METHOD_NOT_FOUND:
            yield kept(exchange)
        elif exchange.status is not None:
            due = f"404 with {METHOD_NOT_FOUND} was due"
            yield broken(exchange, f"{_said(exchange)} got {exchange.describe()}; {due}")


# -- arguments ----------------------------------------------------------------------------------


def _without_marks(seen: ProbeSession) -> Iterator[Note]:
    if seen.listed("tools") and not seen.tagged("http-params"):
        yield absent("no tool that may be called wants an argument in a header")


@rule("http2.header.invalid-chars", reads=("http-params",))
def letters_that_no_header_has_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """Mcp-Param-* with bytes beyond ASCII."""
    yield from _judge_refusal(seen, "http-params/invalid")
    yield from _without_marks(seen)


@rule("http2.param.match", reads=("http-params",))
def another_argument_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """Mcp-Param-* that says something else than the body; what fits is served."""
    for exchange in seen.tagged("http-params/fits"):
        if exchange.code == HEADER_MISMATCH:
            yield broken(exchange, f"{_said(exchange)} is refused, but it is what the body says")
    yield from _judge_refusal(seen, "http-params/mismatch")
    yield from _without_marks(seen)


@rule("http2.param.missing-reject", reads=("http-params",))
def a_missing_argument_is_refused(seen: ProbeSession) -> Iterator[Note]:
    """No Mcp-Param-* for an argument that is in the body."""
    yield from _judge_refusal(seen, "http-params/missing")
    yield from _without_marks(seen)


@rule("http2.param.null-not-expected", reads=("http-params",))
def no_header_for_no_argument(seen: ProbeSession) -> Iterator[Note]:
    """A call without the argument needs no header for it."""
    for exchange in seen.tagged("http-params/absent"):
        if exchange.code == HEADER_MISMATCH:
            yield broken(exchange, f"{_said(exchange)} is refused: a header without an argument")
        elif exchange.answer is not None:
            yield kept(exchange)
    yield from _without_marks(seen)


@rule("http2.param.integer-numeric", reads=("http-params",))
def numbers_are_compared_as_numbers(seen: ProbeSession) -> Iterator[Note]:
    """42.0 in the header is 42 in the body."""
    for exchange in seen.tagged("http-params/number"):
        if exchange.code == HEADER_MISMATCH:
            yield broken(exchange, "42.0 in a header is refused where the body says 42")
        elif exchange.answer is not None:
            yield kept(exchange)
    yield from _without_marks(seen)
