"""The client that probes use. It knows how each era opens and what each request must carry.

It adds ids, the `_meta` envelope, headers and the session id. Probes can override all of them, for
example with another id, no envelope or a missing header.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from dovetail.spec import keys
from dovetail.spec.methods import methods_at
from dovetail.spec.revisions import Family, Revision
from dovetail.wire import codec
from dovetail_check.client_profiles import CLIENT_INFO, ClientProfile, capabilities_of
from dovetail_check.connections.base import Connection, Outgoing, Recorder
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.declared import declares
from dovetail_check.exchanges import Exchange
from dovetail_check.mirrored_params import param_values
from dovetail_check.probe_sessions import OPENING
from dovetail_check.recording import Recording
from dovetail_check.replies import answer_request
from dovetail_check.safety import SafetyPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["NO_SUCH_METHOD", "AuditContext", "Catalogue", "ProbeClient"]

# Seconds that a response may arrive later than the response to the following request.
GRACE = 0.3
# Methods whose responses show nothing about the pace of the server.
_UNHURRIED = ("initialize", "tools/call", "tasks/result", "subscriptions/listen")
NO_SUCH_METHOD = "dovetail-check/unknown"


@dataclass
class Catalogue:
    """The items in the lists of the server."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    resource_templates: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class AuditContext:
    """The state that all clients of a session share."""

    recording: Recording
    transport: str
    revision: Revision
    policy: SafetyPolicy
    # Returns a connection that is not open yet.
    connect: Callable[[Recorder], Connection]
    timeout: float = 5.0
    start_timeout: float = 30.0
    catalogue: Catalogue = field(default_factory=Catalogue)
    # The capabilities that the server declared.
    capabilities: dict[str, Any] = field(default_factory=dict)
    # Seconds from opening the connection to the response to the opening request.
    opening_seconds: float = 0.0
    # Names of tools that did not respond to a call.
    unresponsive_tools: list[Any] = field(default_factory=list)
    # Seconds that calls of tools took which returned a result, with their params.
    calls: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    # The longest time to a response so far, and whether one of them was an error.
    pace: float = 0.0
    has_seen_error: bool = False

    def patience(self, seconds: float) -> float:
        """Return how long to wait: longer if the server is slow, for example on a busy machine."""
        return seconds + max(min(self.opening_seconds, self.timeout), 2 * self.pace)

    def learn_pace(self, exchange: Exchange) -> None:
        """Measure a response. Some requests may take their time and are left out."""
        seconds = exchange.seconds
        if seconds is None or exchange.tag == OPENING or exchange.method in _UNHURRIED:
            return
        self.pace = max(self.pace, seconds)
        self.has_seen_error = self.has_seen_error or exchange.error is not None

    @property
    def session(self) -> str:
        """The name that frames carry."""
        return f"{self.transport} {self.revision}"

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision.family is Family.MODERN


