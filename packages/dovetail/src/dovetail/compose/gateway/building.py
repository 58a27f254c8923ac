"""`build_gateway`: a server with all upstreams mounted in it."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any, TypedDict

from dovetail.client.http_auth import Auth
from dovetail.compose.gateway.config import (
    GatewayConfig,
    GatewayConfigError,
    GuardSettings,
    UpstreamEntry,
)
from dovetail.compose.proxy import Proxy
from dovetail.core.options import Options
from dovetail.errors import UsageError
from dovetail.guard.guard import Guard
from dovetail.guard.settings import make_guard
from dovetail.server import Server

__all__ = ["Reach", "build_gateway", "reach"]


class Reach(TypedDict):
    """The arguments of `Client` and `Proxy` that say how to connect."""

    target: dict[str, Any]
    env: dict[str, str]
    cwd: str | None
    headers: dict[str, str]
    auth: Auth | None


def build_gateway(config: GatewayConfig, *, options: Options | None = None) -> Server:
    """Return a server with the upstreams mounted; raises GatewayConfigError with all problems.

    It connects when it is started, and is complete as soon as the upstreams have answered.
    """
    problems: list[str] = []
    guard: Guard | None = None
    try:
        if config.guard != GuardSettings():
            guard = make_guard(**asdict(config.guard))
    except UsageError as error:
        problems.append(f"guard: {error}")
    server = Server(**asdict(config.server), guard=guard, options=options)
    for name, entry in config.upstreams.items():
        try:
            proxy = Proxy(
                name=name, connect_timeout=entry.connect_timeout, eager=True, **reach(entry)
            )
            server.mount(
                proxy,
                config.prefix_of(name),
                include=entry.include,
                exclude=entry.exclude,
                tools=entry.tools,
            )
        except UsageError as error:
            problems.append(f"upstreams.{name}: {error}")
    if problems:
        raise GatewayConfigError("the gateway", problems)
    return server


def reach(entry: UpstreamEntry) -> Reach:
    """Return how to connect to an upstream; raises UsageError."""
    headers = dict(entry.headers)
    if entry.token_env is not None:
        token = os.environ.get(entry.token_env)
        if not token:
            raise UsageError(f"the environment variable {entry.token_env!r} is not set")
        headers["Authorization"] = f"Bearer {token}"
    auth: Auth | None = None
    if entry.auth == "login":
        from dovetail.client.auth import OAuth  # noqa: PLC0415 - most upstreams do not need it

        # The login of `dovetail login`: a gateway has nobody to ask.
        auth = OAuth(interactive=False)
    target: dict[str, Any] = (
        {"url": entry.url}
        if entry.url is not None
        else {"command": entry.command, "args": entry.args}
    )
    return Reach(target=target, env=dict(entry.env), cwd=entry.cwd, headers=headers, auth=auth)
