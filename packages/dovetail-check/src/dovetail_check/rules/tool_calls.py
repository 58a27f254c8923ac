"""server/tools: results of calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import finished_calls, tool_blocks
from dovetail_check.escaping import shown
from dovetail_check.exchanges import Exchange
from dovetail_check.formats import base64_problem, mime_problem, uri_problem
from dovetail_check.notes import answered, expect_error, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated

__all__: list[str] = []

_CALLS = ("tool-calls",)
_INTERNAL_ERROR = -32603
_INVALID_PARAMS = -32602
_INVALID = ("tool-refusals/missing", "tool-refusals/wrong-type", "tool-refusals/list")


def _is_rejected(exchange: Exchange) -> bool:
    return exchange.error is not None or (exchange.result or {}).get("isError") is True


# -- rejected calls --------------------------------------------------------------------------------


@rule("tools.call.unknown", reads=("tool-refusals",))
def unknown_tools_are_protocol_errors(session: ProbeSession) -> Iterator[Note]:
    """An unknown tool gets a protocol error (-32602), not a tool result."""
    yield from undeclared(session, "tools")
    for exchange in answered(session.tagged("tool-refusals/unknown")):
        if exchange.code == _INVALID_PARAMS:
            yield satisfied(exchange)
        elif exchange.code == _INTERNAL_ERROR:
            text = "the request is at fault, not the server"
            yield violated(
                exchange, f"an unknown tool got {exchange.describe()}; expected -32602: {text}"
            )
        elif exchange.error is not None:
            yield ambiguous(
                exchange,
                f"an unknown tool got {exchange.describe()}: a protocol error, as required, but "
                "not -32602, which the page only shows in an example",
            )
        else:
            yield violated(
                exchange, f"an unknown tool got {exchange.describe()}; expected a protocol error"
            )


@rule("tools.call.malformed", reads=("tool-refusals",))
def malformed_calls_are_protocol_errors(session: ProbeSession) -> Iterator[Note]:
    """A call without a name, with a number as name or a list as arguments gets an error."""
    yield from undeclared(session, "tools")
    yield from expect_error(session.tagged("tool-refusals/malformed"), "a malformed call")
    for exchange in answered(session.tagged("tool-refusals/list")):
        what = f"arguments that are a list got {exchange.describe()}"
        if exchange.error is not None:
            yield satisfied(exchange)
        elif _is_rejected(exchange):
            text = "a protocol error, as the call is malformed, or a result with isError"
            yield ambiguous(exchange, f"{what} with isError; expected {text}")
        else:
            yield violated(exchange, f"{what}; expected an error")


@rule("tools.call.input-error-is-result", reads=("tool-refusals",))
def invalid_arguments_get_a_result_with_is_error(session: ProbeSession) -> Iterator[Note]:
    """The result has isError, so that a model can read it and retry."""
    yield from undeclared(session, "tools")
    for exchange in session.tagged("tool-refusals/missing", "tool-refusals/wrong-type"):
        if (exchange.result or {}).get("isError") is True:
            yield satisfied(exchange)
        elif exchange.error is not None:
            yield violated(
                exchange,
                f"invalid arguments got {exchange.describe()}; expected a result with isError",
            )


@rule("tools.call.errors-in-result", reads=("tool-refusals", "tool-calls"))
def tool_errors_get_a_result_with_is_error(session: ProbeSession) -> Iterator[Note]:
    """A failing tool does not lead to the protocol error -32603."""
    yield from undeclared(session, "tools")
    for exchange in session.sent("tools/call"):
        if (exchange.result or {}).get("isError") is True:
            yield satisfied(exchange)
        elif exchange.code == _INTERNAL_ERROR and exchange.tag.startswith("tool-calls"):
            yield violated(exchange, f"a call got {exchange.describe()}; expected a result")


@rule("tools.security.validate", reads=("tool-refusals",))
def inputs_are_validated(session: ProbeSession) -> Iterator[Note]:
    """Arguments that violate the inputSchema of a tool are rejected."""
    yield from undeclared(session, "tools")
    for exchange in session.tagged(*_INVALID):
        name = exchange.params.get("name")
        if _is_rejected(exchange):
            yield satisfied(exchange)
        elif exchange.result is not None:
            given = shown(exchange.params.get("arguments"))
            yield violated(
                exchange,
                f"tool {name!r} accepted {given}, which violates its inputSchema; "
                "expected an error",
            )
        elif exchange.failure is not None:
            yield violated(
                exchange, f"invalid arguments got {exchange.describe()}; expected an error"
            )
    for exchange in session.tagged("tool-refusals/extra"):
        if _is_rejected(exchange):
            yield satisfied(exchange)
        elif exchange.result is not None:
            yield ambiguous(
                exchange,
                f"tool {exchange.params.get('name')!r} accepted an argument that its schema does "
                "not allow: a violation unless the tool ignored it",
            )


@rule("tools.name.case", reads=("tool-refusals",))
def names_are_case_sensitive(session: ProbeSession) -> Iterator[Note]:
    """A tool name in a different case is unknown."""
    yield from undeclared(session, "tools")
    for exchange in session.tagged("tool-refusals/case"):
        if _is_rejected(exchange):
            yield satisfied(exchange)
        elif exchange.result is not None:
            yield violated(
                exchange, f"{exchange.params.get('name')!r} is not listed, but the call succeeded"
            )


# -- results ---------------------------------------------------------------------------------------


@rule("tools.call.result-shape", reads=_CALLS)
def results_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """The result has content with block types of the revision."""
    yield from undeclared(session, "tools")

    def problem(result: dict[str, Any]) -> str | None:
        found = shapes.result_problems(result, "tools/call", session.revision)
        return f"the result of tools/call: {'; '.join(found[:3])}" if found else None

    yield from note_each(finished_calls(session), problem)


@rule("tools.call.image-audio", reads=_CALLS)
def images_and_audio_are_encoded(session: ProbeSession) -> Iterator[Note]:
    """The data is base64, and there is a MIME type."""

    def problem(block: dict[str, Any]) -> str | None:
        found = base64_problem(block.get("data")) or mime_problem(block.get("mimeType"))
        return f"{block.get('type')} content: {found}" if found else None

    yield from note_each(tool_blocks(session, "image", "audio"), problem)


@rule("tools.call.resource-link", reads=_CALLS)
def resource_links_have_a_uri(session: ProbeSession) -> Iterator[Note]:
    """The URI of a resource link follows RFC 3986."""
    yield from note_each(
        tool_blocks(session, "resource_link"), lambda block: uri_problem(block.get("uri"))
    )


def _embedded(block: dict[str, Any]) -> dict[str, Any]:
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else {}


@rule("tools.call.embedded", reads=_CALLS)
def embedded_resources_have_a_uri(session: ProbeSession) -> Iterator[Note]:
    """The URI of an embedded resource follows RFC 3986."""
    yield from note_each(
        tool_blocks(session, "resource"), lambda block: uri_problem(_embedded(block).get("uri"))
    )


@rule("tools.call.embedded-capability", reads=_CALLS)
def embedding_resources_needs_the_capability(session: ProbeSession) -> Iterator[Note]:
    """A server that embeds resources declares the capability resources."""
    for exchange, _ in tool_blocks(session, "resource"):
        if session.has("resources"):
            yield satisfied(exchange)
        else:
            yield violated(exchange, "a resource is embedded, but resources is not declared")


unjudged.update(
    {
        "tools.call.input-required": "a permission: covered by the rows of multi round-trip "
        "requests",
        "tools.security.access-control": "not visible on the wire: how access is controlled",
        "tools.security.rate-limit": "needs a load test, which a check does not run",
        "tools.security.sanitize": "not visible on the wire: what was removed",
    }
)
