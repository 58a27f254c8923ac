"""basic/index: errors and their codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.http_traffic import is_refused
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.rules.reading import errors_in, lived_on, loose_answers
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_LONGEST_MESSAGE = 300
_JSON_RPC = (-32700, -32600, -32601, -32602, -32603)
_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION = -32020, -32021, -32022
_DEFINED = (_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION)
_OLD_NOT_FOUND, _OLD_URL_ELICITATION = -32002, -32042


@rule("base.error.shape")
def errors_have_code_and_message(seen: ProbeSession) -> Iterator[Note]:
    """Both are there."""
    for heard, _ in errors_in(seen):
        error = heard.message["error"]
        if not isinstance(error, dict):
            yield broken(heard, f"the error is {error!r:.60}; an object was due")
        elif missing := [name for name in ("code", "message") if name not in error]:
            yield broken(heard, f"the error has no {' and no '.join(missing)}")
        elif not isinstance(error["message"], str):
            yield broken(heard, f"the message is {error['message']!r:.60}; a string was due")
        else:
            yield kept(heard)


@rule("base.error.code-integer")
def codes_are_integers(seen: ProbeSession) -> Iterator[Note]:
    """Not a string, not a fraction."""
    for heard, code in errors_in(seen):
        if (isinstance(code, int) and not isinstance(code, bool)) or (
            isinstance(code, float) and code == code // 1
        ):
            yield kept(heard)
        elif code is not None:
            yield broken(heard, f"the code is {code!r:.60}; an integer was due")


@rule("base.error.message-concise")
def messages_of_errors_are_short(seen: ProbeSession) -> Iterator[Note]:
    """One sentence: no line breaks, no stack trace, not a page."""
    for heard, _ in errors_in(seen):
        error = heard.message["error"]
        message = error.get("message") if isinstance(error, dict) else None
        if not isinstance(message, str):
            continue
        if "\n" in message.strip() or len(message) > _limit(heard):
            lines = len(message.splitlines())
            text = f"a message of {len(message)} characters in {lines} lines: {message[:60]!r}"
            yield broken(heard, f"{text}; one short sentence was due")
        else:
            yield kept(heard)


def _limit(heard: Heard) -> int:
    """A message that repeats what was sent may be longer by that."""
    sent = heard.exchange.params if heard.exchange is not None else {}
    return _LONGEST_MESSAGE + max((len(text) for text in _texts(sent)), default=0)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inside in value.values() if isinstance(value, dict) else value:
            yield from _texts(inside)


@rule("base.error.method-not-found", reads=("errors",))
def an_unknown_method_is_not_found(seen: ProbeSession) -> Iterator[Note]:
    """-32601."""
    for exchange in seen.tagged("errors/unknown-method"):
        yield _due(exchange, -32601)


@rule("base.error.invalid-params", reads=("errors",))
def missing_params_are_invalid(seen: ProbeSession) -> Iterator[Note]:
    """-32602 where the param that a method cannot do without is missing."""
    for exchange in seen.tagged("errors/no-params"):
        yield _due(exchange, -32602)


def _due(exchange: Exchange, code: int) -> Note:
    if exchange.code == code:
        return kept(exchange)
    return broken(exchange, f"{exchange.method} got {exchange.describe()}; {code} was due")


@rule("base.error.parse-error", reads=("garbage",))
def what_is_no_json_is_a_parse_error(seen: ProbeSession) -> Iterator[Note]:
    """-32700, and the server lives on."""
    for exchange in seen.tagged("garbage/truncated"):
        codes = _codes(exchange, loose_answers(seen, exchange))
        if lived_on(seen, exchange) is False:
            yield broken(exchange, "half a message, and nothing was answered any more")
        elif -32700 in codes:
            yield kept(exchange)
        elif codes:
            yield broken(exchange, f"half a message got the code {codes[0]!r}; -32700 was due")
        elif exchange.status is not None and not 400 <= exchange.status < 500:
            yield broken(exchange, f"half a message got {exchange.describe()}; -32700 was due")
        else:
            came = exchange.describe()
            yield unsettled(
                exchange,
                f"half a message got {came}. JSON-RPC has -32700 for it; whether a line or body "
                "that is no message at all must be answered, MCP does not say",
            )


@rule("base.error.invalid-request", reads=("garbage",))
def what_is_no_request_is_invalid(seen: ProbeSession) -> Iterator[Note]:
    """-32600 for JSON that has an id and is no request."""
    for exchange in seen.tagged("garbage/wrong-version", "garbage/method-is-a-number"):
        codes = _codes(exchange, loose_answers(seen, exchange))
        what = exchange.tag.partition("/")[2]
        if -32600 in codes:
            yield kept(exchange)
        elif _HEADER_MISMATCH in codes and seen.is_http:
            text = f"{what} got -32020; JSON-RPC has -32600 for it, and what is looked at first"
            yield unsettled(exchange, f"{text}, headers or body, is not said")
        elif codes:
            yield broken(exchange, f"{what} got the code {codes[0]!r}; -32600 was due")
        elif is_refused(exchange):
            yield unsettled(
                exchange,
                f"{what} got {exchange.describe()}. JSON-RPC has -32600 for it; whether a refusal "
                "by HTTP needs an error of JSON-RPC beside it, MCP does not say",
            )
        else:
            yield broken(exchange, f"{what} got {exchange.describe()}; -32600 was due")


def _codes(exchange: Exchange, loose: list[Heard]) -> list[Any]:
    """The codes of all errors that came for it, with or without its id."""
    found = [heard.message.get("error") for heard in [*exchange.heard, *loose]]
    return [error.get("code") for error in found if isinstance(error, dict)]


# -- the codes of the modern era -------------------------------------------------------------------


def _in(code: Any, low: int, high: int) -> bool:
    return isinstance(code, int) and not isinstance(code, bool) and low <= code <= high


@rule("base.errcode.no-new-legacy", reads=("errors",))
def no_code_is_minted_in_the_old_range(seen: ProbeSession) -> Iterator[Note]:
    """Whether a code there is new cannot be told from outside."""
    for heard, code in errors_in(seen):
        if _in(code, -32019, -32000) and code != _OLD_NOT_FOUND:
            yield unsettled(heard, f"code {code}: allowed only if it is older than the rule")
        else:
            yield kept(heard)


@rule("base.errcode.avoid-legacy", reads=("errors",))
def the_old_range_is_left_alone(seen: ProbeSession) -> Iterator[Note]:
    """-32000 to -32019."""
    for heard, code in errors_in(seen):
        if _in(code, -32019, -32000):
            yield broken(heard, f"code {code} is of the range -32019 to -32000")
        else:
            yield kept(heard)


@rule("base.errcode.reserved-undefined", reads=("errors",))
def reserved_codes_are_defined_ones(seen: ProbeSession) -> Iterator[Note]:
    """-32020 to -32099 are the specification's."""
    for heard, code in errors_in(seen):
        is_reserved = _in(code, -32099, -32020) and code != _OLD_URL_ELICITATION
        if is_reserved and code not in _DEFINED:
            yield broken(heard, f"code {code} is reserved and defined nowhere")
        else:
            yield kept(heard)


