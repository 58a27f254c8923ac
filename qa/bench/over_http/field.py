"""Who takes part over HTTP, and in which of its ways.

A peer that offers several ways (a session or none, a stream of events or plain JSON) appears
with all of them. The ratios use the one that turns out to be its fastest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from qa.bench.environments import python_of
from qa.bench.messages import Era

__all__ = ["BARE", "OURS", "OURS_RUN", "SERVED", "WAYS", "Launch", "Way"]

# One worker each. `--no-server-header` because dovetail's own runner sends none; the rest is
# what makes uvicorn fast, and the same for all.
_UVICORN = (
    *("--loop", "uvloop", "--http", "httptools", "--ws", "none"),
    *("--log-level", "error", "--no-access-log", "--no-server-header"),
)


class Launch(NamedTuple):
    """How a server process is started."""

    environment: str
    # The name under contestants/ behind `http_`; "" for dovetail's own command line.
    module: str
    # Keywords of the function that makes the application, as name and value.
    options: tuple[tuple[str, Any], ...] = ()
    lifespan: str = "on"

    def command(self, port: int) -> list[str]:
        """The command line."""
        python = python_of(self.environment)
        if not self.module:
            file = "qa/bench/contestants/with_dovetail.py"
            return [str(python.with_name("dovetail")), "run", file, "--http", str(port)]
        app = f"qa.bench.contestants.http_{self.module}:app"
        address = ("--host", "127.0.0.1", "--port", str(port), "--lifespan", self.lifespan)
        return [str(python), "-m", "uvicorn", app, *_UVICORN, *address]


class Way(NamedTuple):
    """One way of one contestant to serve one era."""

    contestant: str
    title: str
    how: str
    era: Era
    launch: Launch
    has_session: bool = False

    @property
    def name(self) -> str:
        """As the tables show it."""
        return f"{self.title}, {self.how}" if self.how else self.title


BARE = "bare"
OURS = "dovetail"
OURS_RUN = "dovetail-run"
# How dovetail is served: by its own command, and as any application that is mounted in uvicorn.
SERVED = ((OURS_RUN, "dovetail run"), (OURS, "mounted"))

_OURS = Launch("bench-dovetail", "dovetail")
_OURS_STATELESS = Launch("bench-dovetail", "dovetail", (("stateless", True),))
_OURS_RUN = Launch("bench-dovetail", "")
_JSON = (("json_response", True),)
_STATELESS = (("json_response", True), ("stateless_http", True))


def _bare(era: Era) -> Way:
    # One process for each era: its answer is fixed when it starts.
    launch = Launch("bench-dovetail", "bare", (("era", era),), lifespan="off")
    return Way(BARE, "bare ASGI app", "", era, launch)


def _default_ways(contestant: str, title: str, environment: str, module: str) -> tuple[Way, ...]:
    """What the SDK and FastMCP do unless told otherwise: legacy answers are streams of events."""
    launch = Launch(environment, module)
    return (
        Way(contestant, title, "session (default)", "legacy", launch, has_session=True),
        Way(contestant, title, "default", "modern", launch),
    )


def _json_ways(contestant: str, title: str, environment: str, module: str) -> tuple[Way, ...]:
    """What both recommend where nothing has to be streamed: plain JSON, without a session too."""
    plain = Launch(environment, module, _JSON)
    stateless = Launch(environment, module, _STATELESS)
    return (
        Way(contestant, title, "session, json_response", "legacy", plain, has_session=True),
        Way(contestant, title, "stateless, json_response", "legacy", stateless),
        Way(contestant, title, "json_response", "modern", plain),
    )


# The bare application stands right before dovetail: the two are compared within a round.
WAYS = (
    _bare("legacy"),
    Way(OURS, "dovetail", "session", "legacy", _OURS, has_session=True),
    _bare("modern"),
    Way(OURS, "dovetail", "", "modern", _OURS),
    Way("dovetail-stateless", "dovetail", "stateless", "legacy", _OURS_STATELESS),
    Way(OURS_RUN, "dovetail run --http", "session", "legacy", _OURS_RUN, has_session=True),
    Way(OURS_RUN, "dovetail run --http", "", "modern", _OURS_RUN),
    *_default_ways("mcp", "mcp MCPServer", "bench-mcp", "mcp"),
    *_json_ways("mcp", "mcp MCPServer", "bench-mcp", "mcp"),
    *_json_ways("mcp-low", "mcp low-level Server", "bench-mcp", "mcp_lowlevel"),
    *_default_ways("fastmcp", "FastMCP", "bench-fastmcp", "fastmcp"),
    *_json_ways("fastmcp", "FastMCP", "bench-fastmcp", "fastmcp"),
    *(
        Way(
            "minimcp",
            "MiniMCP",
            transport,
            "legacy",
            Launch("minimcp", "minimcp", (("streamable", streamable),), lifespan="auto"),
        )
        for transport, streamable in (("HTTPTransport", False), ("StreamableHTTPTransport", True))
    ),
)
