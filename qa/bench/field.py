"""Who takes part, and with what."""

from __future__ import annotations

from typing import NamedTuple

from qa.bench.environments import ROOT, python_of
from qa.bench.messages import ERAS, Era

__all__ = ["FIELD", "FLOOR", "OURS", "Contestant"]


class Contestant(NamedTuple):
    """A server that everybody's client can start."""

    key: str
    title: str
    environment: str
    # The name under contestants/ behind `with_` and `in_process_`.
    module: str
    eras: tuple[Era, ...] = ERAS
    # What it offers in process.
    in_process: str = "in-memory client"
    # Whether BENCH_CONCURRENCY means anything to it.
    is_limited: bool = False

    @property
    def command(self) -> list[str]:
        """Starts it on stdio, as `python file.py`."""
        file = ROOT / "qa" / "bench" / "contestants" / f"with_{self.module}.py"
        return [str(python_of(self.environment)), str(file)]

    def in_process_command(self, flavour: str = "") -> list[str]:
        """Starts its in-process loop."""
        module = f"qa.bench.contestants.in_process_{self.module}{flavour}"
        return [str(python_of(self.environment)), "-m", module]


OURS = Contestant(
    "dovetail", "dovetail", "bench-dovetail", "dovetail", in_process="handle", is_limited=True
)
FLOOR = Contestant(
    "floor", "floor: msgspec alone", "bench-dovetail", "msgspec", in_process="a function"
)
FIELD = (
    OURS,
    Contestant("mcp", "mcp MCPServer", "bench-mcp", "mcp"),
    Contestant("mcp-low", "mcp low-level Server", "bench-mcp", "mcp_lowlevel"),
    Contestant("fastmcp", "FastMCP", "bench-fastmcp", "fastmcp"),
    Contestant(
        "minimcp",
        "MiniMCP",
        "minimcp",
        "minimcp",
        eras=("legacy",),
        in_process="handle",
        is_limited=True,
    ),
)
