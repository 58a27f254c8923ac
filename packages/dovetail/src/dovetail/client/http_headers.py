"""Headers that mirror the body of a modern request, for proxies that do not parse bodies.

The `inputSchema` of a tool says which arguments are mirrored, so this module remembers the tool
lists it sees. Pages: 2026-07-28 basic/transports/streamable-http, server/tools.
"""

from __future__ import annotations

import base64
import functools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.errors import UsageError
from dovetail.spec import keys
from dovetail.spec.header_params import KEYWORD, HeaderParams, find_headers, value_at
from dovetail.spec.methods import methods_at
from dovetail.spec.revisions import MODERN, find_revision
from dovetail.wire import codec

__all__ = ["ToolHeaders", "check_own_headers", "encode_value", "mirror_request"]

logger: logging.Logger = logging.getLogger("dovetail")

_PREFIX = "=?base64?"
_SUFFIX = "?="
_BLANKS = " \t"
_KEYWORD = KEYWORD.encode()

# Headers that the client sets itself.
_RESERVED = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "transfer-encoding",
    }
)
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


class _Page(Struct):
    tools: list[dict[str, Any]]


def check_own_headers(headers: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """Validate the user's headers; raises UsageError for an invalid or reserved one."""
    for name, value in headers.items():
        if not isinstance(name, str) or not name or not set(name.lower()) <= _TOKEN:
            raise UsageError(f"{name!r} is not a valid header name")
        if name.lower() in _RESERVED or name.lower().startswith("mcp-param-"):
            raise UsageError(f"The header {name} is set by the client; remove it")
        # The message does not show the value, which is likely a secret.
        if not isinstance(value, str) or not _is_plain(value):
            raise UsageError(f"The value of the header {name} must be printable ASCII text")
    return tuple(headers.items())


def encode_value(text: str) -> str:
    """Encode a string as a header value, in base64 if it is not plain ASCII."""
    looks_encoded = text.startswith(_PREFIX) and text.endswith(_SUFFIX)
    if _is_plain(text) and not looks_encoded:
        return text
    return _PREFIX + base64.b64encode(text.encode()).decode() + _SUFFIX


def _is_plain(text: str) -> bool:
    visible = text.isascii() and text.replace("\t", " ").isprintable()
    return visible and text == text.strip(_BLANKS)


def mirror_request(
    method: str, params: Mapping[str, Any] | None, tools: ToolHeaders
) -> list[tuple[str, str]] | None:
    """The headers that mirror a modern request; None for a legacy request.

    Only modern requests have the protocol version in their metadata. Arguments may be encoded.
    """
    meta = None if params is None else params.get("_meta")
    version = meta.get(keys.PROTOCOL_VERSION) if isinstance(meta, Mapping) else None
    if params is None or not isinstance(version, str):
        return None
    headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method)]
    mirrored = _find_mirrored(version, method)
    # The server reports a value of another type.
    if mirrored is not None and isinstance(value := params.get(mirrored), str):
        # An enum member is formatted in another way than it is encoded.
        name = str.__str__(value)
        headers.append(("Mcp-Name", encode_value(name)))
        if method == "tools/call":
            headers.extend(tools.mirror(name, params.get("arguments")))
    return headers


@functools.lru_cache(maxsize=256)
def _find_mirrored(version: str, method: str) -> str | None:
    """The param that is mirrored, if there is one."""
    spec = methods_at(find_revision(version) or MODERN[-1]).get(method)
    return None if spec is None else spec.mirrored


class ToolHeaders:
    """The listed tools that mirror arguments in headers."""

    def __init__(self) -> None:
        self._known: dict[str, HeaderParams] = {}

    def mirror(self, name: str, arguments: Any) -> Iterator[tuple[str, str]]:
        """The headers that mirror the arguments of one call."""
        known = self._known.get(name)
        if not known:
            return
        # The values as they are sent: arguments may be of types that JSON does not have.
        given = codec.decode_json(codec.encode(arguments))
        for path, header in known:
            text = _to_text(value_at(path, given))
            if text is not None:
                yield f"Mcp-Param-{header}", encode_value(text)

    def params_of(self, name: str) -> HeaderParams:
        """The arguments of a tool that are mirrored."""
        return self._known.get(name, ())

    def learn(self, result: Raw) -> bytes | None:
        """Remember a page of tools; returns the page without invalid tools, if it has any."""
        if _KEYWORD not in bytes(result) and not self._known:
            return None
        try:
            tools = codec.decode_as(_Page, result).tools
        except msgspec.ValidationError:
            # The caller decodes the page too, and reports the problem.
            return None
        valid = [tool for tool in tools if self._take(tool)]
        if len(valid) == len(tools):
            return None
        return codec.encode({**codec.decode_json(result), "tools": valid})

    def _take(self, tool: dict[str, Any]) -> bool:
        name, schema = tool.get("name"), tool.get("inputSchema")
        if not isinstance(name, str) or not isinstance(schema, dict):
            return True
        self._known.pop(name, None)
        try:
            _check_shape(schema)
            found = find_headers(schema, name)
        except (UsageError, RecursionError) as error:
            # One invalid tool must not make the others unusable.
            logger.warning("ignored the tool %r, its %s is invalid: %s", name, KEYWORD, error)
            return False
        if found:
            self._known[name] = found
        return True


def _check_shape(schema: dict[str, Any]) -> None:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise UsageError("'properties' is not an object")
    for field in properties.values():
        if isinstance(field, dict):
            _check_shape(field)


def _to_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else None
