"""Servers in front of other servers: proxies, gateways from a file, and tool search.

`build_gateway(read_gateway("gateway.toml"))` returns a server like any other.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dovetail.auth import GuardSettings
    from dovetail_gateway.building import build_gateway
    from dovetail_gateway.checking import UpstreamReport, check_upstreams
    from dovetail_gateway.config import (
        GatewayConfig,
        GatewayConfigError,
        SearchSettings,
        ServerSettings,
        UpstreamEntry,
    )
    from dovetail_gateway.files import read_gateway
    from dovetail_gateway.proxy import Proxy
    from dovetail_gateway.tool_search import ToolSearch

__all__ = [
    "GatewayConfig",
    "GatewayConfigError",
    "GuardSettings",
    "Proxy",
    "SearchSettings",
    "ServerSettings",
    "ToolSearch",
    "UpstreamEntry",
    "UpstreamReport",
    "build_gateway",
    "check_upstreams",
    "read_gateway",
]

# Imported on first use: a server with tool search needs neither the client nor the proxy.
_MODULES = {
    "Proxy": "proxy",
    "ToolSearch": "tool_search",
    "UpstreamReport": "checking",
    "build_gateway": "building",
    "check_upstreams": "checking",
    "read_gateway": "files",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in __all__:
        raise AttributeError(f"module 'dovetail_gateway' has no attribute {name!r}")
    module = _importlib.import_module(f"dovetail_gateway.{_MODULES.get(name, 'config')}")
    return getattr(module, name)
