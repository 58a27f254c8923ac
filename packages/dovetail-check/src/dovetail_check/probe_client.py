"""A conversation over a line: it knows how each era opens and what each request must carry.

A probe says what it wants to send; everything usual is added here (ids, the envelope, headers,
the session), and everything unusual can be asked for: another id, no envelope, a header left out.
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
from dovetail_check.declared import declares
from dovetail_check.exchanges import Exchange
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.lines.line import Line, Outgoing, Place
from dovetail_check.mirrored_params import param_values
from dovetail_check.personas import CLIENT_INFO, Persona, capabilities_of
from dovetail_check.probe_sessions import OPENING
from dovetail_check.recording import Recording
from dovetail_check.replies import answer_request
from dovetail_check.safety import SafetyPolicy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["AuditContext", "Catalogue", "ProbeClient"]

# Seconds that an answer may lag behind the answer to what was sent after it.
GRACE = 0.3


@dataclass
class Catalogue:
    """What the server offers, as the walk over its lists found it."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[dict[str, Any]] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    resource_templates: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class AuditContext:
    """What all conversations of a sitting share."""

    recording: Recording
    transport: str
    revision: Revision
    policy: SafetyPolicy
    # Makes a line that is not open yet.
    connect: Callable[[Place], Line]
    timeout: float = 5.0
    start_timeout: float = 30.0
    catalogue: Catalogue = field(default_factory=Catalogue)
    # What the server declared.
    capabilities: dict[str, Any] = field(default_factory=dict)
    # Seconds from the start of a line to the answer to its opening.
    opening_seconds: float = 0.0
    # Names of tools that gave no answer when they were called.
    mute_tools: list[Any] = field(default_factory=list)

    @property
    def slack(self) -> float:
        """Seconds more for a server that was slow to begin: it may not have the machine alone."""
        return min(self.opening_seconds, self.timeout)

    @property
    def session(self) -> str:
        """The name that frames carry."""
        return f"{self.transport} {self.revision}"

    @property
    def is_modern(self) -> bool:
        """Whether the revision has no handshake."""
        return self.revision.family is Family.MODERN


