"""Judge what our server sends by the models of the official SDK.

`check_message` takes one message of ours and raises AssertionError if a server of that
revision may not send it: a method that the revision does not have, a member that is
missing, wrong or unknown, a result that only fits a looser model than its own. The
models ignore members they do not know; here such a member is a mistake, so what was
validated is written out again and must be what we sent.
"""

from __future__ import annotations

from typing import Any, get_args

import mcp_types
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ValidationError

from tests.interop.task_models import (
    TASK_NOTIFICATIONS,
    TASK_RESULTS,
    CreateTaskResult,
    choose_task,
)

__all__ = ["Conversation", "check_message"]

# What the data of an error must be, where the specification says it (2026-07-28 schema).
_ERROR_DATA: dict[int, type[BaseModel]] = {
    mcp_types.UNSUPPORTED_PROTOCOL_VERSION: mcp_types.UnsupportedProtocolVersionErrorData,
    mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY: (
        mcp_types.MissingRequiredClientCapabilityErrorData
    ),
}
# -32000 to -32099 that a revision has words for; the rest of that range is not ours to use.
_LEGACY_CODES = {-32002}
_MODERN_CODES = {-32020, -32021, -32022}
_JSON_RPC_CODES = {-32700, -32600, -32601, -32602, -32603}


def check_message(message: dict[str, Any], sent_method: str | None, version: str) -> None:
    """Raise AssertionError unless a server may send `message` at `version`.

    `sent_method` is the method of the request that `message` answers; None for what
    answers nothing: notifications, requests, and errors about what could not be read.
    """
    assert version in (*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS), version
    assert message.get("jsonrpc") == "2.0", f"no JSON-RPC 2.0: {message}"
    if "method" in message:
        _check_spoken(message, version)
    elif "error" in message:
        _check_error(message, version)
    else:
        _check_result(message, sent_method, version)


def _check_spoken(message: dict[str, Any], version: str) -> None:
    """A request or a notification."""
    if (message["method"], version) in TASK_NOTIFICATIONS:
        row = TASK_NOTIFICATIONS[message["method"], version]
        sent = message if row is not None else message["params"]
        _check_members(row or choose_task(sent), sent, f"{message['method']} at {version}")
        return
    if message["method"] == "notifications/subscriptions/acknowledged":
        # The extension's own member of a filter; the official model knows no extensions.
        agreed = {k: v for k, v in message["params"]["notifications"].items() if k != "taskIds"}
        message = {**message, "params": {**message["params"], "notifications": agreed}}
    kind = "request" if "id" in message else "notification"
    table = methods.SERVER_REQUESTS if "id" in message else methods.SERVER_NOTIFICATIONS
    model = table.get((message["method"], version))
    assert model is not None, f"no server {kind} {message['method']!r} at {version}: {message}"
    _check_members(model, message, f"{message['method']} at {version}")


def _check_error(message: dict[str, Any], version: str) -> None:
    if "id" in message:
        _check_members(mcp_types.JSONRPCError, message, f"error at {version}")
        # 2025-11-25 made the id of an unreadable request optional where it had been null.
        optional = version in ("2025-11-25", *MODERN_PROTOCOL_VERSIONS)
        assert not optional or message["id"] is not None, f"null id at {version}: {message}"
    else:
        assert version in ("2025-11-25", *MODERN_PROTOCOL_VERSIONS), f"no id at {version}"
        assert message.keys() == {"jsonrpc", "error"}, f"unknown members: {message}"
        _check_members(mcp_types.ErrorData, message["error"], f"error at {version}")
    error = message["error"]
    own = _MODERN_CODES if version in MODERN_PROTOCOL_VERSIONS else _LEGACY_CODES
    # Everything the protocol reserves must be a code it defines; others are an application's.
    if -32768 <= error["code"] <= -32000:
        assert error["code"] in _JSON_RPC_CODES | own, f"no error code of {version}: {message}"
    if error["code"] in _ERROR_DATA:
        _check_members(_ERROR_DATA[error["code"]], error.get("data"), f"data of {error['code']}")


