"""A guarded notes server that runs in a separate process.

usage: python notes_server.py SETUP (a JSON object; see `main`)

All log output goes to stderr, so that tests can check that it has no secrets.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

from dovetail import Context, Server, ToolAnnotations
from dovetail.auth import ApiKeys, Authenticator, Guard, Introspection, Limits, OAuth, Rate
from dovetail.observability import AuditLog, Metrics, Traces
from dovetail.transports.http_server import bind, serve_http

server = Server("notes", version="1.0.0")
_READS = ToolAnnotations(read_only_hint=True)


@server.tool(annotations=_READS)
async def who(ctx: Context) -> dict[str, Any]:
    """Who calls."""
    principal = ctx.principal
    if principal is None:
        return {"id": None, "scopes": []}
    return {"id": principal.id, "scopes": sorted(principal.scopes)}


@server.tool(annotations=_READS, scopes={"notes:read"})
async def read_note(title: str) -> str:
    """Read a note."""
    return f"the note {title}"


@server.tool(scopes={"notes:read", "notes:write"})
async def write_note(title: str, text: str) -> str:
    """Write a note."""
    return f"wrote {len(text)} to {title}"


@server.tool(scopes={"notes:admin"})
async def burn_everything() -> str:
    """Not for everybody."""
    return "burnt"


@server.prompt(scopes={"notes:admin"})
def confess() -> str:
    """Not for everybody."""
    return "Say everything"


@server.resource("notes://open")
def open_note() -> str:
    """For everybody."""
    return "open"


@server.resource("notes://secret", scopes={"notes:admin"})
def secret_note() -> str:
    """Not for everybody."""
    return "secret"


def make_traces(path: str) -> Traces:
    """Traces that are exported to a file."""
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - slow to import
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415
        ConsoleSpanExporter,
        SimpleSpanProcessor,
    )

    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=open(path, "a"))  # noqa: SIM115 - until the process ends
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Traces(provider)


def make_guard(setup: dict[str, Any], url: str) -> Guard:
    authenticators: list[Authenticator] = []
    if "keys" in setup:
        authenticators.append(ApiKeys(setup["keys"], header="X-Api-Key", look_every=0))
    if "issuer" in setup:
        asks = setup.get("opaque")
        authenticators.append(
            OAuth(
                setup["issuer"],
                url,
                scopes={"notes:read"},
                step_up={"notes:write"},
                introspection=Introspection("resource-server", "resource-server-secret")
                if asks
                else None,
                **setup.get("oauth", {}),
            )
        )
    rate = setup.get("rate")
    return Guard(
        *authenticators,
        limits=None if rate is None else Limits(per_principal=Rate(*rate[:1], burst=rate[1])),
        audit=AuditLog(setup["audit"], arguments="redacted") if "audit" in setup else None,
        metrics=Metrics(),
        middleware=[make_traces(setup["traces"])] if "traces" in setup else [],
        health=True,
    )


async def main(setup: dict[str, Any]) -> None:
    listener = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"

    def ready(port: int) -> None:
        sys.stdout.write(json.dumps({"ready": url}) + "\n")
        sys.stdout.flush()

    await serve_http(
        server, listener=listener, guard=make_guard(setup, url), on_ready=ready, old_sse="/sse"
    )


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    asyncio.run(main(json.loads(sys.argv[1])))
