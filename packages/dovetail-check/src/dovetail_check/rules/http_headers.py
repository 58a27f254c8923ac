"""basic/transports/streamable-http: headers that mirror the body, and rejected mismatches."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_rejected
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.http_eras import is_dual
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

unjudged["http2.endpoint.post"] = (
    "a server that rejects POST is not detected as a server of this revision"
)

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
METHOD_NOT_FOUND = -32601

# Tags of requests that must be rejected because of their headers.
_REJECTED = (
    "http-headers/method-missing",
    "http-headers/method-mismatch",
    "http-headers/case/value",
    "http-headers/name-missing",
    "http-headers/name-mismatch",
    "http-params/missing",
    "http-params/mismatch",
    "http-params/invalid",
)


def _targets_unknown_name(exchange: Exchange) -> bool:
    return exchange.tag.endswith("/fake")


def _expect_rejection(session: ProbeSession, *tags: str) -> Iterator[Note]:
    """Whether requests with these tags were rejected.

    For an unknown name only the code shows that the headers are the reason.
    """
    for exchange in session.tagged(*tags):
        if exchange.result is not None:
            yield violated(exchange, f"{_describe_request(exchange)} succeeded; expected an error")
        elif exchange.error is None and not is_rejected(exchange):
            continue
        elif _targets_unknown_name(exchange) and exchange.code != HEADER_MISMATCH:
            text = "rejected, but perhaps because the name is unknown"
            yield ambiguous(
                exchange, f"{_describe_request(exchange)} got {exchange.describe()}: {text}"
            )
        else:
            yield satisfied(exchange)


def _describe_request(exchange: Exchange) -> str:
    names = ("mcp-method", "mcp-name", "mcp-protocol-version")
    said = [f"{n}: {v}" for n, v in exchange.sent.headers if n.lower() in names or _is_param(n)]
    return f"{exchange.method} with {', '.join(said)}"


def _is_param(name: str) -> bool:
    return name.lower().startswith("mcp-param-")


@rule("http2.header.method-missing", reads=("http-headers",))
def a_missing_method_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A request without Mcp-Method is rejected."""
    yield from _expect_rejection(session, "http-headers/method-missing")


@rule("http2.header.method-mismatch", reads=("http-headers",))
def a_different_method_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """Mcp-Method that differs from the method in the body is rejected."""
    yield from _expect_rejection(session, "http-headers/method-mismatch")


@rule("http2.header.method-case", reads=("http-headers",))
def header_names_ignore_case_and_values_do_not(session: ProbeSession) -> Iterator[Note]:
    """`mcp-method` and `MCP-METHOD` are the header; `Server/Discover` is not the method."""
    for exchange in session.tagged("http-headers/case/lower", "http-headers/case/upper"):
        if exchange.result is not None:
            yield satisfied(exchange)
        elif exchange.code == HEADER_MISMATCH:
            yield violated(
                exchange,
                f"{_describe_request(exchange)} is rejected; header names are case-insensitive",
            )
    yield from _expect_rejection(session, "http-headers/case/value")


@rule("http2.header.name-missing", reads=("http-headers",))
def a_missing_name_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A request without Mcp-Name is rejected."""
    yield from _expect_rejection(session, "http-headers/name-missing")


@rule("http2.header.name-mismatch", reads=("http-headers",))
def a_different_name_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """Mcp-Name that differs from the name in the body is rejected."""
    yield from _expect_rejection(session, "http-headers/name-mismatch")


@rule("http2.header.name-base64", reads=("http-headers",))
def an_encoded_name_is_decoded(session: ProbeSession) -> Iterator[Note]:
    """Mcp-Name in base64 is decoded before it is compared."""
    for exchange in session.tagged("http-headers/name-base64"):
        if exchange.code == HEADER_MISMATCH:
            yield violated(
                exchange,
                f"{_describe_request(exchange)} is rejected; expected the value to be decoded",
            )
        elif exchange.answer is not None:
            yield satisfied(exchange)


@rule("http2.header.reject-status", reads=("http-headers", "http-params"))
def rejected_headers_get_status_400(session: ProbeSession) -> Iterator[Note]:
    """A request with wrong headers gets status 400."""
    for exchange in session.tagged(*_REJECTED):
        if exchange.result is not None or exchange.status is None:
            continue
        if exchange.status == 400:
            yield satisfied(exchange)
        elif not _targets_unknown_name(exchange) or exchange.code == HEADER_MISMATCH:
            yield violated(
                exchange, f"{_describe_request(exchange)} got {exchange.describe()}; expected 400"
            )


@rule("http2.header.reject-code", reads=("http-headers", "http-params"))
def rejected_headers_get_their_code(session: ProbeSession) -> Iterator[Note]:
    """A request with wrong headers gets a JSON-RPC error with code -32020."""
    for exchange in session.tagged(*_REJECTED):
        if exchange.result is not None or exchange.status is None:
            continue
        if exchange.code == HEADER_MISMATCH:
            yield satisfied(exchange)
        elif not _targets_unknown_name(exchange):
            what = exchange.describe()
            yield violated(
                exchange, f"{_describe_request(exchange)} got {what}; expected {HEADER_MISMATCH}"
            )


@rule("http2.version-header.mismatch", reads=("http-headers", "http-eras"))
def a_different_version_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A version header that differs from the body is rejected."""
    for exchange in session.tagged("http-headers/version-mismatch"):
        if exchange.result is not None:
            yield violated(
                exchange,
                f"{_describe_request(exchange)} succeeded; the body says {session.revision}",
            )
        elif exchange.status == 400 and exchange.code in (HEADER_MISMATCH, UNSUPPORTED_VERSION):
            yield satisfied(exchange)
        elif is_dual(session) and (is_rejected(exchange) or exchange.error is not None):
            text = f"expected 400 with {HEADER_MISMATCH}, or the response for a legacy client"
            yield ambiguous(
                exchange, f"{_describe_request(exchange)} got {exchange.describe()}; {text}"
            )
        elif exchange.status is not None:
            what = exchange.describe()
            yield violated(
                exchange,
                f"{_describe_request(exchange)} got {what}; expected 400, {HEADER_MISMATCH}",
            )


