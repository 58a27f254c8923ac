"""The server of the measurements; the environment says what is around a call."""

from __future__ import annotations

import os

from dovetail import Options, Server
from dovetail.auth import Guard, Limits, Rate

# So high that nothing is refused: what counts is what the limit costs.
_LIMITS = Limits(total=Rate(1_000_000, per=1))

server = Server(
    "bench",
    options=Options(
        state=os.environ.get("BENCH_CLUSTER"), state_keys=[b"the key of the benchmark" * 2]
    ),
    guard=Guard(limits=_LIMITS) if os.environ.get("BENCH_LIMITS") else None,
)


@server.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