@rule("base.errcode.no-32002", reads=("errors",))
def the_old_code_for_not_found_is_gone(seen: ProbeSession) -> Iterator[Note]:
    """-32002."""
    for heard, code in errors_in(seen):
        yield broken(heard, "code -32002") if code == _OLD_NOT_FOUND else kept(heard)


@rule("base.errcode.no-32042", reads=("errors",))
def the_old_code_for_urls_is_gone(seen: ProbeSession) -> Iterator[Note]:
    """-32042."""
    for heard, code in errors_in(seen):
        yield broken(heard, "code -32042") if code == _OLD_URL_ELICITATION else kept(heard)


@rule("base.errcode.own-codes-outside", reads=("errors",))
def own_codes_are_outside_the_reserved_range(seen: ProbeSession) -> Iterator[Note]:
    """-32768 to -32100 have only the codes of JSON-RPC itself."""
    for heard, code in errors_in(seen):
        if _in(code, -32768, -32100) and code not in _JSON_RPC:
            yield broken(heard, f"code {code} is in the range that JSON-RPC keeps for itself")
        else:
            yield kept(heard)


@rule("base.errcode.reserved-meaning", reads=("errors", "strange-version"))
def defined_codes_mean_what_is_written(seen: ProbeSession) -> Iterator[Note]:
    """-32020, -32021 and -32022 answer only what they were made for."""
    for heard, code in errors_in(seen):
        if code not in _DEFINED or heard.exchange is None:
            continue
        wrong = _misused(seen, heard.exchange, code)
        yield kept(heard) if wrong is None else broken(heard, f"code {code}, but {wrong}")


def _misused(seen: ProbeSession, exchange: Exchange, code: int) -> str | None:
    meta = exchange.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    if code == _UNSUPPORTED_VERSION and meta.get(keys.PROTOCOL_VERSION) == seen.revision.date:
        said = exchange.sent.header("mcp-protocol-version")
        if said in (None, seen.revision.date):
            return f"{seen.revision} was asked for, which server/discover lists"
    if code == _HEADER_MISMATCH and not seen.is_http:
        return "there are no headers"
    if code == _MISSING_CAPABILITY:
        declared = meta.get(keys.CLIENT_CAPABILITIES)
        data = (exchange.error or {}).get("data")
        wanted = data.get("requiredCapabilities") if isinstance(data, dict) else None
        if isinstance(wanted, dict) and wanted and _declares(declared, wanted):
            return f"the client did declare {', '.join(wanted)}"
    return None


def _declares(declared: Any, wanted: Any) -> bool:
    """Whether what was declared has all of what is wanted."""
    if not isinstance(declared, dict):
        return False
    inside = wanted if isinstance(wanted, dict) else {}
    return all(_declares(declared.get(name), need) for name, need in inside.items())
