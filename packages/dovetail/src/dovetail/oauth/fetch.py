"""HTTP requests to authorization servers, of clients and of resource servers.

Their size and their time are limited, and their URLs are checked. A server names the URLs of its
authorization server, and that server names more. A hostile server could name an address inside the
user's network (server-side request forgery) or plain HTTP, so each URL is checked before it is
used: https unless it is on this machine, and no address that is less public than that of the MCP
server itself. The server decides what its name resolves to, so the address that counts is the one
that it answered from.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import msgspec

from dovetail.errors import (
    AuthorizationError,
    PeerError,
    TransportError,
    UnreachableError,
    UsageError,
)
from dovetail.net.addresses import AddressScope, Endpoint, is_loopback, parse_url, resolve_addresses
from dovetail.net.http_pool import HttpPool

__all__ = [
    "AuthFetch",
    "AuthTrace",
    "Fetched",
    "UrlPolicy",
    "check_url",
    "fetch_json",
    "report_trace",
    "same_url",
    "trace_requests",
    "within",
]

_PORTS = {"http": 80, "https": 443}


def check_url(url: str, what: str) -> str:
    """A URL of the operator without a trailing slash; raises UsageError if it is not safe."""
    try:
        is_safe = _is_encrypted(parse_url(url)) and "#" not in url
    except UsageError:
        is_safe = False
    if not is_safe:
        raise UsageError(
            f"{what} must be an https URL without user and fragment (http only for localhost), "
            f"got {url!r}"
        )
    return url.rstrip("/")


class UrlPolicy:
    """Checks the URLs that lead from one MCP server to its authorization.

    Without a server, the operator has named the issuer, which may have any address.
    """

    def __init__(self, server: Endpoint | None = None) -> None:
        if server is not None and not _is_encrypted(server):
            # Tokens are never sent over plain HTTP, except to this machine.
            raise UsageError(
                f"OAuth needs an https URL (http only for localhost), got {server.origin}"
            )
        self._server = server
        # Where the server answered from, and the most public scope that is known of it.
        self._server_address: str | None = None
        self._server_scope: AddressScope | None = None
        # Origins that need no check of their address: the server itself, and what the user named.
        self._trusted = set() if server is None else {server.origin}

    @property
    def allows_any_address(self) -> bool:
        """Whether addresses are not checked, so that a proxy may choose them."""
        return self._server is None

    def trust(self, url: str, what: str) -> None:
        """Allow any address for a URL that the user named; raises AuthorizationError."""
        self._trusted.add(self.check(url, what).origin)

    def pin_server(self, address: str | None) -> None:
        """Take the address that the server has answered from as that of its name."""
        if address is not None:
            self._server_address = address
            self.note_server(address)

    def note_server(self, address: str) -> None:
        """Take an address that the server has answered from in an earlier program."""
        scope = AddressScope.of(address)
        self._server_scope = scope if self._server_scope is None else min(scope, self._server_scope)

    @property
    def server_address(self) -> str | None:
        """The address that the server has answered from."""
        return self._server_address

    def check(self, url: object, what: str) -> Endpoint:
        """The endpoint of a URL that another party named; raises AuthorizationError."""
        if not isinstance(url, str):
            raise AuthorizationError(f"{what} is not a URL; report this to the server's operator")
        try:
            endpoint = parse_url(url)
        except UsageError as error:
            raise AuthorizationError(f"{what} cannot be used: {error}") from None
        if "#" in url:
            raise AuthorizationError(f"{what} has a fragment: {endpoint}")
        if not _is_encrypted(endpoint):
            raise AuthorizationError(
                f"{what} is {endpoint}, which is not encrypted; it must be an https URL "
                "(http only for localhost)"
            )
        return endpoint

    async def find_address(self, endpoint: Endpoint) -> str:
        """An address of the endpoint to connect to; raises AuthorizationError.

        The check and the connection use the same address, so that a name that changes its
        address in between (DNS rebinding) gains nothing.
        """
        server = self._server
        if server is not None and endpoint.origin == server.origin and self._server_address:
            return self._server_address
        addresses = await _resolve(endpoint)
        if server is None or endpoint.origin in self._trusted:
            return addresses[0]
        if self._server_scope is None:
            # Nothing has been sent to the server yet.
            self._server_scope = min(map(AddressScope.of, await _resolve(server)))
        for address in addresses:
            if AddressScope.of(address) <= min(self._server_scope, AddressScope.LOOPBACK):
                return address
        raise AuthorizationError(
            f"{endpoint.origin} is on a private network ({addresses[0]}), and {server} "
            "is not; it was refused, because a server could reach into your network this way"
        )


def _is_encrypted(endpoint: Endpoint) -> bool:
    # auth.https (2025-11-25 basic/authorization): plain HTTP does not leave this machine
    return endpoint.is_secure or is_loopback(endpoint.host)


async def _resolve(endpoint: Endpoint) -> list[str]:
    try:
        return await resolve_addresses(endpoint)
    except UnreachableError as error:
        raise AuthorizationError(str(error)) from None


def _normalize(url: str) -> tuple[str, str | None, int | None, str]:
    parts = urlsplit(url)
    path = parts.path if parts.path != "/" else ""
    port = parts.port or _PORTS.get(parts.scheme)
    return parts.scheme, parts.hostname, port, path + (f"?{parts.query}" if parts.query else "")


def same_url(one: str, other: str) -> bool:
    """Whether two URLs are equal apart from case of the host, default port and an empty path."""
    try:
        return _normalize(one) == _normalize(other)
    except ValueError:
        return False


def within(url: str, parents: Iterable[str]) -> bool:
    """Whether a URL is one of these URLs or below one of them."""
    scheme, host, port, path = _normalize(url)
    for parent in parents:
        try:
            other_scheme, other_host, other_port, other_path = _normalize(parent)
        except ValueError:
            continue
        if (scheme, host, port) != (other_scheme, other_host, other_port):
            continue
        if path == other_path or path.startswith(other_path.rstrip("/") + "/"):
            return True
    return False


# Metadata, tokens and registrations are a few kilobytes.
_MAX_BYTES = 256 * 1024
_TIMEOUT = 20.0
# A caller waits while its token is checked.
_ISSUER_TIMEOUT = 5.0
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True, repr=False)
class AuthTrace:
    """A request of an authorization, or the response to it; it contains secrets."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    # None for the request.
    status: int | None = None


