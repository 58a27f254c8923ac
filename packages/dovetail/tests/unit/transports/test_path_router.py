from __future__ import annotations

import asyncio
import json
from typing import Any

from dovetail import Server
from dovetail.transports.wrappers import PathRouter

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def grove() -> PathRouter:
    apps = {}
    for name in ("oak", "pine"):
        server = Server(name)
        server.tools.add(lambda name=name: f"I am {name}", name="who")
        apps[f"/{name}/mcp"] = server.http_app(f"/{name}/mcp")
    return PathRouter(apps)


async def ask(app: PathRouter, path: str) -> tuple[int, dict[str, Any]]:
    params = {"name": "who", "_meta": META}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "who",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 80),
    }
    sent: list[Any] = []

    coming = [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive() -> Any:
        # The client stays: after its body there is nothing to be told of it.
        return coming.pop() if coming else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


def test_each_path_has_its_server_and_others_have_none() -> None:
    app = grove()

    async def run() -> None:
        for name in ("oak", "pine", "oak"):
            status, said = await ask(app, f"/{name}/mcp")
            assert status == 200
            assert said["result"]["content"][0]["text"] == f"I am {name}"
        assert (await ask(app, "/elm/mcp"))[0] == 404
        # Nothing is said of a server without a guard, but it is that server that says so.
        assert await ask(app, "/.well-known/oauth-protected-resource/oak/mcp") == (
            404,
            {"error": "not found"},
        )
        app.close()

    asyncio.run(run())
