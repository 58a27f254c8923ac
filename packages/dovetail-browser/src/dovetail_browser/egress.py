"""The proxy for all traffic of the browser: resolves names, checks addresses, connects.

Every request of Chromium comes through this proxy, as a request with an absolute URL (http) or as
CONNECT (https, ws, wss). The proxy resolves the name itself, refuses the request if ANY of its
addresses is refused, and connects only to the addresses that it has checked. So DNS rebinding has
no effect. A connection serves one request or one tunnel, so each host is checked; a redirect is a
new request.

Limits: size of the head, number of connections, idle time, bytes of one response. Responses in a
tunnel cannot be told apart, so there the limit applies to the bytes received without a pause.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import secrets
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from dovetail_browser.addresses import AddressRules, Destination
from dovetail_browser.happy_eyeballs import connect_first, describe_error
from dovetail_browser.http_heads import RequestHead, parse_request
from dovetail_browser.peer_credentials import can_identify_peers, is_own_peer
from dovetail_browser.relay import (
    HEAD_END,
    Connection,
    EgressLimits,
    InvalidResponseError,
    ResponseTooLargeError,
    forward,
    tunnel,
)

__all__ = ["Egress", "EgressLimits", "RequestFailure", "Resolver", "resolve_name"]

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

_LOOPBACK = "127.0.0.1"
_USER = "dovetail"
_REMEMBERED = 256

_WRONG = "400 Bad Request"
_REFUSED = "403 Forbidden"
_AUTH_REQUIRED = "407 Proxy Authentication Required"
_NO_LENGTH = "411 Length Required"
_FAILED = "502 Bad Gateway"
_BUSY = "503 Service Unavailable"
# Header of the proxy's own responses: a signature and the reason.
_REASON = "dovetail-failure"


@dataclass(frozen=True, slots=True)
class RequestFailure:
    """Why a request failed."""

    # True: refused or cut off by the rules. False: the host could not be reached.
    is_refusal: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _ProxyResponse:
    """A response of the proxy itself."""

    status: str
    reason: str

    def encode(self, signature: str) -> bytes:
        body = f"{self.reason}\n".encode()
        challenge = (
            'Proxy-Authenticate: Basic realm="dovetail"\r\n'
            if self.status == _AUTH_REQUIRED
            else ""
        )
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n"
            f"X-Content-Type-Options: nosniff\r\n{challenge}"
            f"{_REASON}: {signature} {quote(self.reason)}\r\n"
            "Connection: close\r\n\r\n"
        )
        return head.encode() + body


async def resolve_name(host: str, port: int) -> Sequence[str]:
    """Resolve a name with the system resolver."""
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
        # A password is needed only if the system cannot identify the owner of a connection.
        self._by_secret = by_secret
        self._secret = ""
        self._port = 0
        self._server: asyncio.Server | None = None
        self._exchanges: set[asyncio.Task[Any]] = set()
        self._failures: OrderedDict[str, RequestFailure] = OrderedDict()
        self._signing_key = secrets.token_bytes(16)

    async def start(self) -> None:
        """Listen on a free loopback port."""
        by_secret = not can_identify_peers() if self._by_secret is None else self._by_secret
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
        """User and password that the browser must send; None if they are not needed."""
        return (_USER, self._secret) if self._secret else None

    async def close(self) -> None:
        """Stop listening and abort open requests."""
        if self._server is not None:
            self._server.close()
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)

    def failure_reason(self, headers: Mapping[str, str]) -> str | None:
        """Return the reason if these are the headers of the proxy's own response."""
        signature, _, quoted = headers.get(_REASON, "").partition(" ")
        reason = unquote(quoted)
        is_ours = hmac.compare_digest(signature.encode(), self._sign(reason).encode())
        return reason if is_ours else None

    def _sign(self, reason: str) -> str:
        # A site can see this header and send it as well; signed, its text can only be ours.
        return hmac.digest(self._signing_key, reason.encode(), "sha256").hex()

    def last_failure(self, host: str) -> RequestFailure | None:
        """Return why the last request to this host failed; None if it succeeded."""
        return self._failures.get(_key(host))

    def last_refusal(self, host: str) -> str | None:
        """Return why the last request to this host was refused or cut off; None if it was not."""
        failure = self.last_failure(host)
        return failure.reason if failure is not None and failure.is_refusal else None

    def remember(self, host: str, failure: RequestFailure) -> None:
        """Record why a request to this host failed, for error messages."""
        key = _key(host)
        self._failures.pop(key, None)
        self._failures[key] = failure
        while len(self._failures) > _REMEMBERED:
            self._failures.popitem(last=False)

    async def find_addresses(self, destination: Destination) -> list[str] | RequestFailure:
        """Resolve a destination; if one of its addresses is refused, so is the request."""
        found: Sequence[str] = [str(destination.address)]
        if destination.address is None:
            try:
                async with asyncio.timeout(self._limits.connect_seconds):
                    found = await self._resolve(destination.host, destination.port)
            except (OSError, UnicodeError) as error:
                return RequestFailure(
                    False, f"{destination.host} cannot be resolved: {describe_error(error)}"
                )
        for one in found:
            reason = self._rules.check_address(destination, one)
            if reason is None and destination.port == self._port and ip_address(one).is_loopback:
                reason = f"{destination.host}:{destination.port} is the browser's own proxy"
            if reason is not None:
                return RequestFailure(True, reason)
        return list(found) or RequestFailure(False, f"{destination.host} has no address")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        client = Connection(reader, writer)
        try:
            answer = await self._handle(client)
            if answer is not None:
                writer.write(answer.encode(self._sign(answer.reason)))
            await client.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            client.abort()
        except asyncio.CancelledError:
            # Only `close` cancels this task, and it awaits it.
            client.abort()
        finally:
            self._exchanges.discard(task)

    async def _handle(self, client: Connection) -> _ProxyResponse | None:
        """Handle one request; return a response if it is not forwarded."""
        if len(self._exchanges) > self._limits.connections:
            return _ProxyResponse(_BUSY, "too many connections")
        if not self._is_from_browser(client):
            return _ProxyResponse(_REFUSED, "only the browser of this server may use this proxy")
        async with asyncio.timeout(self._limits.idle_seconds):
            head = parse_request(await client.reader.readuntil(HEAD_END))
        if head is None:
            return _ProxyResponse(_WRONG, "the request cannot be parsed")
        if self._secret and not self._is_authorized(head):
            return _ProxyResponse(_AUTH_REQUIRED, "proxy user or password missing or wrong")
        if head.body_length is None:
            return _ProxyResponse(_NO_LENGTH, "the length of the body is missing or invalid")
        host, destination = self._read_target(head)
        if isinstance(destination, str):
            return (
                self._fail(host, RequestFailure(True, destination))
                if host
                else _ProxyResponse(_WRONG, destination)
            )
        upstream = await self._connect(destination)
        if isinstance(upstream, RequestFailure):
            return self._fail(destination.host, upstream)
        try:
            return await self._relay(client, upstream, head, destination)
        finally:
            upstream.abort()

    def _is_from_browser(self, client: Connection) -> bool:
        if self._secret:
            return True
        names = [client.writer.get_extra_info(name) for name in ("peername", "sockname")]
        return is_own_peer(names[0], names[1])

    def _is_authorized(self, head: RequestHead) -> bool:
        expected = base64.b64encode(f"{_USER}:{self._secret}".encode())
        given = (head.value("proxy-authorization") or "").encode()
        return hmac.compare_digest(given, b"Basic " + expected)

    def _read_target(self, head: RequestHead) -> tuple[str, Destination | str]:
        """Return the host as given and the destination, or "" and an error if there is no host."""
        if head.method == "CONNECT":
            host, _, port = head.target.rpartition(":")
            if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
                return "", "CONNECT takes HOST:PORT"
            return host, self._rules.parse_destination(host, int(port))
        if not head.target.lower().startswith("http://"):
            return "", "only CONNECT and absolute http URLs are supported"
        try:
            return urlsplit(head.target).hostname or "", self._rules.parse_url(head.target)
        except ValueError as error:
            return "", f"the URL cannot be parsed: {error}"

    async def _connect(self, destination: Destination) -> Connection | RequestFailure:
        found = await self.find_addresses(destination)
        if isinstance(found, RequestFailure):
            return found
        connected = await connect_first(found, destination.port, self._limits)
        if isinstance(connected, str):
            where = f"{destination.host}, port {destination.port} ({', '.join(found)})"
            return RequestFailure(False, f"{where} cannot be connected to: {connected}")
        self._failures.pop(_key(destination.host), None)
        return connected

    async def _relay(
        self, client: Connection, upstream: Connection, head: RequestHead, destination: Destination
    ) -> _ProxyResponse | None:
        try:
            if head.method == "CONNECT":
                client.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await tunnel(client, upstream, self._limits)
            else:
                parts = urlsplit(head.target)
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                upstream.writer.write(head.forwarded(path, parts.netloc))
                await forward(client, upstream, head, self._limits)
        except ResponseTooLargeError:
            most = f"{self._limits.response_bytes:,}"
            reason = f"the response of {destination.host} exceeds the limit of {most} bytes"
            self._fail(destination.host, RequestFailure(True, f"{reason}; the connection was cut"))
            client.abort()
        except InvalidResponseError:
            reason = (
                f"{destination.host}, port {destination.port}, did not send a valid HTTP response"
            )
            return self._fail(destination.host, RequestFailure(False, reason))
        return None

    def _fail(self, host: str, failure: RequestFailure) -> _ProxyResponse:
        self.remember(host, failure)
        return _ProxyResponse(_REFUSED if failure.is_refusal else _FAILED, failure.reason)


def _key(host: str) -> str:
    return host.lower().strip("[]").removesuffix(".")
