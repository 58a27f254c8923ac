"""A public site and private servers, all of them on loopback.

Names resolve as the test defines; tests check that no private server was ever connected to.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from playwright.async_api import BrowserContext, Page

from dovetail_browser.addresses import AddressRules, Destination
from dovetail_browser.driver import Driver, DriverOptions
from tests.patience import CAP

PUBLIC = "127.0.0.1"
PRIVATE = "127.0.0.2"

T = TypeVar("T")


class _Pretending(AddressRules):
    """Treats the address of the site as public, if a name resolves to it."""

    def check_address(self, destination: Destination, resolved: str) -> str | None:
        if resolved == PUBLIC and destination.address is None:
            return None
        return super().check_address(destination, resolved)


class PrivateNetwork:
    """A browser, a site that it may access, and servers that it may not."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._datagrams: asyncio.DatagramTransport | None = None
        # Path of the site -> head lines and body.
        self.pages: dict[str, tuple[str, str]] = {}
        # Connections to a private server: there must be none.
        self.visits: list[str] = []
        self.lookups: list[str] = []
        # Names that resolve to the site once more before they become private.
        self.rebinding: dict[str, int] = {}
        self.port = 0
        self.udp_port = 0
        self.driver = Driver(
            DriverOptions(), resolve=self._resolve, rules=_Pretending(("opened.example",))
        )
        self.context: BrowserContext
        # One page for all tests that only load pages: each new one starts a process.
        self.page: Page

    def __enter__(self) -> PrivateNetwork:
        self.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._stop())
        self._runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the browser's event loop."""

        async def bounded() -> T:
            async with asyncio.timeout(CAP):
                return await work

        return self._runner.run(bounded())

    def url(self, path: str, host: str = "site.example") -> str:
        """A page of the public site."""
        return f"http://{host}:{self.port}{path}"

    async def wait_until_refused(self, host: str) -> str:
        """Wait until a request to this host was refused; return the reason."""
        while (reason := self.driver.last_refusal(host)) is None:
            await asyncio.sleep(0.01)
        return reason

    async def _start(self) -> None:
        site = await asyncio.start_server(self._answer, PUBLIC, 0)
        self.port = site.sockets[0].getsockname()[1]
        private = await asyncio.start_server(self._record_visit, PRIVATE, self.port)
        self._servers = [site, private]
        with contextlib.suppress(OSError):
            self._servers.append(await asyncio.start_server(self._record_visit, "::1", self.port))
        loop = asyncio.get_running_loop()
        self._datagrams, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(self.visits), (PRIVATE, 0)
        )
        self.udp_port = self._datagrams.get_extra_info("sockname")[1]
        self.context = await self.driver.new_context()
        self.page = await self.context.new_page()

    async def _stop(self) -> None:
        await self.driver.close()
        if self._datagrams is not None:
            self._datagrams.close()
        for server in self._servers:
            server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _resolve(self, host: str, _port: int) -> Sequence[str]:
        self.lookups.append(host)
        if host == "site.example":
            return [PUBLIC]
        if self.rebinding.get(host, 0) > 0:
            self.rebinding[host] -= 1
            return [PUBLIC]
        return [PRIVATE]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            path = request.split(" ")[1].partition("?")[0]
            head, body = self.pages.get(path, ("HTTP/1.1 404 Not Found", ""))
            data = body.encode()
            lines = [head, "Cache-Control: no-store", f"Content-Length: {len(data)}", "", ""]
            writer.write("\r\n".join(lines).encode() + data)
            writer.close()

    async def _record_visit(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        # A connection without a request counts as well.
        self.visits.append(f"connection to {writer.get_extra_info('sockname')}")
        self._writers.add(writer)
        with contextlib.suppress(OSError):
            await reader.read(1000)
            writer.write(b"HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\r\nthe secret")
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, visits: list[str]) -> None:
        self._visits = visits

    def datagram_received(self, data: bytes, _address: tuple[str | Any, int]) -> None:
        self._visits.append(f"datagram of {len(data)} bytes")
