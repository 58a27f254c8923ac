"""basic/index#meta: required `_meta` of requests and results in the modern era."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import errors_in, results_in
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

unjudged["base.result.resulttype-extension"] = "a permission: nothing to violate"

_CORE_TYPES = ("complete", "input_required")
# Result types of official extensions.
_EXTENSION_TYPES = {"task": "io.modelcontextprotocol/tasks"}
# The capability that each input request requires.
_NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


# base.reqmeta.missing-32602 (2026-07-28 basic/index): a request without them is malformed.
@rule("base.reqmeta.missing-32602", reads=("envelope",))
def incomplete_requests_are_invalid(session: ProbeSession) -> Iterator[Note]:
    """They get -32602. Over HTTP the mismatch of header and body may be reported instead."""
    for exchange in session.tagged("envelope"):
        what = exchange.tag.partition("/")[2]
        if exchange.code == -32602:
            yield satisfied(exchange)
        elif exchange.code == -32020 and session.is_http and what != "no-capabilities":
            text = f"{what} got -32020, as the header names a version and the body does not"
            yield ambiguous(exchange, f"{text}; -32602 is for a missing member: both apply")
        else:
            yield violated(exchange, f"{what} got {exchange.describe()}; expected -32602")


@rule("base.reqmeta.missing-http-400", reads=("envelope",))
def incomplete_requests_have_status_400(session: ProbeSession) -> Iterator[Note]:
    """They get status 400."""
    for exchange in session.tagged("envelope"):
        if exchange.status == 400:
            yield satisfied(exchange)
        elif exchange.status is not None:
            yield violated(exchange, f"{exchange.tag} got status {exchange.status}; expected 400")


# base.reqmeta.no-undeclared-capability (2026-07-28 basic/index): only what this request declares.
@rule("base.reqmeta.no-undeclared-capability", reads=("progress",))
def undeclared_capabilities_are_not_used(session: ProbeSession) -> Iterator[Note]:
    """Input is requested only if the request declares the capability for it."""
    for exchange in session.sent("tools/call", "prompts/get", "resources/read"):
        declared = _declared(exchange)
        if declared is None or exchange.answer is None:
            continue
        asked = _asked_inputs(exchange)
        missing = sorted({_NEEDED[method] for method in asked} - declared.keys())
        if missing:
            yield violated(
                exchange, f"input for {', '.join(missing)} is requested, but not declared"
            )
        else:
            yield satisfied(exchange)


def _declared(exchange: Exchange) -> dict[str, Any] | None:
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    return declared if isinstance(declared, dict) else None


def _asked_inputs(exchange: Exchange) -> list[str]:
    inputs = (exchange.result or {}).get("inputRequests")
    methods = [
        item.get("method")
        for item in (inputs.values() if isinstance(inputs, dict) else ())
        if isinstance(item, dict)
    ]
    return [method for method in methods if isinstance(method, str) and method in _NEEDED]


@rule("base.reqmeta.missing-capability-32021", reads=("progress",))
def missing_capabilities_are_named(session: ProbeSession) -> Iterator[Note]:
    """The data of -32021 names the required capabilities."""
    for incoming, code in errors_in(session):
        if code != -32021:
            continue
        data = incoming.message["error"].get("data")
        problems = shapes.problems(data, "MissingRequiredClientCapabilityData", session.revision)
        if problems:
            yield violated(incoming, f"the data of -32021: {'; '.join(problems[:3])}")
        elif not data["requiredCapabilities"]:
            yield violated(incoming, "the data of -32021 names no capability")
        else:
            yield satisfied(incoming)


@rule("base.reqmeta.missing-capability-http-400", reads=("progress",))
def missing_capabilities_have_status_400(session: ProbeSession) -> Iterator[Note]:
    """The error has status 400, except on a stream that has already started."""
    for incoming, code in errors_in(session):
        if code != -32021 or incoming.exchange is None or incoming.exchange.is_stream:
            continue
        status = incoming.exchange.status
        if status == 400:
            yield satisfied(incoming)
        else:
            yield violated(incoming, f"-32021 with status {status}; expected 400")


@rule("base.resmeta.serverinfo")
def results_name_the_server(session: ProbeSession) -> Iterator[Note]:
    """`_meta` of each result has serverInfo."""
    for incoming, result in results_in(session):
        meta = result.get("_meta")
        info = meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else None
        if info is None:
            yield violated(incoming, f"a result has no {keys.SERVER_INFO} in _meta")
        elif problems := shapes.problems(info, "Implementation", session.revision):
            yield violated(incoming, f"{keys.SERVER_INFO}: {'; '.join(problems[:3])}")
        else:
            yield satisfied(incoming)


@rule("base.result.resulttype")
def results_have_a_type(session: ProbeSession) -> Iterator[Note]:
    """Each result has the string resultType."""
    for incoming, result in results_in(session):
        if isinstance(result.get("resultType"), str):
            yield satisfied(incoming)
        else:
            got = repr(result["resultType"])[:40] if "resultType" in result else "missing"
            yield violated(incoming, f"resultType is {got}; expected a string")


@rule("base.result.resulttype-known")
def result_types_are_known(session: ProbeSession) -> Iterator[Note]:
    """complete, input_required, or the type of an extension that the server advertises."""
    extensions = session.capabilities.get("extensions")
    advertised = extensions if isinstance(extensions, dict) else {}
    for incoming, result in results_in(session):
        kind = result.get("resultType")
        if not isinstance(kind, str):
            continue
        if kind in _CORE_TYPES or _EXTENSION_TYPES.get(kind) in advertised:
            yield satisfied(incoming)
        elif kind not in _EXTENSION_TYPES and advertised:
            yield ambiguous(incoming, f"resultType {kind!r} may belong to an extension")
        else:
            yield violated(
                incoming, f"resultType {kind!r} is unknown; expected a core or extension type"
            )
