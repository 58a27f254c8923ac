"""Calls of tools that may be sent: those that fit, and those that must be refused.

The policy has the last word on each of them; here is decided what is worth sending. Tools that
may not be called are left alone wherever another tool shows the same; where there is none, they
get no arguments at all although they require some, and never if they say they are destructive.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail_check.json_schemas import misfits
from dovetail_check.mirrored_params import marks_in
from dovetail_check.probe_client import ProbeClient
from dovetail_check.safety import UnsafeProbeError
from dovetail_check.samples import NoSampleError, sample

__all__ = ["NO_SUCH_TOOL", "Refusal", "fitting_calls", "may_go", "refusals"]

NO_SUCH_TOOL = "dovetail-check-no-such-tool"
# More tools of a server show the same again.
MOST_TOOLS = 8
_MOST_REFUSED = 3

# Values of every type: one of them is not of the type that is due.
_STRANGERS: tuple[Any, ...] = (["dovetail-check"], {"dovetail-check": True}, "dovetail-check", 0.5)


class Refusal(NamedTuple):
    """A call that must be refused: what is wrong with it, and its params."""

    fault: str
    params: dict[str, Any]


def fitting_calls(client: ProbeClient, most: int = MOST_TOOLS) -> list[dict[str, Any]]:
    """The params of one call for each tool that may be called, as far as arguments are found."""
    found = []
    for tool in client.callable_tools():
        try:
            arguments = sample(tool.get("inputSchema"))
        except NoSampleError:
            continue
        if isinstance(arguments, dict) and isinstance(tool.get("name"), str):
            found.append({"name": tool["name"], "arguments": arguments})
    return found[:most]


def refusals(client: ProbeClient) -> list[Refusal]:
    """Calls whose arguments break the schema of their tool: missing, wrong-type, extra."""
    safe = [tool for tool in client.callable_tools() if _requires_something(tool)]
    if safe:
        return [refusal for tool in safe[:_MOST_REFUSED] for refusal in _spoiled(tool)]
    if not client.revision.tool_annotations:
        # Nobody can say here that a tool is destructive; the other revisions show the same.
        return []
    others = [tool for tool in client.catalogue.tools if _may_be_refused(client, tool)]
    return [_without_arguments(tool) for tool in others[:_MOST_REFUSED]]


def may_go(client: ProbeClient, params: dict[str, Any]) -> bool:
    """Whether the policy lets a call out; a server may list tools that have no name either."""
    try:
        client.at.policy.check_call(client.catalogue.tools, params)
    except UnsafeProbeError:
        return False
    return True


def _requires_something(tool: dict[str, Any]) -> bool:
    """Whether a call without arguments cannot succeed."""
    schema = tool.get("inputSchema")
    if not isinstance(tool.get("name"), str) or not isinstance(schema, dict):
        return False
    required, properties = schema.get("required"), schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    # Some libraries call a parameter required although they fill in its default.
    needed = [
        name
        for name in (required if isinstance(required, list) else ())
        if isinstance(name, str) and "default" not in _mapping(properties.get(name))
    ]
    return bool(needed) and bool(misfits(schema, {}))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _may_be_refused(client: ProbeClient, tool: dict[str, Any]) -> bool:
    annotations = tool.get("annotations")
    is_destructive = isinstance(annotations, dict) and annotations.get("destructiveHint") is True
    # Every tool of that name must be one that refuses.
    twins = [other for other in client.catalogue.tools if other.get("name") == tool.get("name")]
    return not is_destructive and all(
        _requires_something(twin) and client.at.policy.may_refuse(twin, {}) for twin in twins
    )


def _without_arguments(tool: dict[str, Any]) -> Refusal:
    return Refusal("missing", {"name": tool["name"], "arguments": {}})


def _spoiled(tool: dict[str, Any]) -> Iterator[Refusal]:
    yield _without_arguments(tool)
    schema = tool["inputSchema"]
    try:
        fitting = sample(schema)
    except NoSampleError:
        return
    if not isinstance(fitting, dict):
        return
    # An argument that a header repeats is refused for its header before it is looked at.
    repeated = {mark.names[0] for mark in marks_in(schema) if mark.names}
    for name in [name for name in schema["required"] if name not in repeated]:
        for value in _STRANGERS:
            arguments = {**fitting, name: value}
            if misfits(schema, arguments):
                yield Refusal("wrong-type", {"name": tool["name"], "arguments": arguments})
                break
        else:
            continue
        break
    arguments = {**fitting, "dovetail-check-extra": "dovetail-check"}
    if misfits(schema, arguments):
        yield Refusal("extra", {"name": tool["name"], "arguments": arguments})
