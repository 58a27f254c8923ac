"""`build_gateway`: a server with all upstreams mounted in it."""

from __future__ import annotations

from dataclasses import asdict

from dovetail import Options, Server
from dovetail_gateway.config import GatewayConfig
from dovetail_gateway.proxy import Proxy
from dovetail_gateway.tool_search import ToolSearch

__all__ = ["build_gateway"]


def build_gateway(config: GatewayConfig, *, options: Options | None = None) -> Server:
    """Return a server with the upstreams mounted in it; raises UsageError.

    It connects when it is started, and tries again while an upstream is unavailable.
    """
    search = None if config.search is None else ToolSearch(**asdict(config.search))
    server = Server(
        **asdict(config.server), guard=config.guard.build(), options=options, tool_search=search
    )
    for name, entry in config.upstreams.items():
        proxy = Proxy(
            name=name,
            options=Options(timeout=entry.timeout),
            connect_timeout=entry.connect_timeout,
            eager=True,
            **entry.connect_options(),
        )
        server.mount(
            proxy,
            config.prefix_of(name),
            include=entry.include,
            exclude=entry.exclude,
            tools=entry.tools,
        )
    return server
