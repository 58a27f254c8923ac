"""basic/index: errors and their codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.http_traffic import is_rejected
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import errors_in, still_answers, unmatched_responses
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_LONGEST_MESSAGE = 300
_JSON_RPC = (-32700, -32600, -32601, -32602, -32603)
_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION = -32020, -32021, -32022
_DEFINED = (_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION)
_OLD_NOT_FOUND, _OLD_URL_ELICITATION = -32002, -32042


@rule("base.error.shape")
def errors_have_code_and_message(session: ProbeSession) -> Iterator[Note]:
    """An error has a code and a message."""
    for incoming, _ in errors_in(session):
        error = incoming.message["error"]
        if not isinstance(error, dict):
            yield violated(incoming, f"the error is {shown(error)}; expected an object")
        elif missing := [name for name in ("code", "message") if name not in error]:
            yield violated(incoming, f"the error lacks {' and '.join(missing)}")
        elif not isinstance(error["message"], str):
            yield violated(incoming, f"the message is {error['message']!r:.60}; expected a string")
        else:
            yield satisfied(incoming)


@rule("base.error.code-integer")
def codes_are_integers(session: ProbeSession) -> Iterator[Note]:
    """The code is an integer, not a string or a fraction."""
    for incoming, code in errors_in(session):
        if (isinstance(code, int) and not isinstance(code, bool)) or (
            isinstance(code, float) and code == code // 1
        ):
            yield satisfied(incoming)
        elif code is not None:
            yield violated(incoming, f"the code is {code!r:.60}; expected an integer")


@rule("base.error.message-concise")
def messages_of_errors_are_short(session: ProbeSession) -> Iterator[Note]:
    """One sentence: no line breaks, no stack trace, not too long."""
    for incoming, _ in errors_in(session):
        error = incoming.message["error"]
        message = error.get("message") if isinstance(error, dict) else None
        if not isinstance(message, str):
            continue
        if "\n" in message.strip() or len(message) > _limit(incoming):
            lines = len(message.splitlines())
            text = f"a message of {len(message)} characters in {lines} lines: {message[:60]!r}"
            yield violated(incoming, f"{text}; expected one short sentence")
        else:
            yield satisfied(incoming)


def _limit(incoming: Incoming) -> int:
    """The maximum length. It grows by the longest string sent, which the message may repeat."""
    sent = incoming.exchange.params if incoming.exchange is not None else {}
    return _LONGEST_MESSAGE + max((len(text) for text in _texts(sent)), default=0)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _texts(inside)


@rule("base.error.method-not-found", reads=("errors",))
def an_unknown_method_is_not_found(session: ProbeSession) -> Iterator[Note]:
    """An unknown method gets -32601."""
    for exchange in session.tagged("errors/unknown-method"):
        yield _expect(exchange, -32601)


@rule("base.error.invalid-params", reads=("errors",))
def missing_params_are_invalid(session: ProbeSession) -> Iterator[Note]:
    """A request without its required params gets -32602."""
    for exchange in session.tagged("errors/no-params"):
        yield _expect(exchange, -32602)


def _expect(exchange: Exchange, code: int) -> Note:
    if exchange.code == code:
        return satisfied(exchange)
    return violated(exchange, f"{exchange.method} got {exchange.describe()}; expected {code}")


@rule("base.error.parse-error", reads=("garbage",))
def invalid_json_is_a_parse_error(session: ProbeSession) -> Iterator[Note]:
    """Invalid JSON gets -32700, and the server still responds afterwards."""
    for exchange in session.tagged("garbage/truncated"):
        codes = _codes(exchange, unmatched_responses(session, exchange))
        if still_answers(session, exchange) is False:
            yield violated(exchange, "the server stopped responding after truncated JSON")
        elif -32700 in codes:
            yield satisfied(exchange)
        elif codes:
            yield violated(exchange, f"truncated JSON got the code {codes[0]!r}; expected -32700")
        elif exchange.status is not None and not 400 <= exchange.status < 500:
            yield violated(exchange, f"truncated JSON got {exchange.describe()}; expected -32700")
        else:
            got = exchange.describe()
            yield ambiguous(
                exchange,
                f"truncated JSON got {got}. JSON-RPC has -32700 for it; MCP does not say whether "
                "input that is not a message must be answered",
            )


@rule("base.error.invalid-request", reads=("garbage",))
def invalid_requests_get_32600(session: ProbeSession) -> Iterator[Note]:
    """JSON with an id that is not a valid request gets -32600."""
    for exchange in session.tagged("garbage/wrong-version", "garbage/method-is-a-number"):
        codes = _codes(exchange, unmatched_responses(session, exchange))
        what = exchange.tag.partition("/")[2]
        if -32600 in codes:
            yield satisfied(exchange)
        elif _HEADER_MISMATCH in codes and session.is_http:
            text = f"{what} got -32020; JSON-RPC has -32600 for it. MCP does not say whether"
            yield ambiguous(exchange, f"{text} headers or body are validated first")
        elif codes:
            yield violated(exchange, f"{what} got the code {codes[0]!r}; expected -32600")
        elif is_rejected(exchange):
            yield ambiguous(
                exchange,
                f"{what} got {exchange.describe()}. JSON-RPC has -32600 for it; MCP does not say "
                "whether an HTTP error also needs a JSON-RPC error",
            )
        else:
            yield violated(exchange, f"{what} got {exchange.describe()}; expected -32600")


def _codes(exchange: Exchange, loose: list[Incoming]) -> list[Any]:
    """The codes of all errors that answered it, with or without its id."""
    found = [incoming.message.get("error") for incoming in [*exchange.incoming, *loose]]
    return [error.get("code") for error in found if isinstance(error, dict)]


# -- the codes of the modern era -------------------------------------------------------------------


def _in(code: Any, low: int, high: int) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and low <= code <= high


@rule("base.errcode.no-new-legacy", reads=("errors",))
def no_new_codes_in_the_legacy_range(session: ProbeSession) -> Iterator[Note]:
    """Unsettled for codes in the range: a client cannot know whether a code is new."""
    for incoming, code in errors_in(session):
        if _in(code, -32019, -32000) and code != _OLD_NOT_FOUND:
            yield ambiguous(
                incoming, f"code {code}: allowed only if it was in use before this revision"
            )
        else:
            yield satisfied(incoming)


@rule("base.errcode.avoid-legacy", reads=("errors",))
def the_legacy_range_is_not_used(session: ProbeSession) -> Iterator[Note]:
    """No code is in the range -32019 to -32000."""
    for incoming, code in errors_in(session):
        if _in(code, -32019, -32000):
            yield violated(incoming, f"code {code} is in the legacy range -32019 to -32000")
        else:
            yield satisfied(incoming)


@rule("base.errcode.reserved-undefined", reads=("errors",))
def reserved_codes_are_defined_ones(session: ProbeSession) -> Iterator[Note]:
    """Codes from -32099 to -32020 are those that the specification defines."""
    for incoming, code in errors_in(session):
        is_reserved = _in(code, -32099, -32020) and code != _OLD_URL_ELICITATION
        if is_reserved and code not in _DEFINED:
            yield violated(incoming, f"code {code} is reserved and not defined")
        else:
            yield satisfied(incoming)


@rule("base.errcode.no-32002", reads=("errors",))
def the_legacy_code_for_not_found_is_not_used(session: ProbeSession) -> Iterator[Note]:
    """No error has code -32002."""
    for incoming, code in errors_in(session):
        yield (
            violated(incoming, "code -32002, which this revision removed")
            if code == _OLD_NOT_FOUND
            else satisfied(incoming)
        )


@rule("base.errcode.no-32042", reads=("errors",))
def the_legacy_code_for_urls_is_not_used(session: ProbeSession) -> Iterator[Note]:
    """No error has code -32042."""
    for incoming, code in errors_in(session):
        yield (
            violated(incoming, "code -32042, which this revision removed")
            if code == _OLD_URL_ELICITATION
            else satisfied(incoming)
        )


@rule("base.errcode.own-codes-outside", reads=("errors",))
def own_codes_are_outside_the_reserved_range(session: ProbeSession) -> Iterator[Note]:
    """Codes from -32768 to -32100 are those of JSON-RPC."""
    for incoming, code in errors_in(session):
        if _in(code, -32768, -32100) and code not in _JSON_RPC:
            yield violated(incoming, f"code {code} is in the range that JSON-RPC reserves")
        else:
            yield satisfied(incoming)


@rule("base.errcode.reserved-meaning", reads=("errors", "strange-version"))
def defined_codes_have_their_meaning(session: ProbeSession) -> Iterator[Note]:
    """-32020, -32021 and -32022 are used only for their defined errors."""
    for incoming, code in errors_in(session):
        if code not in _DEFINED or incoming.exchange is None:
            continue
        wrong = _misused(session, incoming.exchange, code)
        yield (
            satisfied(incoming)
            if wrong is None
            else violated(incoming, f"code {code}, but {wrong}")
        )


def _misused(session: ProbeSession, exchange: Exchange, code: int) -> str | None:
    meta = exchange.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if code == _UNSUPPORTED_VERSION and meta.get(keys.PROTOCOL_VERSION) == session.revision.date:
        said = exchange.sent.header("mcp-protocol-version")
        if said in (None, session.revision.date):
            return f"the request names {session.revision}, which server/discover lists"
    if code == _HEADER_MISMATCH and not session.is_http:
        return "stdio has no headers"
    if code == _MISSING_CAPABILITY:
        declared = meta.get(keys.CLIENT_CAPABILITIES)
        data = (exchange.error or {}).get("data")
        wanted = data.get("requiredCapabilities") if isinstance(data, dict) else None
        if isinstance(wanted, dict) and wanted and _declares(declared, wanted):
            return f"the client declared {', '.join(wanted)}"
    return None


def _declares(declared: Any, wanted: Any) -> bool:
    """Whether `declared` contains all of `wanted`."""
    if not isinstance(declared, dict):
        return False
    inside = wanted if isinstance(wanted, dict) else {}
    return all(_declares(declared.get(name), need) for name, need in inside.items())
