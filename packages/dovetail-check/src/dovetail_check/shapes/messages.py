"""Problems of whole messages: the JSON-RPC envelope and its contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dovetail.spec.methods import methods_at
from dovetail.spec.revisions import Family, Revision
from dovetail_check.shapes.by_method import NOTIFICATIONS, REQUESTS, RESULTS
from dovetail_check.shapes.notifications import ERROR_DATA
from dovetail_check.shapes.spans import Entry, at
from dovetail_check.shapes.validation import find_problems

__all__ = ["envelope_problems", "message_problems", "problems", "result_problems"]

_ID = "string | integer"
# Prefixes of problems that JSON-RPC itself covers.
_ENVELOPE = (
    "jsonrpc: ",
    "id: ",
    "both ",
    "neither ",
    "method: ",
    "error: ",
    "error.code: ",
    "error.message: ",
)
# Shapes that resultType selects, for any method.
_BY_TYPE = {"input_required": "InputRequiredResult", "task": "CreateTaskResult"}


def problems(value: Any, shape: str, revision: Revision) -> list[str]:
    """Mismatches between a value and a shape: one line each, with the path."""
    return list(find_problems(value, shape, revision))


def result_problems(result: Any, method: str, revision: Revision) -> list[str]:
    """Mismatches between the result of a client request and the schema of the revision."""
    shape = at(revision, RESULTS[method]) if method in RESULTS else None
    if revision.family is Family.MODERN and isinstance(result, dict):
        kind = result.get("resultType")
        asked = methods_at(revision).get(method)
        if isinstance(kind, str) and kind in _BY_TYPE and (asked is None or asked.asks_back):
            shape = _BY_TYPE[kind]
    return problems(result, shape or "Result", revision)


def message_problems(message: Any, answered_method: str | None, revision: Revision) -> list[str]:
    """All problems of a server message, which may be a batch if the revision has batches."""
    if isinstance(message, list) and message and revision.batching:
        return [
            f"[{index}].{problem}"
            for index, part in enumerate(message)
            for problem in message_problems(part, answered_method, revision)
        ]
    if not isinstance(message, dict):
        return list(find_problems(message, "object", revision))
    return list(_message(message, answered_method, revision))


def envelope_problems(message: Any, revision: Revision) -> list[str]:
    """Problems of the JSON-RPC envelope. The contents of result and params are not checked."""
    if not isinstance(message, dict):
        return list(find_problems(message, "object", revision))
    hollow = {**message, "params": {}} if "params" in message else message
    found = list(_message(hollow, None, revision))
    return [problem for problem in found if problem.startswith(_ENVELOPE)]


def _message(
    message: dict[str, Any], answered_method: str | None, revision: Revision
) -> Iterator[str]:
    if message.get("jsonrpc") != "2.0":
        yield f"jsonrpc: expected '2.0', got {message.get('jsonrpc')!r}"
    if "method" in message:
        yield from _request_or_notification(message, revision)
    elif "result" in message and "error" in message:
        yield "both result and error: expected exactly one of them"
    elif "error" in message:
        yield from _error(message, revision)
    elif "result" in message:
        if "id" not in message:
            yield "id: missing"
        else:
            yield from find_problems(message["id"], _ID, revision, "id")
        for problem in result_problems(message["result"], answered_method or "", revision):
            yield (
                f"result.{problem}" if not problem.startswith("value:") else f"result{problem[5:]}"
            )
    else:
        yield "neither method, result nor error: not a JSON-RPC message"


def _request_or_notification(message: dict[str, Any], revision: Revision) -> Iterator[str]:
    """A request or a notification."""
    method = message["method"]
    if not isinstance(method, str):
        yield from find_problems(method, "string", revision, "method")
        return
    if "id" in message:
        yield from find_problems(message["id"], _ID, revision, "id")
    table = REQUESTS if "id" in message else NOTIFICATIONS
    kind = "request" if "id" in message else "notification"
    what, is_required = _params_of(table, method, revision)
    if what is None:
        # An unknown method may belong to an extension; a method of another revision does not.
        if method in table or f"{method}?" in table:
            yield f"method {method!r}: not a server {kind} at {revision}"
        what, is_required = "object", False
    if "params" in message:
        yield from find_problems(message["params"], what, revision, "params")
    elif is_required:
        yield "params: missing"


def _params_of(
    table: Mapping[str, Entry], method: str, revision: Revision
) -> tuple[str | None, bool]:
    """The shape of the params, and whether they are required."""
    if method in table:
        return at(revision, table[method]), True
    return at(revision, table.get(f"{method}?", ())), False


def _error(message: dict[str, Any], revision: Revision) -> Iterator[str]:
    # base.error.id-omitted-if-unreadable (2025-11-25 basic/index): JSON-RPC writes null for an id
    # that could not be read, later schemas omit the member. Both are accepted.
    if "id" not in message:
        if revision.unreadable_id is not None:
            yield "id: missing"
    elif message["id"] is not None:
        yield from find_problems(message["id"], _ID, revision, "id")
    error = message["error"]
    yield from find_problems(error, "Error", revision, "error")
    code = error.get("code") if isinstance(error, dict) else None
    data = at(revision, ERROR_DATA[code]) if _is_code(code) and code in ERROR_DATA else None
    if data is not None and isinstance(error, dict):
        yield from find_problems(error.get("data"), data, revision, "error.data")


def _is_code(code: Any) -> bool:
    return isinstance(code, int) and not isinstance(code, bool)
