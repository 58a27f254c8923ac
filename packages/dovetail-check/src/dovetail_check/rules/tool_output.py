"""server/tools: structured content, and whether it matches outputSchema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.contents import finished_calls
from dovetail_check.escaping import shown
from dovetail_check.exchanges import NO_JSON, Exchange, parse
from dovetail_check.json_schemas import validation_errors
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_CALLS = ("tool-calls",)


@rule("tools.call.structured-object", reads=_CALLS)
def structured_content_is_an_object(session: ProbeSession) -> Iterator[Note]:
    """structuredContent is an object; later revisions allow other JSON."""
    for exchange, result in finished_calls(session):
        if "structuredContent" in result:
            content = result["structuredContent"]
            if isinstance(content, dict):
                yield satisfied(exchange)
            else:
                yield violated(
                    exchange, f"structuredContent is {shown(content)}; expected an object"
                )


@rule("tools.call.structured-text", reads=_CALLS)
def structured_content_is_also_text(session: ProbeSession) -> Iterator[Note]:
    """A text block has the same JSON."""
    for exchange, result in finished_calls(session):
        if "structuredContent" not in result:
            continue
        structured = result["structuredContent"]
        texts = list(_json_texts(result))
        if any(_is_same(structured, text) for text in texts):
            yield satisfied(exchange)
        elif _is_wrapped(structured, result):
            yield ambiguous(
                exchange,
                f"structuredContent {shown(structured)} wraps a value, and the text has only the "
                "value: the same data, but not the serialized object",
            )
        else:
            yield violated(exchange, f"no text block has the structuredContent {shown(structured)}")


def _texts(result: dict[str, Any]) -> list[str]:
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    found = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in found if isinstance(text, str)]


def _json_texts(result: dict[str, Any]) -> Iterator[Any]:
    for text in _texts(result):
        value = parse(text.encode("utf-8", "replace"))
        if value is not NO_JSON:
            yield value


def _is_same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_wrapped(structured: Any, result: dict[str, Any]) -> bool:
    """Whether an object only wraps the value that the text blocks have."""
    if not isinstance(structured, dict) or len(structured) != 1:
        return False
    [value] = structured.values()
    texts: list[Any] = [*_texts(result), *_json_texts(result)]
    # A list may have one text block for each item.
    return any(_is_same(value, text) for text in texts) or (
        isinstance(value, list) and value in (_texts(result), list(_json_texts(result)))
    )


def _results_with_schema(session: ProbeSession) -> Iterator[tuple[Exchange, dict[str, Any], Any]]:
    """Results of tools with an outputSchema, each with that schema."""
    schemas = {
        tool["name"]: tool["outputSchema"]
        for tool in session.listed("tools")
        if isinstance(tool.get("name"), str) and "outputSchema" in tool
    }
    for exchange, result in finished_calls(session):
        name = exchange.params.get("name")
        if isinstance(name, str) and name in schemas:
            yield exchange, result, schemas[name]


@rule("tools.call.output-present", reads=_CALLS)
def structured_content_is_present(session: ProbeSession) -> Iterator[Note]:
    """A tool with an outputSchema returns structuredContent, except with isError."""
    tools = session.listed("tools")
    if tools and not any("outputSchema" in tool for tool in tools):
        yield not_applicable("no tool has an outputSchema")
    for exchange, result, _ in _results_with_schema(session):
        if "structuredContent" in result:
            yield satisfied(exchange)
        elif result.get("isError") is not True:
            name = exchange.params.get("name")
            yield violated(
                exchange, f"{name!r} has an outputSchema, but returned no structuredContent"
            )


@rule("tools.call.output-conforms", reads=_CALLS)
def structured_content_matches_its_schema(session: ProbeSession) -> Iterator[Note]:
    """structuredContent is valid against the outputSchema of the tool."""
    for exchange, result, schema in _results_with_schema(session):
        if "structuredContent" not in result:
            continue
        problems = validation_errors(schema, result["structuredContent"])
        if not problems:
            if problems is not None:
                yield satisfied(exchange)
        elif result.get("isError") is True:
            yield ambiguous(
                exchange,
                f"structuredContent of an error violates the outputSchema ({problems[0]}): "
                "the page does not say whether errors are exempt",
            )
        else:
            yield violated(exchange, f"structuredContent violates the outputSchema: {problems[0]}")
