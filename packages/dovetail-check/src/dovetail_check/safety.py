"""The safety policy: which tools the checker may call.

By default it calls only tools with `readOnlyHint`, and none on URLs of other machines. That
includes invalid calls: a server may run a tool although its arguments do not match the schema, and
a tool without annotations is destructive by default. Every tools/call passes `check_call`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from dovetail.errors import UsageError

__all__ = ["SafetyPolicy", "UnsafeProbeError", "is_loopback"]


class UnsafeProbeError(Exception):
    """A probe tried a call that the policy forbids: an error in the checker."""


class SafetyPolicy:
    """Decides which tools may be called."""

    def __init__(self, calls: str, *, is_local: bool) -> None:
        """`calls` is none, readonly, allow=NAME,..., or empty for the default."""
        self.calls = calls or ("readonly" if is_local else "none")
        self._named: Collection[str] = ()
        if self.calls.startswith("allow="):
            self._named = self.calls.removeprefix("allow=").split(",")
        elif self.calls not in ("none", "readonly"):
            raise UsageError(f"--calls must be none, readonly or allow=NAME,...; got {calls!r}")

    def may_call(self, tool: Mapping[str, Any]) -> bool:
        """Whether the tool may be called with valid arguments."""
        if tool.get("name") in self._named:
            return True
        annotations = tool.get("annotations")
        is_read_only = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
        return self.calls != "none" and is_read_only

    def check_call(self, tools: Collection[Mapping[str, Any]], params: Mapping[str, Any]) -> None:
        """Raise UnsafeProbeError if the policy forbids this tools/call."""
        name = params.get("name")
        for tool in tools:
            if tool.get("name") == name and not self.may_call(tool):
                raise UnsafeProbeError(f"--calls {self.calls} does not allow a call of {name!r}")


def is_loopback(url: str) -> bool:
    """Whether a URL points to this machine; False if it is malformed."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
