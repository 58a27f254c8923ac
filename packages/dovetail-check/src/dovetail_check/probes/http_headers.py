"""basic/transports/streamable-http: headers that mirror the body."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

from dovetail.spec import keys
from dovetail.spec.revisions import LATEST_LEGACY, Family
from dovetail_check.calls import NO_SUCH_TOOL, valid_calls
from dovetail_check.json_schemas import validation_errors
from dovetail_check.mirrored_params import is_token, marks_in, param_values
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.samples import NoSampleError, sample

__all__: list[str] = []

NO_VERSION = "1900-01-01"
NO_METHOD = "dovetail-check/no-such-method"
OTHER_NAME = "dovetail-check-other"
_DISCOVER = "server/discover"

# variant: changed headers of server/discover
_ON_DISCOVER: dict[str, dict[str, str | None]] = {
    "method-missing": {"Mcp-Method": None},
    "method-mismatch": {"Mcp-Method": "tools/list"},
    "case/value": {"Mcp-Method": "Server/Discover"},
    "case/lower": {"mcp-method": _DISCOVER},
    "case/upper": {"MCP-METHOD": _DISCOVER},
    "version-mismatch": {"MCP-Protocol-Version": LATEST_LEGACY.date},
}


@probe("http-headers", era=Family.MODERN, transports=("http",))
async def send_mismatched_headers(client: ProbeClient) -> None:
    """method-missing, method-mismatch, case/..., version-mismatch: server/discover, see the table.

    version-unsupported: an unknown version in header and body. unknown-method: an unknown method.
    name-missing, name-mismatch, name-base64: Mcp-Name for an existing name; the variant ends in
    `/fake` if the server has none.
    """
    unsupported = {"MCP-Protocol-Version": NO_VERSION}
    await asyncio.gather(
        *(
            client.request(_DISCOVER, headers=headers, variant=variant)
            for variant, headers in _ON_DISCOVER.items()
        ),
        client.request(
            _DISCOVER,
            headers=unsupported,
            meta={keys.PROTOCOL_VERSION: NO_VERSION},
            variant="version-unsupported",
        ),
        client.request(NO_METHOD, variant="unknown-method"),
        _send_wrong_names(client),
    )


class _Named(NamedTuple):
    """A request whose params have a name or URI."""

    method: str
    params: dict[str, Any]
    name: str
    is_fake: bool = False


def _find_named(client: ProbeClient) -> _Named | None:
    """A harmless request with an existing name; otherwise one with an unknown name."""
    for resource in client.catalogue.resources:
        if isinstance(uri := resource.get("uri"), str):
            return _Named("resources/read", {"uri": uri}, uri)
    for prompt in client.catalogue.prompts:
        if isinstance(name := prompt.get("name"), str) and not prompt.get("arguments"):
            return _Named("prompts/get", {"name": name}, name)
    for call in valid_calls(client):
        return _Named("tools/call", call, call["name"])
    if client.has("tools"):
        return _Named("tools/call", {"name": NO_SUCH_TOOL}, NO_SUCH_TOOL, is_fake=True)
    return None


async def _send_wrong_names(client: ProbeClient) -> None:
    named = _find_named(client)
    if named is None:
        return
    wrapped = f"=?base64?{base64.b64encode(named.name.encode()).decode()}?="
    tries = {"name-missing": None, "name-mismatch": OTHER_NAME, "name-base64": wrapped}
    for variant, value in tries.items():
        await client.request(
            named.method,
            named.params,
            headers={"Mcp-Name": value},
            variant=f"{variant}/fake" if named.is_fake else variant,
        )


@probe("http-params", era=Family.MODERN, transports=("http",), needs="tools")
async def send_mismatched_param_headers(client: ProbeClient) -> None:
    """Calls of a tool whose schema mirrors an argument in a header (x-mcp-header).

    fits: header and argument match. missing, mismatch, invalid: the header is missing, differs, or
    has invalid characters. absent: neither argument nor header. number: 42 in the body, 42.0 in
    the header.
    """
    tools = {tool.get("name"): tool.get("inputSchema") for tool in client.catalogue.tools}
    for call in valid_calls(client):
        schema, arguments = tools[call["name"]], call["arguments"]
        values = param_values(schema, arguments)
        whole = {**call, "arguments": _with_marked(schema, arguments)}
        for header in param_values(schema, whole["arguments"]):
            await _send_wrong_params(client, whole, header)
        marks = [mark for mark in marks_in(schema) if is_token(mark.value)]
        if len(values) < len(marks):
            await client.request("tools/call", call, variant="absent")
        for mark in marks:
            if mark.names is not None and len(mark.names) == 1 and _accepts_42(mark.schema):
                given = {**call, "arguments": {**arguments, mark.names[0]: 42}}
                headers = {f"Mcp-Param-{mark.value}": "42.0"}
                await client.request("tools/call", given, headers=headers, variant="number")


def _with_marked(schema: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, and all optional ones that a header repeats."""
    whole = dict(arguments)
    for mark in marks_in(schema):
        if mark.names is None or len(mark.names) != 1 or mark.names[0] in whole:
            continue
        try:
            more = {**whole, mark.names[0]: sample(mark.schema)}
        except NoSampleError:
            continue
        whole = whole if validation_errors(schema, more) else more
    return whole


async def _send_wrong_params(client: ProbeClient, call: Mapping[str, Any], header: str) -> None:
    tries = {"missing": None, "mismatch": OTHER_NAME, "invalid": "\u017elu\u0165"}
    await client.request("tools/call", call, variant="fits")
    for variant, value in tries.items():
        await client.request("tools/call", call, headers={header: value}, variant=variant)


def _accepts_42(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    others = schema.keys() - {"type", "title", "description", "default", "x-mcp-header"}
    return not others and (kind == "integer" or (isinstance(kind, list) and "integer" in kind))
