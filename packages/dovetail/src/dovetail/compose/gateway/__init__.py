"""A gateway: many servers behind one, described by a file.

`build_gateway(read_gateway("gateway.toml"))` returns a server like any other.
"""

from dovetail.compose.gateway.building import build_gateway
from dovetail.compose.gateway.checking import UpstreamReport, check_upstreams
from dovetail.compose.gateway.config import (
    GatewayConfig,
    GatewayConfigError,
    GuardSettings,
    SearchSettings,
    ServerSettings,
    UpstreamEntry,
)
from dovetail.compose.gateway.files import read_gateway

__all__ = [
    "GatewayConfig",
    "GatewayConfigError",
    "GuardSettings",
    "SearchSettings",
    "ServerSettings",
    "UpstreamEntry",
    "UpstreamReport",
    "build_gateway",
    "check_upstreams",
    "read_gateway",
]