class ProbeClient:
    """A client with one connection to the server."""

    def __init__(
        self,
        context: AuditContext,
        connection: Connection,
        profile: ClientProfile = ClientProfile.MINIMAL,
    ) -> None:
        self.context = context
        self.connection = connection
        self.profile = profile
        connection.on_request = self._handle_request
        # The running probe: frames are tagged with its name.
        self.probe = ""
        # The id of the legacy HTTP session.
        self.session: str | None = None
        self.opening: Exchange | None = None
        # Replies to requests from the server; probes may replace it.
        self.reply_to: Callable[[dict[str, Any]], bytes | None] = answer_request
        self._ids = count(1)

    # -- state -----------------------------------------------------------------------------------

    @property
    def revision(self) -> Revision:
        """The revision of the session."""
        return self.context.revision

    @property
    def is_modern(self) -> bool:
        """Whether every request carries the `_meta` envelope."""
        return self.context.is_modern

    @property
    def is_http(self) -> bool:
        """Whether the transport is Streamable HTTP, where headers and status matter."""
        return self.context.transport == "http"

    @property
    def is_ready(self) -> bool:
        """Whether the connection is open and the server accepted the opening request."""
        return (
            self.connection.is_open and self.opening is not None and self.opening.result is not None
        )

    @property
    def catalogue(self) -> Catalogue:
        """The items in the lists of the server."""
        return self.context.catalogue

    def has(self, capability: str) -> bool:
        """Whether the server declared a capability, or a member such as `resources.subscribe`."""
        return declares(self.context.capabilities, capability)

    def callable_tools(self) -> list[dict[str, Any]]:
        """The tools that may be called with valid arguments."""
        tools = self.catalogue.tools
        # If two tools share a name, the call may reach the one that must not be called.
        excluded = [tool.get("name") for tool in tools if not self.context.policy.may_call(tool)]
        excluded += self.context.unresponsive_tools
        return [tool for tool in tools if tool.get("name") not in excluded]

    # -- opening -------------------------------------------------------------------------------

    async def open(self, offer: str | None = None) -> Exchange:
        """Connect and send the opening request; `offer` replaces the version of the session."""
        self.probe = self.probe or OPENING
        began = time.monotonic()
        await self.connection.open()
        if self.is_modern:
            self.opening = await self.request(
                "server/discover",
                tag=OPENING,
                timeout=self.context.start_timeout,
                **({} if offer is None else self._in_version(offer)),
            )
        else:
            self.opening = await self.initialize(offer)
            if self.opening.result is not None and offer is None:
                await self.notify("notifications/initialized", tag=OPENING)
        self.context.opening_seconds = max(self.context.opening_seconds, time.monotonic() - began)
        return self.opening

    @staticmethod
    def _in_version(version: str) -> dict[str, Any]:
        """The options of a request in another version."""
        header = {"MCP-Protocol-Version": version}
        return {"meta": {keys.PROTOCOL_VERSION: version}, "headers": header}

    async def initialize(self, offer: str | None = None, *, tag: str = OPENING) -> Exchange:
        """Send initialize and remember the session id."""
        exchange = await self.request(
            "initialize",
            {
                "protocolVersion": offer or self.revision.date,
                "capabilities": capabilities_of(self.profile, self.revision),
                "clientInfo": CLIENT_INFO,
            },
            tag=tag,
            timeout=self.context.start_timeout,
        )
        self.session = exchange.header("mcp-session-id") or self.session
        return exchange

    async def reconnect(self, *, opened: bool = True) -> None:
        """Open a new connection if the old one is closed."""
        if not self.connection.is_open:
            await self.connection.close()
            self.connection = self.context.connect(self.connection.recorder)
            self.connection.on_request = self._handle_request
            self.session = None
            await (self.open() if opened else self.connection.open())

    @asynccontextmanager
    async def open_client(
        self, name: str, *, opened: bool = True, profile: ClientProfile | None = None
    ) -> AsyncIterator[ProbeClient]:
        """Open a second client with its own connection; closed at the end of the block."""
        recorder = self.connection.recorder._replace(connection=name)
        client = ProbeClient(self.context, self.context.connect(recorder), profile or self.profile)
        client.probe = self.probe
        try:
            await (client.open() if opened else client.connection.open())
            yield client
        finally:
            await client.connection.close()

    # -- sending -------------------------------------------------------------------------------

    def new_id(self) -> int:
        """Return an id that this client has not used."""
        return next(self._ids)

    async def request(  # noqa: PLR0913 - everything usual has a default, all by name
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        variant: str = "",
        tag: str = "",
        id: Any = None,
        meta: Mapping[str, Any] | None = None,
        envelope: bool = True,
        headers: Mapping[str, str | None] | None = None,
        timeout: float | None = None,
        keep_open: bool = False,
    ) -> Exchange:
        """Send a request and wait for its response.

        `meta` updates `_meta`; None removes a member. `envelope=False` leaves out the members that
        the modern era requires. `headers` replaces headers; None removes one. `keep_open` returns
        after the first reply and keeps listening.
        """
        id = self.new_id() if id is None else id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        message |= self._with_params(params, meta, envelope)
        if method == "tools/call":
            self.context.policy.check_call(self.catalogue.tools, params or {})
        exchange = await self.send(
            codec.encode(message),
            ids=(id,),
            tag=tag or self._tag(variant),
            headers=self.headers_for(method, params, headers),
            timeout=timeout,
            keep_open=keep_open,
        )
        if method == "tools/call" and exchange.result is not None and exchange.seconds:
            self.context.calls.append((exchange.seconds, dict(params or {})))
        if method == "tools/call" and exchange.answer is None and not keep_open:
            # The tool hangs or crashed the server; do not call it again.
            self.context.unresponsive_tools.append((params or {}).get("name"))
        return exchange

    async def notify(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        variant: str = "",
        tag: str = "",
        headers: Mapping[str, str | None] | None = None,
    ) -> Exchange:
        """Send a notification; over HTTP the exchange has a response."""
        message = {"jsonrpc": "2.0", "method": method, **self._with_params(params, None, False)}
        return await self.send(
            codec.encode(message),
            ids=(),
            tag=tag or self._tag(variant),
            headers=self.headers_for(method, params, headers),
        )

    async def send(
        self,
        data: bytes,
        *,
        ids: tuple[Any, ...] | None = None,
        variant: str = "",
        tag: str = "",
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        keep_open: bool = False,
        stop_waiting: asyncio.Event | None = None,
    ) -> Exchange:
        """Send raw bytes. `ids=None` means that a response will have no known id."""
        outgoing = Outgoing(
            data,
            tag or self._tag(variant),
            ids,
            self.context.patience(self.context.timeout) if timeout is None else timeout,
            keep_open,
            headers=self.headers_for(None) if headers is None else headers,
            stop_waiting=stop_waiting,
        )
        exchange = await self.connection.send(outgoing)
        self.context.learn_pace(exchange)
        return exchange

    async def fetch(
        self,
        verb: str,
        *,
        url: str | None = None,
        headers: Mapping[str, str | None] | None = None,
        variant: str = "",
        data: bytes = b"",
        keep_open: bool = False,
        timeout: float | None = None,
    ) -> Exchange:
        """Send an HTTP request other than a POST of a message to the endpoint."""
        all_headers: dict[str, str | None] = {"Accept": "text/event-stream"}
        all_headers |= {"Mcp-Session-Id": self.session}
        if self.revision.version_header:
            all_headers["MCP-Protocol-Version"] = self.revision.date
        outgoing = Outgoing(
            data,
            self._tag(variant),
            (),
            self.context.patience(self.context.timeout) if timeout is None else timeout,
            keep_open,
            verb,
            _only_given({**all_headers, **(headers or {})}),
            url,
        )
        return await self.connection.send(outgoing)

    async def fence(self) -> Exchange:
        """Send a harmless request; its response means that all earlier messages were processed."""
        if not self.is_modern:
            return await self.request("ping", tag="fence")
        return await self.request("server/discover", tag="fence")

    async def send_lenient(
        self, data: bytes, *, ids: tuple[Any, ...] | None = None, variant: str = "", **more: Any
    ) -> Exchange:
        """Send data that may get no response; waits a short time after the fence is answered."""
        if not self.context.has_seen_error:
            # The data may get an error, and some servers take longer for those.
            await self.request(NO_SUCH_METHOD, {}, tag="fence")
        stop_waiting = asyncio.Event()
        sending = asyncio.create_task(
            self.send(data, ids=ids, variant=variant, stop_waiting=stop_waiting, **more)
        )
        # Messages are written in order, so the fence follows the data.
        await asyncio.sleep(0)
        # Over HTTP every request gets its own response, so wait for the full timeout.
        await self.wait_behind_fence({sending}, self.context.timeout if self.is_http else GRACE)
        stop_waiting.set()
        return await sending

    async def wait_behind_fence(
        self, sending: Collection[asyncio.Task[Exchange]], least: float
    ) -> None:
        """Send a fence and wait for earlier requests, longer if the server is slow."""
        began = time.monotonic()
        fence = await self.fence()
        lag = 0.0 if fence.answer is None else time.monotonic() - began
        await asyncio.wait(sending, timeout=max(least, 2 * lag, 2 * self.context.pace))

    # -- parts of a request ----------------------------------------------------------------------

    def _tag(self, variant: str) -> str:
        return f"{self.probe}/{variant}" if variant else self.probe

    def params_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the `params` member of a request, for messages that a probe builds itself."""
        return self._with_params(params, None, True)

    def _with_params(
        self, params: Mapping[str, Any] | None, meta: Mapping[str, Any] | None, envelope: bool
    ) -> dict[str, Any]:
        inside: dict[str, Any] = {}
        if self.is_modern and envelope:
            inside = {
                keys.PROTOCOL_VERSION: self.revision.date,
                keys.CLIENT_INFO: CLIENT_INFO,
                keys.CLIENT_CAPABILITIES: capabilities_of(self.profile, self.revision),
            }
        inside |= meta or {}
        inside = {name: value for name, value in inside.items() if value is not None}
        whole = dict(params or {})
        if inside:
            whole["_meta"] = {**whole.get("_meta", {}), **inside}
        return {"params": whole} if whole or params is not None else {}

    def headers_for(
        self,
        method: str | None,
        params: Mapping[str, Any] | None = None,
        replaced: Mapping[str, str | None] | None = None,
    ) -> dict[str, str]:
        """Return the headers of a POST; empty on stdio."""
        if not isinstance(self.connection, HttpConnection):
            return {}
        usual: dict[str, str | None] = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Mcp-Session-Id": self.session,
        }
        if self.revision.version_header and (self.is_modern or method != "initialize"):
            usual["MCP-Protocol-Version"] = self.revision.date
        if self.is_modern and method is not None:
            usual["Mcp-Method"] = method
            spec = methods_at(self.revision).get(method)
            if spec is not None and spec.mirrored is not None:
                usual["Mcp-Name"] = header_value((params or {}).get(spec.mirrored))
            if method == "tools/call":
                usual |= self._param_headers(params or {})
        for name, value in (replaced or {}).items():
            for known in [known for known in usual if known.lower() == name.lower()]:
                del usual[known]
            usual[name] = value
        return _only_given(usual)

    def _param_headers(self, params: Mapping[str, Any]) -> dict[str, str | None]:
        """Return the headers that repeat arguments (x-mcp-header)."""
        for tool in self.catalogue.tools:
            if tool.get("name") == params.get("name"):
                values = param_values(tool.get("inputSchema"), params.get("arguments"))
                return {name: header_value(text) for name, text in values.items()}
        return {}

    def _handle_request(self, message: dict[str, Any]) -> bytes | None:
        return self.reply_to(message)


def header_value(value: Any) -> str | None:
    """Encode a value for Mcp-Name and Mcp-Param-*: base64 if a header cannot carry it."""
    if not isinstance(value, str):
        return None
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    if is_plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _only_given(headers: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if value is not None}
