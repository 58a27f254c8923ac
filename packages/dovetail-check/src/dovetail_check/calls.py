"""Tool calls for probes: calls with valid arguments, and calls that the server must reject.

Both go only to tools that may be called: a tool without annotations is destructive by default, and
it may not validate its arguments. The safety policy checks each call again before it is sent.
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
_MAX_INVALID = 6

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
    """Return calls whose arguments do not match the schema: missing, wrong-type, extra, list."""
    return [
        call for tool in client.callable_tools()[:_MAX_INVALID] for call in _invalid_calls_of(tool)
    ]


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


def _invalid_calls_of(tool: dict[str, Any]) -> Iterator[InvalidCall]:
    name, schema = tool.get("name"), tool.get("inputSchema")
    if not isinstance(name, str) or not isinstance(schema, dict):
        return
    if _requires_something(tool):
        yield InvalidCall("missing", {"name": name, "arguments": {}})
    yield InvalidCall("list", {"name": name, "arguments": ["dovetail-check"]})
    try:
        fitting = sample(schema)
    except NoSampleError:
        return
    if not isinstance(fitting, dict):
        return
    # A changed argument that a header repeats would be rejected because of the header.
    repeated = {mark.names[0] for mark in marks_in(schema) if mark.names}
    wrong = [
        {**fitting, name: value}
        for name in _mapping(schema.get("properties"))
        if name not in repeated
        for value in _WRONG_VALUES
    ]
    for arguments in [one for one in wrong if validation_errors(schema, one)][:1]:
        yield InvalidCall("wrong-type", {"name": name, "arguments": arguments})
    arguments = {**fitting, "dovetail-check-extra": "dovetail-check"}
    if validation_errors(schema, arguments):
        yield InvalidCall("extra", {"name": name, "arguments": arguments})