class ProbeClient:
    """One client of the server."""

    def __init__(self, context: AuditContext, line: Line, persona: Persona = Persona.BARE) -> None:
        self.at = context
        self.line = line
        self.persona = persona
        line.asked = self._take_request
        # The probe at work: what it sends is tagged with its name.
        self.probe = ""
        # The id of the legacy HTTP session.
        self.session: str | None = None
        self.opening: Exchange | None = None
        # What to answer where the server asks; probes may put their own in.
        self.reply_to: Callable[[dict[str, Any]], bytes | None] = answer_request
        self._ids = count(1)

    # -- what a probe wants to know --------------------------------------------------------------

    @property
    def revision(self) -> Revision:
        """The revision in force."""
        return self.at.revision

    @property
    def is_modern(self) -> bool:
        """Whether every request carries an envelope."""
        return self.at.is_modern

    @property
    def is_http(self) -> bool:
        """Whether requests have headers and a status that say something: Streamable HTTP."""
        return self.at.transport == "http"

    @property
    def is_at_work(self) -> bool:
        """Whether the line is open, and what opened it was taken."""
        return self.line.is_open and self.opening is not None and self.opening.result is not None

    @property
    def catalogue(self) -> Catalogue:
        """What the server offers."""
        return self.at.catalogue

    def has(self, capability: str) -> bool:
        """Whether the server declared it; `resources.subscribe` asks for a member."""
        return declares(self.at.capabilities, capability)

    def callable_tools(self) -> list[dict[str, Any]]:
        """The tools that may be called with arguments that fit."""
        tools = self.catalogue.tools
        # A name that two tools share may reach the one that must not be called.
        barred = [tool.get("name") for tool in tools if not self.at.policy.may_call(tool)]
        barred += self.at.mute_tools
        return [tool for tool in tools if tool.get("name") not in barred]

    # -- opening -------------------------------------------------------------------------------

    async def open(self, offer: str | None = None) -> Exchange:
        """Open the line and say hello; `offer` is another version than the sitting's."""
        self.probe = self.probe or OPENING
        began = time.monotonic()
        await self.line.open()
        if self.is_modern:
            self.opening = await self.request(
                "server/discover", tag=OPENING, timeout=self.at.start_timeout
            )
        else:
            self.opening = await self.initialize(offer)
            if self.opening.result is not None and offer is None:
                await self.notify("notifications/initialized", tag=OPENING)
        self.at.opening_seconds = max(self.at.opening_seconds, time.monotonic() - began)
        return self.opening

    async def initialize(self, offer: str | None = None, *, tag: str = OPENING) -> Exchange:
        """The request that opens a legacy session; the session id is kept."""
        exchange = await self.request(
            "initialize",
            {
                "protocolVersion": offer or self.revision.date,
                "capabilities": capabilities_of(self.persona, self.revision),
                "clientInfo": CLIENT_INFO,
            },
            tag=tag,
            timeout=self.at.start_timeout,
        )
        self.session = exchange.header("mcp-session-id") or self.session
        return exchange

    async def revive(self) -> None:
        """Start again where the server died or forgot us."""
        if not self.line.is_open:
            self.line = self.at.connect(self.line.place)
            self.line.asked = self._take_request
            self.session = None
            await self.open()

    @asynccontextmanager
    async def another(
        self, name: str, *, opened: bool = True, persona: Persona | None = None
    ) -> AsyncIterator[ProbeClient]:
        """A second client of the same server, on a line of its own, for as long as it is needed."""
        place = self.line.place._replace(line=name)
        client = ProbeClient(self.at, self.at.connect(place), persona or self.persona)
        client.probe = self.probe
        try:
            await (client.open() if opened else client.line.open())
            yield client
        finally:
            await client.line.close()

    # -- sending -------------------------------------------------------------------------------

    def new_id(self) -> int:
        """An id that was not used on this line."""
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
        holds: bool = False,
    ) -> Exchange:
        """Send a request and wait for its answer.

        `meta` is put into `_meta`, where None takes a member out; `envelope=False` leaves out what
        the modern era wants in it. `headers` replaces headers, None leaves one out. `holds` returns
        once something came and goes on listening.
        """
        id = self.new_id() if id is None else id
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        message |= self._with_params(params, meta, envelope)
        if method == "tools/call":
            self.at.policy.check_call(self.catalogue.tools, params or {})
        exchange = await self.send(
            codec.encode(message),
            ids=(id,),
            tag=tag or self._tag(variant),
            headers=self.headers_for(method, params, headers),
            timeout=timeout,
            holds=holds,
        )
        if method == "tools/call" and exchange.answer is None and not holds:
            # It waits for something, or ended the server: once is enough.
            self.at.mute_tools.append((params or {}).get("name"))
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
        """Send a notification; over HTTP there is a response to look at."""
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
        holds: bool = False,
        hurry: asyncio.Event | None = None,
    ) -> Exchange:
        """Send bytes as they are. `ids=None`: an answer, if any, will have no id to know it by."""
        outgoing = Outgoing(
            data,
            tag or self._tag(variant),
            ids,
            self.at.timeout + self.at.slack if timeout is None else timeout,
            holds,
            headers=self.headers_for(None) if headers is None else headers,
            hurry=hurry,
        )
        return await self.line.send(outgoing)

    async def fetch(
        self,
        verb: str,
        *,
        url: str | None = None,
        headers: Mapping[str, str | None] | None = None,
        variant: str = "",
        data: bytes = b"",
        holds: bool = False,
        timeout: float | None = None,
    ) -> Exchange:
        """A bare HTTP request: GET, DELETE, or to another URL than the endpoint."""
        all_headers: dict[str, str | None] = {"Accept": "text/event-stream"}
        all_headers |= {"Mcp-Session-Id": self.session}
        if self.revision.version_header:
            all_headers["MCP-Protocol-Version"] = self.revision.date
        outgoing = Outgoing(
            data,
            self._tag(variant),
            (),
            self.at.timeout + self.at.slack if timeout is None else timeout,
            holds,
            verb,
            _only_given({**all_headers, **(headers or {})}),
            url,
        )
        return await self.line.send(outgoing)

    async def fence(self) -> Exchange:
        """A harmless request: once it is answered, everything before it has been seen."""
        if not self.is_modern:
            return await self.request("ping", tag="fence")
        return await self.request("server/discover", tag="fence")

    async def venture(
        self, data: bytes, *, ids: tuple[Any, ...] | None = None, variant: str = "", **more: Any
    ) -> Exchange:
        """Send what may stay without an answer: it is given until the fence, and a little grace."""
        hurry = asyncio.Event()
        sending = asyncio.create_task(
            self.send(data, ids=ids, variant=variant, hurry=hurry, **more)
        )
        # The line is written in order, so the fence comes behind it.
        await asyncio.sleep(0)
        # Over HTTP everything has a response of its own, however long it takes.
        await self.give_time({sending}, self.at.timeout if self.is_http else GRACE)
        hurry.set()
        return await sending

    async def give_time(self, sending: Collection[asyncio.Task[Exchange]], least: float) -> None:
        """Wait for what was sent before, behind a fence; longer where the server is slow."""
        began = time.monotonic()
        fence = await self.fence()
        lag = 0.0 if fence.answer is None else time.monotonic() - began
        await asyncio.wait(sending, timeout=max(least, 2 * lag))

    # -- what a request carries ------------------------------------------------------------------

    def _tag(self, variant: str) -> str:
        return f"{self.probe}/{variant}" if variant else self.probe

    def params_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The member `params` as a request would carry it, for messages made by hand."""
        return self._with_params(params, None, True)

    def _with_params(
        self, params: Mapping[str, Any] | None, meta: Mapping[str, Any] | None, envelope: bool
    ) -> dict[str, Any]:
        inside: dict[str, Any] = {}
        if self.is_modern and envelope:
            inside = {
                keys.PROTOCOL_VERSION: self.revision.date,
                keys.CLIENT_INFO: CLIENT_INFO,
                keys.CLIENT_CAPABILITIES: capabilities_of(self.persona, self.revision),
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
        """The headers that a POST carries; none of it matters on stdio."""
        if not isinstance(self.line, HttpLine):
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
        """What the tool's own schema wants repeated (x-mcp-header)."""
        for tool in self.catalogue.tools:
            if tool.get("name") == params.get("name"):
                values = param_values(tool.get("inputSchema"), params.get("arguments"))
                return {name: header_value(text) for name, text in values.items()}
        return {}

    def _take_request(self, message: dict[str, Any]) -> bytes | None:
        return self.reply_to(message)


def header_value(value: Any) -> str | None:
    """A value as Mcp-Name and Mcp-Param-* carry it: wrapped where a header could not hold it."""
    if not isinstance(value, str):
        return None
    is_plain = value.isascii() and value.isprintable() and value == value.strip()
    if is_plain and not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _only_given(headers: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if value is not None}
