"""The shutdown of an application with an MCP endpoint inside."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from dovetail import Options, Server
from dovetail.client import Client
from dovetail.errors import RpcError, TransportError
from dovetail.transports.http_server import bind, serve_app
from dovetail.transports.wrappers import OuterApp
from tests.patience import CAP


# Old versions of uvicorn use the deprecated part of websockets, if that library is installed.
@pytest.mark.filterwarnings("ignore:websockets:DeprecationWarning")
def test_requests_of_all_routes_end_with_the_grace_period() -> None:
    server = Server("shop", options=Options(grace=0.01))
    begun: asyncio.Queue[str] = asyncio.Queue()

    @server.tool
    async def wait() -> None:
        begun.put_nowait("tool")
        await asyncio.Event().wait()

    async def endless(request: Request) -> PlainTextResponse:
        begun.put_nowait("route")
        await asyncio.Event().wait()
        return PlainTextResponse("never")

    app = server.http_app()
    site = Starlette(routes=[Route("/endless", endless), Mount("/tools", app)])

    async def run() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        outer = OuterApp(site, [app])
        serving = asyncio.create_task(
            serve_app(outer, [server], bind("127.0.0.1", 0), on_ready=ready.set_result)
        )
        async with asyncio.timeout(CAP):
            await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
            assert not serving.done(), serving
            url = f"http://127.0.0.1:{ready.result()}"
            async with httpx.AsyncClient(timeout=CAP) as plain:
                asking = asyncio.create_task(plain.get(f"{url}/endless"))
                client = Client(f"{url}/tools/mcp", mode="modern", timeout=CAP)
                async with client:
                    calling = asyncio.create_task(client.call("wait"))
                    assert {await begun.get(), await begun.get()} == {"tool", "route"}
                    serving.cancel()
                    assert (await asking).status_code == 503
                    with pytest.raises((RpcError, TransportError)):
                        await calling
            await asyncio.wait([serving])

    asyncio.run(run())