@rule("http2.version-header.unsupported", reads=("http-headers",))
def an_unknown_version_is_rejected_with_a_list(session: ProbeSession) -> Iterator[Note]:
    """An unknown version gets 400, -32022 and the supported versions."""
    for exchange in session.tagged("http-headers/version-unsupported"):
        if exchange.status is None:
            continue
        data = (exchange.error or {}).get("data")
        known = data.get("supported") if isinstance(data, dict) else None
        is_listed = isinstance(known, list) and bool(known)
        if exchange.status == 400 and exchange.code == UNSUPPORTED_VERSION and is_listed:
            yield satisfied(exchange)
        else:
            expected = f"expected 400, {UNSUPPORTED_VERSION} and the supported versions"
            what = f"{exchange.describe()}, supported: {known!r}"
            yield violated(exchange, f"{_describe_request(exchange)} got {what}; {expected}")


@rule("http2.method.unknown-404", reads=("http-headers",))
def an_unknown_method_gets_404(session: ProbeSession) -> Iterator[Note]:
    """An unknown method gets status 404 and code -32601."""
    for exchange in session.tagged("http-headers/unknown-method"):
        if exchange.status == 404 and exchange.code == METHOD_NOT_FOUND:
            yield satisfied(exchange)
        elif exchange.status is not None:
            expected = f"expected 404 with {METHOD_NOT_FOUND}"
            yield violated(
                exchange, f"{_describe_request(exchange)} got {exchange.describe()}; {expected}"
            )


# -- arguments ----------------------------------------------------------------------------------


def _absent_without_headers(session: ProbeSession) -> Iterator[Note]:
    if session.listed("tools") and not session.tagged("http-params"):
        yield not_applicable("no tool that may be called mirrors an argument in a header")


@rule("http2.header.invalid-chars", reads=("http-params",))
def invalid_header_characters_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """Mcp-Param-* with bytes outside ASCII is rejected."""
    yield from _expect_rejection(session, "http-params/invalid")
    yield from _absent_without_headers(session)


@rule("http2.param.match", reads=("http-params",))
def a_different_argument_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """Mcp-Param-* that differs from the body is rejected; one that matches is accepted."""
    for exchange in session.tagged("http-params/fits"):
        if exchange.code == HEADER_MISMATCH:
            yield violated(
                exchange, f"{_describe_request(exchange)} is rejected, but it matches the body"
            )
    yield from _expect_rejection(session, "http-params/mismatch")
    yield from _absent_without_headers(session)


@rule("http2.param.missing-reject", reads=("http-params",))
def a_missing_argument_header_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A call with the argument but without its Mcp-Param-* header is rejected."""
    yield from _expect_rejection(session, "http-params/missing")
    yield from _absent_without_headers(session)


@rule("http2.param.null-not-expected", reads=("http-params",))
def no_header_for_no_argument(session: ProbeSession) -> Iterator[Note]:
    """A call without the argument needs no Mcp-Param-* header."""
    for exchange in session.tagged("http-params/absent"):
        if exchange.code == HEADER_MISMATCH:
            yield violated(
                exchange,
                f"{_describe_request(exchange)} is rejected; no argument, so no header needed",
            )
        elif exchange.answer is not None:
            yield satisfied(exchange)
    yield from _absent_without_headers(session)


@rule("http2.param.integer-numeric", reads=("http-params",))
def numbers_are_compared_as_numbers(session: ProbeSession) -> Iterator[Note]:
    """42.0 in the header matches 42 in the body."""
    for exchange in session.tagged("http-params/number"):
        if exchange.code == HEADER_MISMATCH:
            yield violated(exchange, "42.0 in a header is rejected, but the body says 42")
        elif exchange.answer is not None:
            yield satisfied(exchange)
    yield from _absent_without_headers(session)
