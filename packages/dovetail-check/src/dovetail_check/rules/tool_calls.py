"""server/tools: what calls came to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import finished_calls, tool_blocks
from dovetail_check.exchanges import Exchange
from dovetail_check.formats import base64_problem, mime_problem, uri_problem
from dovetail_check.noting import answered, expect_error, note_each, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, broken, kept, unsettled

__all__: list[str] = []

_CALLS = ("tool-calls",)
_INTERNAL_ERROR = -32603
_INVALID_PARAMS = -32602


def _is_refused(exchange: Exchange) -> bool:
    return exchange.error is not None or (exchange.result or {}).get("isError") is True


# -- refusals --------------------------------------------------------------------------------------


@rule("tools.call.unknown", reads=("tool-refusals",))
def unknown_tools_are_protocol_errors(seen: ProbeSession) -> Iterator[Note]:
    """-32602, not a result of a tool that does not exist."""
    yield from undeclared(seen, "tools")
    for exchange in answered(seen.tagged("tool-refusals/unknown")):
        if exchange.code == _INVALID_PARAMS:
            yield kept(exchange)
        elif exchange.error is not None:
            yield unsettled(
                exchange,
                f"an unknown tool got {exchange.describe()}: a protocol error, as the page says, "
                "but not with -32602, which is only its example",
            )
        else:
            yield broken(
                exchange, f"an unknown tool got {exchange.describe()}; a protocol error was due"
            )


@rule("tools.call.malformed", reads=("tool-refusals",))
def malformed_calls_are_protocol_errors(seen: ProbeSession) -> Iterator[Note]:
    """A call without a name, or with one that is a number."""
    yield from undeclared(seen, "tools")
    yield from expect_error(seen.tagged("tool-refusals/malformed"), "a malformed call")


@rule("tools.call.input-error-is-result", reads=("tool-refusals",))
def wrong_arguments_are_told_in_the_result(seen: ProbeSession) -> Iterator[Note]:
    """isError, so that a model can read it and try again."""
    yield from undeclared(seen, "tools")
    for exchange in seen.tagged("tool-refusals/missing", "tool-refusals/wrong-type"):
        if (exchange.result or {}).get("isError") is True:
            yield kept(exchange)
        elif exchange.error is not None:
            yield broken(
                exchange,
                f"arguments that do not fit got {exchange.describe()}; a result with isError "
                "was due",
            )


@rule("tools.call.errors-in-result", reads=("tool-refusals", "tool-calls"))
def errors_of_tools_are_told_in_the_result(seen: ProbeSession) -> Iterator[Note]:
    """A tool that fails does not end in an internal error of the protocol."""
    yield from undeclared(seen, "tools")
    for exchange in seen.sent("tools/call"):
        if (exchange.result or {}).get("isError") is True:
            yield kept(exchange)
        elif exchange.code == _INTERNAL_ERROR and exchange.tag.startswith("tool-calls"):
            yield broken(exchange, f"a call got {exchange.describe()}; a result was due")


@rule("tools.security.validate", reads=("tool-refusals",))
def inputs_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """What the schema of a tool refuses is refused."""
    yield from undeclared(seen, "tools")
    for exchange in seen.tagged("tool-refusals/missing", "tool-refusals/wrong-type"):
        name = exchange.params.get("name")
        if _is_refused(exchange):
            yield kept(exchange)
        elif exchange.result is not None:
            given = str(exchange.params.get("arguments"))[:120]
            yield broken(
                exchange,
                f"tool {name!r} took {given}, which its own inputSchema refuses; an error was due",
            )
        elif exchange.failure is not None:
            yield broken(
                exchange, f"arguments that do not fit got {exchange.describe()}; an error was due"
            )
    for exchange in seen.tagged("tool-refusals/extra"):
        if _is_refused(exchange):
            yield kept(exchange)
        elif exchange.result is not None:
            yield unsettled(
                exchange,
                f"tool {exchange.params.get('name')!r} took an argument that its schema does not "
                "allow: ignored, which does no harm, or not validated, which is not allowed",
            )


@rule("tools.name.case", reads=("tool-refusals",))
def names_are_case_sensitive(seen: ProbeSession) -> Iterator[Note]:
    """A name in the other case is another name."""
    yield from undeclared(seen, "tools")
    for exchange in seen.tagged("tool-refusals/case"):
        if _is_refused(exchange):
            yield kept(exchange)
        elif exchange.result is not None:
            yield broken(exchange, f"{exchange.params.get('name')!r} is not listed, but was called")


# -- results ---------------------------------------------------------------------------------------


@rule("tools.call.result-shape", reads=_CALLS)
def results_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """content, with blocks that the revision knows."""
    yield from undeclared(seen, "tools")

    def problem(result: dict[str, Any]) -> str | None:
        found = shapes.result_problems(result, "tools/call", seen.revision)
        return f"the result of tools/call: {'; '.join(found[:3])}" if found else None

    yield from note_each(finished_calls(seen), problem)


@rule("tools.call.image-audio", reads=_CALLS)
def images_and_audio_are_encoded(seen: ProbeSession) -> Iterator[Note]:
    """base64 and a MIME type."""

    def problem(block: dict[str, Any]) -> str | None:
        found = base64_problem(block.get("data")) or mime_problem(block.get("mimeType"))
        return f"{block.get('type')} content: {found}" if found else None

    yield from note_each(tool_blocks(seen, "image", "audio"), problem)


@rule("tools.call.resource-link", reads=_CALLS)
def resource_links_have_a_uri(seen: ProbeSession) -> Iterator[Note]:
    """Links may be returned; a URI of RFC 3986 leads somewhere."""
    yield from note_each(
        tool_blocks(seen, "resource_link"), lambda block: uri_problem(block.get("uri"))
    )


def _embedded(block: dict[str, Any]) -> dict[str, Any]:
    resource = block.get("resource")
    return resource if isinstance(resource, dict) else {}


@rule("tools.call.embedded", reads=_CALLS)
def embedded_resources_have_a_uri(seen: ProbeSession) -> Iterator[Note]:
    """Resources may be embedded, under a URI of their own."""
    yield from note_each(
        tool_blocks(seen, "resource"), lambda block: uri_problem(_embedded(block).get("uri"))
    )


@rule("tools.call.embedded-capability", reads=_CALLS)
def who_embeds_resources_has_some(seen: ProbeSession) -> Iterator[Note]:
    """The capability resources is declared."""
    for exchange, _ in tool_blocks(seen, "resource"):
        if seen.has("resources"):
            yield kept(exchange)
        else:
            yield broken(exchange, "a resource is embedded, but resources is not declared")


unjudged.update(
    {
        "tools.call.input-required": "a permission: the rows of multi round-trip requests judge it",
        "tools.security.access-control": "nothing on the wire shows how access is controlled",
        "tools.security.rate-limit": "it would take a load test, which nobody asked for",
        "tools.security.sanitize": "nothing on the wire shows what was taken out",
    }
)
