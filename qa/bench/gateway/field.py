"""The gateways that take part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from qa.bench.environments import python_of
from qa.bench.messages import Era

__all__ = ["DIRECT", "GATEWAYS", "Gateway", "adder_command"]

_HERE = Path(__file__).parent


def adder_command(port: int | None = None) -> list[str]:
    """Starts the server behind the gateways, on stdio without a port."""
    words = [str(python_of("bench-dovetail")), "-m", "dovetail", "run", str(_HERE / "adder.py")]
    return words if port is None else [*words, "--http", f"127.0.0.1:{port}"]


class Gateway(NamedTuple):
    """A way to the server."""

    title: str
    # The era of the client.
    era: Era
    # The command for a port; None is the server itself.
    command: Callable[[int], list[str]] | None
    # The era towards the server, for gateways that can choose.
    upstream: str = "auto"


def _dovetail(port: int) -> list[str]:
    file = str(_HERE / "front_dovetail.py")
    python = str(python_of("bench-dovetail"))
    return [python, "-m", "dovetail", "run", file, "--http", f"127.0.0.1:{port}"]


def _fastmcp(port: int) -> list[str]:
    return [str(python_of("bench-fastmcp")), str(_HERE / "front_fastmcp.py")]


def _mcp_proxy(port: int) -> list[str]:
    program = python_of("bench-mcp-proxy").with_name("mcp-proxy")
    options = ["--port", str(port), "--log-level", "ERROR", "--pass-environment", "--"]
    return [str(program), *options, *adder_command()]


DIRECT = {era: Gateway("no gateway", era, None) for era in ("modern", "legacy")}
GATEWAYS = (
    *DIRECT.values(),
    Gateway("dovetail Proxy to a modern server", "modern", _dovetail, "modern"),
    Gateway("dovetail Proxy to a legacy server", "modern", _dovetail, "legacy"),
    Gateway("dovetail Proxy to a modern server", "legacy", _dovetail, "modern"),
    Gateway("dovetail Proxy to a legacy server", "legacy", _dovetail, "legacy"),
    Gateway("FastMCP create_proxy", "modern", _fastmcp),
    # It starts the server itself, on stdio.
    Gateway("mcp-proxy", "legacy", _mcp_proxy),
)
