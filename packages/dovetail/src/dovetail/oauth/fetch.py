"""HTTP requests to authorization servers, of clients and of resource servers.

Their addresses are checked, their size and their time are limited.
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
from urllib.parse import urlencode

import msgspec

from dovetail.errors import AuthorizationError, PeerError, TransportError
from dovetail.net.http_endpoint import Endpoint
from dovetail.net.http_pool import HttpPool
from dovetail.oauth.urls import UrlPolicy

__all__ = [
    "AuthFetch",
    "AuthTrace",
    "Fetched",
    "fetch_json",
    "report_trace",
    "trace_requests",
]

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
