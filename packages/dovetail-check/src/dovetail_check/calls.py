"""Tool calls for probes: calls with valid arguments, and calls that the server must reject.

The safety policy checks each call again before it is sent. A tool that may not be called gets an
invalid call only if no callable tool can show the same, if the call has no arguments although some
are required, and if the tool is not marked as destructive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail_check.json_schemas import validation_errors
from dovetail_check.mirrored_params import marks_in
from dovetail_check.probe_client import ProbeClient
from dovetail_check.safety import UnsafeProbeError
from dovetail_check.samples import NoSampleError, sample

__all__ = ["NO_SUCH_TOOL", "InvalidCall", "invalid_calls", "may_send", "valid_calls"]

NO_SUCH_TOOL = "dovetail-check-no-such-tool"
# More tools would show nothing new.
MAX_TOOLS = 8
_MAX_INVALID = 3

# Values of several types: at least one of them has the wrong type.
_WRONG_VALUES: tuple[Any, ...] = (
    ["dovetail-check"],
    {"dovetail-check": True},
    "dovetail-check",
    0.5,
)


class InvalidCall(NamedTuple):
    """A call that the server must reject: what is wrong with it, and its params."""

    fault: str
    params: dict[str, Any]


def valid_calls(client: ProbeClient, most: int = MAX_TOOLS) -> list[dict[str, Any]]:
    """Return one call for each tool that may be called and for which arguments can be generated."""
    found = []
    for tool in client.callable_tools():
        try:
            arguments = sample(tool.get("inputSchema"))
        except NoSampleError:
            continue
        if isinstance(arguments, dict) and isinstance(tool.get("name"), str):
            found.append({"name": tool["name"], "arguments": arguments})
    return found[:most]


def invalid_calls(client: ProbeClient) -> list[InvalidCall]:
    """Return calls whose arguments do not match the schema: missing, wrong-type, extra."""
    safe = [tool for tool in client.callable_tools() if _requires_something(tool)]
    if safe:
        return [call for tool in safe[:_MAX_INVALID] for call in _invalid_calls_of(tool)]
    if not client.revision.tool_annotations:
        # Without annotations, no tool can be marked as destructive. Other revisions test this.
        return []
    others = [tool for tool in client.catalogue.tools if _must_reject_empty(client, tool)]
    return [_without_arguments(tool) for tool in others[:_MAX_INVALID]]


def may_send(client: ProbeClient, params: dict[str, Any]) -> bool:
    """Whether the safety policy allows a call."""
    try:
        client.context.policy.check_call(client.catalogue.tools, params)
    except UnsafeProbeError:
        return False
    return True


def _requires_something(tool: dict[str, Any]) -> bool:
    """Whether a call without arguments must fail."""
    schema = tool.get("inputSchema")
    if not isinstance(tool.get("name"), str) or not isinstance(schema, dict):
        return False
    required, properties = schema.get("required"), schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    # Some libraries list a parameter as required although it has a default.
    needed = [
        name
        for name in (required if isinstance(required, list) else ())
        if isinstance(name, str) and "default" not in _mapping(properties.get(name))
    ]
    return bool(needed) and bool(validation_errors(schema, {}))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _must_reject_empty(client: ProbeClient, tool: dict[str, Any]) -> bool:
    annotations = tool.get("annotations")
    is_destructive = isinstance(annotations, dict) and annotations.get("destructiveHint") is True
    # Every tool with that name must reject the call.
    same_name = [other for other in client.catalogue.tools if other.get("name") == tool.get("name")]
    return not is_destructive and all(
        _requires_something(tool) and client.context.policy.may_send_invalid(tool, {})
        for tool in same_name
    )


def _without_arguments(tool: dict[str, Any]) -> InvalidCall:
    return InvalidCall("missing", {"name": tool["name"], "arguments": {}})


def _invalid_calls_of(tool: dict[str, Any]) -> Iterator[InvalidCall]:
    yield _without_arguments(tool)
    schema = tool["inputSchema"]
    try:
        fitting = sample(schema)
    except NoSampleError:
        return
    if not isinstance(fitting, dict):
        return
    # A changed argument that a header repeats would be rejected because of the header.
    repeated = {mark.names[0] for mark in marks_in(schema) if mark.names}
    for name in [name for name in schema["required"] if name not in repeated]:
        for value in _WRONG_VALUES:
            arguments = {**fitting, name: value}
            if validation_errors(schema, arguments):
                yield InvalidCall("wrong-type", {"name": tool["name"], "arguments": arguments})
                break
        else:
            continue
        break
    arguments = {**fitting, "dovetail-check-extra": "dovetail-check"}
    if validation_errors(schema, arguments):
        yield InvalidCall("extra", {"name": tool["name"], "arguments": arguments})
