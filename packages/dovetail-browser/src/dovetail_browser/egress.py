"""The browser's only way out: a proxy on loopback that resolves, judges and connects.

Every request of Chromium comes through here, as a request with an absolute address (http) or as
CONNECT (https, ws, wss). The proxy looks the name up itself, refuses if ANY address of it is
refused, and connects to the very addresses it has judged: a name that resolves to something else
a moment later gains nothing. A connection serves one request or one tunnel, so nothing rides on
what was judged for another host, and a redirect is simply the next request.

Bounded: size of heads, number of connections, time without traffic, bytes of one response. Inside
a tunnel responses cannot be told apart; there the bound is on what comes without a pause.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import secrets
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from dovetail_browser.addresses import AddressRules, Place
from dovetail_browser.connecting import connect_first, describe_error
from dovetail_browser.http_heads import RequestHead, parse_request
from dovetail_browser.peers import can_tell_peers, is_own_peer
from dovetail_browser.relaying import (
    HEAD_END,
    EgressLimits,
    Line,
    TooLongError,
    UnreadableError,
    forward,
    tunnel,
)

__all__ = ["Egress", "EgressLimits", "Resolver", "Trouble", "resolve_name"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

_LOOPBACK = "127.0.0.1"
_USER = "dovetail"
_REMEMBERED = 256

_WRONG = "400 Bad Request"
_REFUSED = "403 Forbidden"
_WHO = "407 Proxy Authentication Required"
_NO_LENGTH = "411 Length Required"
_FAILED = "502 Bad Gateway"
_BUSY = "503 Service Unavailable"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a request did not get through."""

    # Refused or cut by the rules; otherwise the other side could not be reached.
    is_refusal: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the proxy itself says to a request, in place of the other side."""

    status: str
    reason: str

    def encode(self) -> bytes:
        body = f"{self.reason}\n".encode()
        challenge = 'Proxy-Authenticate: Basic realm="dovetail"\r\n' if self.status == _WHO else ""
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
            f"X-Content-Type-Options: nosniff\r\n{challenge}"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + body


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """All addresses of a name, as the system knows them."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Egress:
    """The proxy of one browser."""

    def __init__(
        self,
        rules: AddressRules,
        *,
        resolve: Resolver = resolve_name,
        limits: EgressLimits | None = None,
        by_secret: bool | None = None,
    ) -> None:
        self._rules = rules
        self._resolve = resolve
        self._limits = limits or EgressLimits()
        # None: only where the system cannot tell whose a connection is.
        self._by_secret = by_secret
        self._secret = ""
        self._port = 0
        self._server: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[Any]] = set()
        self._troubles: OrderedDict[str, Trouble] = OrderedDict()

    async def start(self) -> None:
        """Listen on a free port of loopback."""
        by_secret = not can_tell_peers() if self._by_secret is None else self._by_secret
        self._secret = secrets.token_urlsafe(24) if by_secret else ""
        limit = self._limits.head_bytes
        self._server = await asyncio.start_server(self._accept, _LOOPBACK, 0, limit=limit)
        self._port = self._server.sockets[0].getsockname()[1]

    @property
    def address(self) -> str:
        """HOST:PORT of the proxy."""
        return f"{_LOOPBACK}:{self._port}"

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password that the browser must give; None where they are not needed."""
        return (_USER, self._secret) if self._secret else None

    async def close(self) -> None:
        """Stop listening and drop what is under way."""
        if self._server is not None:
            self._server.close()
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    def last_trouble(self, host: str) -> Trouble | None:
        """What stopped the last request to this host; None if it got through."""
        return self._troubles.get(_key(host))

    def last_refusal(self, host: str) -> str | None:
        """Why the last request to this host was refused or cut; None if it was not."""
        trouble = self.last_trouble(host)
        return trouble.reason if trouble is not None and trouble.is_refusal else None

    def remember(self, host: str, trouble: Trouble) -> None:
        """Keep why a request to this host did not get through, for whoever has to explain it."""
        key = _key(host)
        self._troubles.pop(key, None)
        self._troubles[key] = trouble
        while len(self._troubles) > _REMEMBERED:
            self._troubles.popitem(last=False)

    async def find_addresses(self, place: Place) -> list[str] | Trouble:
        """The addresses to connect to; one that may not be reached spoils them all."""
        found: Sequence[str] = [str(place.address)]
        if place.address is None:
            try:
                async with asyncio.timeout(self._limits.connect_seconds):
                    found = await self._resolve(place.host, place.port)
            except (OSError, UnicodeError) as error:
                return Trouble(False, f"{place.host} cannot be resolved: {describe_error(error)}")
        for one in found:
            reason = self._rules.check_address(place, one)
            if reason is None and place.port == self._port and ip_address(one).is_loopback:
                reason = f"{place.host}:{place.port} is the browser's own proxy"
            if reason is not None:
                return Trouble(True, reason)
        return list(found) or Trouble(False, f"{place.host} has no address")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        client = Line(reader, writer)
        try:
            answer = await self._serve(client)
            if answer is not None:
                writer.write(answer.encode())
            await client.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            client.abort()
        except asyncio.CancelledError:
            # Only `close` cancels, and it waits for us.
            client.abort()
        finally:
            self._exchanges.discard(task)

    async def _serve(self, client: Line) -> _Answer | None:
        """Carry out one request; what to answer if it goes no further than here."""
        if len(self._exchanges) > self._limits.connections:
            return _Answer(_BUSY, "too many connections")
        if not self._is_from_browser(client):
            return _Answer(_REFUSED, "this proxy serves the browser that was started with it")
        async with asyncio.timeout(self._limits.idle_seconds):
            head = parse_request(await client.reader.readuntil(HEAD_END))
        if head is None:
            return _Answer(_WRONG, "the request cannot be read")
        if self._secret and not self._knows_secret(head):
            return _Answer(_WHO, "user and password of the proxy are missing or wrong")
        if head.body_length is None:
            return _Answer(_NO_LENGTH, "the length of the body cannot be told")
        host, place = self._read_target(head)
        if isinstance(place, str):
            return self._fail(host, Trouble(True, place)) if host else _Answer(_WRONG, place)
        upstream = await self._connect(place)
        if isinstance(upstream, Trouble):
            return self._fail(place.host, upstream)
        try:
            return await self._relay(client, upstream, head, place)
        finally:
            upstream.abort()

    def _is_from_browser(self, client: Line) -> bool:
        if self._secret:
            return True
        names = [client.writer.get_extra_info(name) for name in ("peername", "sockname")]
        return is_own_peer(names[0], names[1])

    def _knows_secret(self, head: RequestHead) -> bool:
        due = base64.b64encode(f"{_USER}:{self._secret}".encode())
        given = (head.value("proxy-authorization") or "").encode()
        return hmac.compare_digest(given, b"Basic " + due)

    def _read_target(self, head: RequestHead) -> tuple[str, Place | str]:
        """The host as it was given, and the place; "" and words if it is not even that."""
        if head.method == "CONNECT":
            host, _, port = head.target.rpartition(":")
            if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
                return "", "CONNECT takes HOST:PORT"
            return host, self._rules.read_place(host, int(port))
        if not head.target.lower().startswith("http://"):
            return "", "only CONNECT and whole http addresses are served"
        try:
            return urlsplit(head.target).hostname or "", self._rules.read_url(head.target)
        except ValueError as error:
            return "", f"the address cannot be read: {error}"

    async def _connect(self, place: Place) -> Line | Trouble:
        found = await self.find_addresses(place)
        if isinstance(found, Trouble):
            return found
        connected = await connect_first(found, place.port, self._limits)
        if isinstance(connected, str):
            where = f"{place.host}, port {place.port} ({', '.join(found)})"
            return Trouble(False, f"{where} cannot be connected to: {connected}")
        self._troubles.pop(_key(place.host), None)
        return connected

    async def _relay(
        self, client: Line, upstream: Line, head: RequestHead, place: Place
    ) -> _Answer | None:
        try:
            if head.method == "CONNECT":
                client.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await tunnel(client, upstream, self._limits)
            else:
                parts = urlsplit(head.target)
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                upstream.writer.write(head.forwarded(path, parts.netloc))
                await forward(client, upstream, head, self._limits)
        except TooLongError:
            most = f"{self._limits.response_bytes:,}"
            reason = f"{place.host} sent more than the {most} bytes that one response may have"
            self._fail(place.host, Trouble(True, f"{reason}; the connection was cut"))
            client.abort()
        except UnreadableError:
            reason = f"{place.host}, port {place.port}, gave no answer that is HTTP"
            return self._fail(place.host, Trouble(False, reason))
        return None

    def _fail(self, host: str, trouble: Trouble) -> _Answer:
        self.remember(host, trouble)
        return _Answer(_REFUSED if trouble.is_refusal else _FAILED, trouble.reason)


def _key(host: str) -> str:
    return host.lower().strip("[]").removesuffix(".")
