"""Lookups of content: blocks in the results of tools and prompts, and resource contents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession

__all__ = ["annotated", "finished_calls", "prompt_blocks", "read_contents", "tool_blocks"]


def finished_calls(session: ProbeSession) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The calls with a final result, without input requests and tasks."""
    for exchange in session.sent("tools/call"):
        result = exchange.result
        if result is None or "task" in result:
            continue
        if result.get("resultType", "complete") == "complete":
            yield exchange, result


def tool_blocks(session: ProbeSession, *kinds: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The content blocks of tools/call results, optionally only of some types."""
    for exchange in session.sent("tools/call"):
        yield from _blocks(exchange, (exchange.result or {}).get("content"), kinds)


def prompt_blocks(session: ProbeSession, *kinds: str) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The content blocks of prompts/get messages, optionally only of some types."""
    for exchange in session.sent("prompts/get"):
        messages = (exchange.result or {}).get("messages")
        for message in messages if isinstance(messages, list) else ():
            if isinstance(message, dict):
                yield from _blocks(exchange, [message.get("content")], kinds)


def read_contents(session: ProbeSession) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    """The contents that resources/read returned."""
    for exchange in session.sent("resources/read"):
        yield from _blocks(exchange, (exchange.result or {}).get("contents"), ())


def annotated(session: ProbeSession) -> Iterator[tuple[Exchange, Any]]:
    """The annotations of resources, templates and content blocks."""
    for kind in ("resources", "resourceTemplates"):
        for page in session.pages(kind):
            items = (page.result or {}).get(kind)
            yield from _annotations(_blocks(page, items, ()))
    yield from _annotations(tool_blocks(session))
    yield from _annotations(prompt_blocks(session))


def _annotations(
    found: Iterator[tuple[Exchange, dict[str, Any]]],
) -> Iterator[tuple[Exchange, Any]]:
    for exchange, item in found:
        if "annotations" in item:
            yield exchange, item["annotations"]


def _blocks(
    exchange: Exchange, items: Any, kinds: tuple[str, ...]
) -> Iterator[tuple[Exchange, dict[str, Any]]]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and (not kinds or item.get("type") in kinds):
            yield exchange, item
