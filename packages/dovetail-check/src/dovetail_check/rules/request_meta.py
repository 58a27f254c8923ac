"""basic/index#meta: what requests and results of the modern era carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.rules.reading import errors_in, results_in
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

unjudged["base.result.resulttype-extension"] = "a permission: nothing to break"

_CORE_TYPES = ("complete", "input_required")
# What the result types of official extensions are.
_EXTENSION_TYPES = {"task": "io.modelcontextprotocol/tasks"}
# Which capability each kind of input needs.
_NEEDED = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}


# base.reqmeta.missing-32602 (2026-07-28 basic/index): a request without them is malformed.
@rule("base.reqmeta.missing-32602", reads=("envelope",))
def incomplete_requests_are_invalid(seen: ProbeSession) -> Iterator[Note]:
    """-32602; over HTTP a header that says more than the body may be what is refused."""
    for exchange in seen.tagged("envelope"):
        what = exchange.tag.partition("/")[2]
        if exchange.code == -32602:
            yield kept(exchange)
        elif exchange.code == -32020 and seen.is_http and what != "no-capabilities":
            text = f"{what} got -32020 as the header names a version and the body does not"
            yield unsettled(exchange, f"{text}; -32602 is due for what is missing: both are said")
        else:
            yield broken(exchange, f"{what}: {exchange.describe()}; -32602 was due")


@rule("base.reqmeta.missing-http-400", reads=("envelope",))
def incomplete_requests_have_status_400(seen: ProbeSession) -> Iterator[Note]:
    """The status of the same case."""
    for exchange in seen.tagged("envelope"):
        if exchange.status == 400:
            yield kept(exchange)
        elif exchange.status is not None:
            yield broken(exchange, f"{exchange.tag}: status {exchange.status}; 400 was due")


# base.reqmeta.no-undeclared-capability (2026-07-28 basic/index): only what this request declares.
@rule("base.reqmeta.no-undeclared-capability", reads=("progress",))
def nothing_undeclared_is_asked_for(seen: ProbeSession) -> Iterator[Note]:
    """Inputs are asked only of clients that declared they can give them."""
    for exchange in seen.sent("tools/call", "prompts/get", "resources/read"):
        declared = _declared(exchange)
        if declared is None or exchange.answer is None:
            continue
        asked = _asked_inputs(exchange)
        missing = sorted({_NEEDED[method] for method in asked} - declared.keys())
        if missing:
            yield broken(exchange, f"it asks for {', '.join(missing)}, which was not declared")
        else:
            yield kept(exchange)


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
def missing_capabilities_are_named(seen: ProbeSession) -> Iterator[Note]:
    """-32021 says which ones are required."""
    for heard, code in errors_in(seen):
        if code != -32021:
            continue
        data = heard.message["error"].get("data")
        problems = shapes.problems(data, "MissingRequiredClientCapabilityData", seen.revision)
        if problems:
            yield broken(heard, f"the data of -32021: {'; '.join(problems[:3])}")
        elif not data["requiredCapabilities"]:
            yield broken(heard, "the data of -32021 names no capability")
        else:
            yield kept(heard)


@rule("base.reqmeta.missing-capability-http-400", reads=("progress",))
def missing_capabilities_have_status_400(seen: ProbeSession) -> Iterator[Note]:
    """The status of the same case; a stream that had begun has its status already."""
    for heard, code in errors_in(seen):
        if code != -32021 or heard.exchange is None or heard.exchange.is_stream:
            continue
        status = heard.exchange.status
        if status == 400:
            yield kept(heard)
        else:
            yield broken(heard, f"-32021 with status {status}; 400 was due")


@rule("base.resmeta.serverinfo")
def results_name_the_server(seen: ProbeSession) -> Iterator[Note]:
    """serverInfo in `_meta` of each result."""
    for heard, result in results_in(seen):
        meta = result.get("_meta")
        info = meta.get(keys.SERVER_INFO) if isinstance(meta, dict) else None
        if info is None:
            yield broken(heard, f"a result without {keys.SERVER_INFO} in _meta")
        elif problems := shapes.problems(info, "Implementation", seen.revision):
            yield broken(heard, f"{keys.SERVER_INFO}: {'; '.join(problems[:3])}")
        else:
            yield kept(heard)


@rule("base.result.resulttype")
def results_say_their_type(seen: ProbeSession) -> Iterator[Note]:
    """resultType is there, and a string."""
    for heard, result in results_in(seen):
        if isinstance(result.get("resultType"), str):
            yield kept(heard)
        else:
            came = repr(result["resultType"])[:40] if "resultType" in result else "missing"
            yield broken(heard, f"resultType is {came}; a string was due")


@rule("base.result.resulttype-known")
def result_types_are_known(seen: ProbeSession) -> Iterator[Note]:
    """complete, input_required, or the type of an extension that the server advertises."""
    extensions = seen.capabilities.get("extensions")
    advertised = extensions if isinstance(extensions, dict) else {}
    for heard, result in results_in(seen):
        kind = result.get("resultType")
        if not isinstance(kind, str):
            continue
        if kind in _CORE_TYPES or _EXTENSION_TYPES.get(kind) in advertised:
            yield kept(heard)
        elif kind not in _EXTENSION_TYPES and advertised:
            yield unsettled(heard, f"resultType {kind!r} may be that of an extension")
        else:
            yield broken(heard, f"resultType {kind!r} is neither core nor of an extension")
