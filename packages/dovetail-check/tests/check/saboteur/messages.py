"""Helpers for switches that change or replace messages."""

from __future__ import annotations

from typing import Any

from tests.check.saboteur.switch import Message

__all__ = ["answer", "first", "refuse", "result_of"]


def result_of(reply: Message) -> dict[str, Any]:
    """The result, or an empty dict if there is none."""
    result = reply.get("result")
    return result if isinstance(result, dict) else {}


def first(reply: Message, member: str) -> dict[str, Any]:
    """The first item of a list in the result, or an empty dict if there is none."""
    items = result_of(reply).get(member)
    return items[0] if isinstance(items, list) and items else {}


def answer(request: Message, result: dict[str, Any]) -> list[Message]:
    """A result that replaces the server's."""
    whole = {"resultType": "complete", **result}
    return [{"jsonrpc": "2.0", "id": request.get("id"), "result": whole}]


def refuse(request: Message, code: int) -> list[Message]:
    """An error that replaces the server's."""
    error = {"code": code, "message": "sabotage"}
    return [{"jsonrpc": "2.0", "id": request.get("id"), "error": error}]
