"""A server whose tools do what a transport has to cope with."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

from dovetail import Context, Server
from dovetail.core.principal import Principal
from dovetail.spec.header_params import Header
from dovetail.transports.streamable_http.app import HttpApp
from tests.unit.transports.streamable_http.asgi_client import Client


@dataclass
class Choice:
    name: str


class Workshop:
    """The server, its application, and the moments at which its tools wait."""

    def __init__(self, app: dict[str, Any] | None = None, **options: Any) -> None:
        self.server = Server("workshop", version="1", **options)
        self.reached = asyncio.Event()
        self.gate = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.finished = 0
        self._register_plain()
        self._register_talkative()
        self._register_demanding()
        self.app: HttpApp = self.server.http_app(**(app or {}))
        self.client = Client(self.app)

    def another(self) -> Client:
        return Client(self.app)

    async def wait(self) -> None:
        """Where tools stand still until the test lets them go on."""
        self.reached.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        self.finished += 1

    def _register_plain(self) -> None:
        server = self.server

        @server.tool
        async def echo(text: str) -> str:
            return text

        @server.tool
        async def wait() -> str:
            await self.wait()
            return "waited"

        @server.tool
        async def who(ctx: Context) -> str:
            return f"{ctx.scope['path']}"

        @server.tool
        async def route(
            region: Annotated[str, Header("Region")],
            count: Annotated[int, Header("Count")] = 0,
            text: str = "",
        ) -> str:
            return f"{region}{count}{text}"

        @server.resource("notes://today")
        async def today() -> str:
            return "today"

    def _register_talkative(self) -> None:
        server = self.server

        @server.tool
        async def talk(ctx: Context, times: int = 2) -> str:
            for number in range(times):
                await ctx.log.info(f"said {number}")
            return "talked"

        @server.tool
        async def talk_and_wait(ctx: Context) -> str:
            await ctx.log.info("first")
            await self.wait()
            await ctx.log.info("second")
            return "done"

        @server.tool
        def talk_from_thread(ctx: Context) -> str:
            for number in range(3):
                ctx.log.info(f"said {number}")
            return "talked"

        @server.tool
        async def flood(ctx: Context) -> str:
            for number in range(200):
                ctx.log.info(f"{number} {'x' * 100}")
            self.reached.set()
            return "flooded"

    def _register_demanding(self) -> None:
        server = self.server

        @server.tool
        async def hang_up(ctx: Context) -> str:
            ctx.disconnect(500)
            await self.wait()
            return "came back"

        @server.tool
        def hang_up_from_thread(ctx: Context) -> str:
            ctx.disconnect(500)
            return "came back"

        @server.tool
        async def ask(ctx: Context) -> str:
            answer = await ctx.elicit("Which one?", Choice)
            return answer.data.name if answer.data is not None else answer.action

    def change(self) -> None:
        """ChangeEvent the list of tools."""
        if self.server.tools.registry.get("extra") is None:

            async def extra() -> str:
                return "extra"

            self.server.tool(extra)
        else:
            self.server.tools.remove("extra")


class NamedByTest:
    """Takes the name of whoever the test says."""

    credential_headers: tuple[bytes, ...] = ()

    def __init__(self, name: str, *scopes: str) -> None:
        self.name = name
        self.scopes = scopes

    def authenticate(self, credentials: object) -> Principal:
        return Principal(self.name, self.scopes)