_tracer: ContextVar[Callable[[AuthTrace], None] | None] = ContextVar("tracer", default=None)


@contextlib.contextmanager
def trace_requests(tracer: Callable[[AuthTrace], None]) -> Iterator[None]:
    """Pass each request and response of the authorizations in a `with` block to a function."""
    token = _tracer.set(tracer)
    try:
        yield
    finally:
        _tracer.reset(token)


def report_trace(
    method: str,
    url: str,
    headers: Iterable[tuple[str, str]],
    body: bytes,
    status: int | None = None,
) -> None:
    """Pass a request or response to the function of `trace_requests`, if there is one."""
    tracer = _tracer.get()
    if tracer is not None:
        tracer(AuthTrace(method, url, tuple(headers), body, status))


@dataclass(frozen=True, slots=True, repr=False)
class Fetched:
    """A response; without a repr, because the body may contain a token."""

    where: str
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any] | None:
        """The body as a JSON object; None if it is something else."""
        try:
            return msgspec.json.decode(self.body, type=dict[str, Any])
        except msgspec.DecodeError:
            return None


class AuthFetch:
    """Sends the requests of one authorization; each origin has its own connections."""

    def __init__(self, policy: UrlPolicy, timeout: float | None = None) -> None:
        self.policy = policy
        self._timeout = _TIMEOUT if timeout is None else timeout
        # The servers' clocks may differ from ours: seconds to add to our time, by origin.
        self.clock_offsets: dict[str, float] = {}
        self._pools: dict[str, HttpPool] = {}

    @classmethod
    def of_issuer(cls) -> Self:
        """For the issuer that the operator of a resource server has named."""
        return cls(UrlPolicy(), _ISSUER_TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get(self, endpoint: Endpoint) -> Fetched:
        """GET a document."""
        return await self._send("GET", endpoint, [])

    async def post_form(
        self, endpoint: Endpoint, form: Mapping[str, str], headers: Mapping[str, str] | None = None
    ) -> Fetched:
        """POST a form."""
        fields = [("Content-Type", _FORM), *(headers or {}).items()]
        return await self._send("POST", endpoint, fields, urlencode(form).encode())

    async def post_json(self, endpoint: Endpoint, document: Mapping[str, Any]) -> Fetched:
        """POST a JSON document."""
        fields = [("Content-Type", "application/json")]
        return await self._send("POST", endpoint, fields, msgspec.json.encode(document))

    def now(self, endpoint: Endpoint) -> float:
        """The time at a server, as far as it is known."""
        return time.time() + self.clock_offsets.get(endpoint.origin, 0.0)

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()

    async def _send(
        self, method: str, endpoint: Endpoint, headers: list[tuple[str, str]], body: bytes = b""
    ) -> Fetched:
        fields = [("Accept", "application/json"), ("Accept-Encoding", "identity"), *headers]
        pool = self._pools.get(endpoint.origin)
        if pool is None:
            pool = HttpPool(
                endpoint, self.policy.find_address, uses_proxy=self.policy.allows_any_address
            )
            self._pools[endpoint.origin] = pool
        report_trace(method, str(endpoint), fields, body)
        try:
            async with (
                asyncio.timeout(self._timeout),
                pool.exchange(method, fields, body, at=endpoint) as response,
            ):
                received = await response.read(_MAX_BYTES)
                # A compressed body was not asked for and is not read.
                received = b"" if response.coding else received
        except AuthorizationError:
            raise
        except TimeoutError:
            text = f"{endpoint} did not answer within {self._timeout:g} s; try again later"
            raise AuthorizationError(text) from None
        except (TransportError, PeerError) as error:
            raise AuthorizationError(f"{error}; try again later") from None
        sent = response.headers.items()
        report_trace(method, str(endpoint), sent, received, response.status)
        self._note_clock(endpoint, response.headers.get("date"))
        return Fetched(str(endpoint), response.status, response.reason, response.headers, received)

    def _note_clock(self, endpoint: Endpoint, date: str | None) -> None:
        try:
            there = email.utils.parsedate_to_datetime(date or "").timestamp()
        except (TypeError, ValueError, OverflowError):
            return
        offset = there - time.time()
        # The header has whole seconds: a small difference says nothing.
        self.clock_offsets[endpoint.origin] = offset if abs(offset) > 2 else 0.0


async def fetch_json(
    url: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object that the operator's issuer answers to GET, or to POST with a form.

    Raises AuthorizationError, without the form, which may contain a secret.
    """
    async with AuthFetch.of_issuer() as fetch:
        endpoint = fetch.policy.check(url, "The URL of the issuer")
        fetched = await (
            fetch.get(endpoint) if form is None else fetch.post_form(endpoint, form, headers)
        )
    document = fetched.json()
    if fetched.status != 200:
        raise AuthorizationError(f"{endpoint} answered with {fetched.reason}")
    if document is None:
        raise AuthorizationError(f"{endpoint} did not answer with a JSON object")
    return document