def _check_result(message: dict[str, Any], sent_method: str | None, version: str) -> None:
    assert message.keys() == {"jsonrpc", "id", "result"}, f"unknown members: {message}"
    assert sent_method is not None, f"the answer to nothing: {message}"
    _check_members(mcp_types.JSONRPCResponse, message, "response")
    result = message["result"]
    if _is_of_tasks(result, sent_method, version):
        _check_task_result(result, sent_method, version)
        return
    row = methods.SERVER_RESULTS.get((sent_method, version))
    assert row is not None, f"{sent_method!r} does not exist at {version}: {message}"
    if version in MODERN_PROTOCOL_VERSIONS:
        model = _choose_arm(get_args(row) or (row,), result, sent_method)
    else:
        assert isinstance(row, type)  # unions exist only where results have a type
        model = row
    parsed = _check_members(model, result, f"result of {sent_method} at {version}")
    assert not parsed.model_extra, f"{sent_method} at {version} has no {parsed.model_extra}"


def _is_of_tasks(result: dict[str, Any], method: str, version: str) -> bool:
    is_created = method == "tools/call" and ("task" in result or result.get("resultType") == "task")
    return is_created or (method, version) in TASK_RESULTS


def _check_task_result(result: dict[str, Any], method: str, version: str) -> None:
    if method == "tools/call":
        is_modern = version in MODERN_PROTOCOL_VERSIONS
        model: type[BaseModel] = CreateTaskResult if is_modern else mcp_types.CreateTaskResult
    else:
        row = TASK_RESULTS[method, version]
        if row is None:
            # The result of tasks/get is stamped like any other.
            assert result["resultType"] == "complete", f"no resultType of {method}: {result}"
            result = {key: value for key, value in result.items() if key != "resultType"}
        model = row or choose_task(result)
    _check_members(model, result, f"result of {method} at {version}")


def _choose_arm(arms: tuple[Any, ...], result: dict[str, Any], method: str) -> type[BaseModel]:
    """The model of a result by its type, never by what happens to fit."""
    kind = result.get("resultType")
    wanted = {"complete": False, "input_required": True}.get(kind) if kind else None
    assert wanted is not None, f"no resultType of {method}: {kind!r}"
    chosen: list[type[BaseModel]] = [
        arm for arm in arms if arm.__name__.startswith("InputRequired") is wanted
    ]
    assert len(chosen) == 1, f"{method} cannot be answered with {kind!r}"
    return chosen[0]


def _check_members(model: type[BaseModel], sent: Any, what: str) -> BaseModel:
    try:
        parsed = model.model_validate(sent, by_name=False)
    except ValidationError as error:
        raise AssertionError(f"{what}: {error}\n{sent}") from None
    written = parsed.model_dump(mode="json", by_alias=True, exclude_unset=True)
    differences = list(_compare(sent, written, ""))
    assert not differences, f"{what}: unknown to the model: {', '.join(differences)}\n{sent}"
    return parsed


def _compare(sent: Any, known: Any, path: str) -> list[str]:
    """The places where `known` has less than, or something else than, `sent`."""
    if isinstance(sent, dict) and isinstance(known, dict):
        found = [f"{path}.{key}" for key in sent if key not in known]
        shared = [key for key in sent if key in known]
        return found + [
            d for key in shared for d in _compare(sent[key], known[key], f"{path}.{key}")
        ]
    if isinstance(sent, list) and isinstance(known, list) and len(sent) == len(known):
        pairs = enumerate(zip(sent, known, strict=True))
        return [d for i, (a, b) in pairs for d in _compare(a, b, f"{path}[{i}]")]
    return [] if sent == known else [path or "everything"]


class Conversation:
    """Remembers what was asked, so that each answer is checked against its own method."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.checked: list[tuple[str, str]] = []
        self._asked: dict[tuple[type, Any], str] = {}

    def sent(self, message: dict[str, Any]) -> None:
        """Take note of a message from the client."""
        if "method" in message and "id" in message:
            self._asked[type(message["id"]), message["id"]] = message["method"]

    def received(self, message: dict[str, Any]) -> None:
        """Check a message from the server; raises AssertionError."""
        answered = self._asked.get((type(message.get("id")), message.get("id")))
        check_message(message, None if "method" in message else answered, self.version)
        kind = next(k for k in ("method", "error", "result") if k in message)
        self.checked.append((kind, message["method"] if kind == "method" else answered or ""))
