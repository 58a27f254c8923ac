"""server/tools: structured content, and whether it keeps what outputSchema promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.contents import finished_calls
from dovetail_check.exchanges import NO_JSON, Exchange, parse
from dovetail_check.json_schemas import misfits
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_CALLS = ("tool-calls",)


@rule("tools.call.structured-object", reads=_CALLS)
def structured_content_is_an_object(seen: ProbeSession) -> Iterator[Note]:
    """Other JSON came later."""
    for exchange, result in finished_calls(seen):
        if "structuredContent" in result:
            content = result["structuredContent"]
            if isinstance(content, dict):
                yield kept(exchange)
            else:
                yield broken(exchange, f"structuredContent is {content!r:.80}; an object was due")


@rule("tools.call.structured-text", reads=_CALLS)
def structured_content_is_also_text(seen: ProbeSession) -> Iterator[Note]:
    """Some text block holds the same JSON."""
    for exchange, result in finished_calls(seen):
        if "structuredContent" not in result:
            continue
        structured = result["structuredContent"]
        texts = list(_json_texts(result))
        if any(_is_same(structured, text) for text in texts):
            yield kept(exchange)
        elif _is_wrapped(structured, result):
            yield unsettled(
                exchange,
                f"structuredContent {structured!r:.80} wraps a value, and the text holds the "
                "value: the same data, but not the serialized object",
            )
        else:
            yield broken(
                exchange, f"no text block holds the structuredContent {str(structured)[:120]}"
            )


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
    """An object of one member, put around a value because it had to be an object."""
    if not isinstance(structured, dict) or len(structured) != 1:
        return False
    [value] = structured.values()
    told: list[Any] = [*_texts(result), *_json_texts(result)]
    # A list may be told in a block for each of its items.
    return any(_is_same(value, text) for text in told) or (
        isinstance(value, list) and value in (_texts(result), list(_json_texts(result)))
    )


def _promised(seen: ProbeSession) -> Iterator[tuple[Exchange, dict[str, Any], Any]]:
    """Results of tools that have an outputSchema, with it."""
    schemas = {
        tool["name"]: tool["outputSchema"]
        for tool in seen.listed("tools")
        if isinstance(tool.get("name"), str) and "outputSchema" in tool
    }
    for exchange, result in finished_calls(seen):
        name = exchange.params.get("name")
        if isinstance(name, str) and name in schemas:
            yield exchange, result, schemas[name]


@rule("tools.call.output-present", reads=_CALLS)
def structured_content_is_there(seen: ProbeSession) -> Iterator[Note]:
    """Where a schema promises it; a result with isError is not asked."""
    tools = seen.listed("tools")
    if tools and not any("outputSchema" in tool for tool in tools):
        yield absent("no tool has an outputSchema")
    for exchange, result, _ in _promised(seen):
        if "structuredContent" in result:
            yield kept(exchange)
        elif result.get("isError") is not True:
            name = exchange.params.get("name")
            yield broken(exchange, f"{name!r} has an outputSchema, but gave no structuredContent")


@rule("tools.call.output-conforms", reads=_CALLS)
def structured_content_fits_its_schema(seen: ProbeSession) -> Iterator[Note]:
    """As the tool itself says."""
    for exchange, result, schema in _promised(seen):
        if "structuredContent" not in result:
            continue
        problems = misfits(schema, result["structuredContent"])
        if not problems:
            if problems is not None:
                yield kept(exchange)
        elif result.get("isError") is True:
            yield unsettled(
                exchange,
                f"structuredContent of an error does not fit the outputSchema ({problems[0]}): "
                "the page does not say whether errors are exempt",
            )
        else:
            yield broken(exchange, f"structuredContent does not fit: {problems[0]}")
