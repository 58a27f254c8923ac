"""The contract: what the checker never does to a server it is pointed at.

By default it calls only tools that say of themselves that they are read-only, and on URLs of
other machines none at all. A call that must be refused is sent only where it cannot succeed: its
arguments break the tool's own schema. Everything that goes out passes through here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from dovetail.errors import UsageError
from dovetail_check.json_schemas import misfits

__all__ = ["SafetyPolicy", "UnsafeProbeError", "is_loopback"]


class UnsafeProbeError(Exception):
    """A probe wanted to send what the contract forbids: a fault of the checker."""


class SafetyPolicy:
    """What may be called: nothing, read-only tools, or those named."""

    def __init__(self, calls: str, *, is_local: bool) -> None:
        """`calls` is none, readonly, allow=NAME,..., or empty for the default."""
        self.calls = calls or ("readonly" if is_local else "none")
        self._named: Collection[str] = ()
        if self.calls.startswith("allow="):
            self._named = self.calls.removeprefix("allow=").split(",")
        elif self.calls not in ("none", "readonly"):
            raise UsageError(f"--calls takes none, readonly or allow=NAME,..., got {calls!r}")

    def may_call(self, tool: Mapping[str, Any]) -> bool:
        """Whether the tool may be called with arguments that fit."""
        if tool.get("name") in self._named:
            return True
        annotations = tool.get("annotations")
        is_read_only = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
        return self.calls != "none" and is_read_only

    def may_refuse(self, tool: Mapping[str, Any], arguments: Any) -> bool:
        """Whether a call that must be refused may be sent: its schema says it cannot succeed."""
        return self.calls != "none" and not _fits(tool.get("inputSchema"), arguments)

    def check_call(self, tools: Collection[Mapping[str, Any]], params: Mapping[str, Any]) -> None:
        """Raise UnsafeProbeError unless this tools/call may go out."""
        name, arguments = params.get("name"), params.get("arguments", {})
        for tool in tools:
            if tool.get("name") == name and not (
                self.may_call(tool) or self.may_refuse(tool, arguments)
            ):
                raise UnsafeProbeError(f"--calls {self.calls} does not allow to call {name!r}")


def _fits(schema: Any, value: Any) -> bool:
    """Whether a call might succeed; where the schema cannot be read, it might."""
    if not isinstance(schema, dict) or not schema.get("required"):
        return True
    # An empty list fits; None is a schema that cannot be read, or could only be over the network.
    return not misfits(schema, value)


def is_loopback(url: str) -> bool:
    """Whether a URL is on this machine; one that cannot be read is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
