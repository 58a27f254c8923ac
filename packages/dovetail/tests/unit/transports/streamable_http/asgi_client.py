"""A client without a socket: it calls the ASGI application and keeps what is sent back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, MutableMapping
from typing import Any, NamedTuple

from dovetail.transports.streamable_http.app import HttpApp
from tests.patience import CAP
from tests.unit.talk import LEGACY, MODERN, Json, notification, request, text_of

Message = MutableMapping[str, Any]
Pairs = list[tuple[str, str]]


class Event(NamedTuple):
    data: bytes
    id: bytes | None
    retry: bytes | None


class Response:
    """One response, as far as it has come."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.is_complete = False
        self.task: asyncio.Task[None] = asyncio.ensure_future(asyncio.sleep(0))
        self.news = asyncio.Event()
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        # A reader that takes nothing while this is closed.
        self.reads = asyncio.Event()
        self.reads.set()

    # -- the two ends of ASGI ---------------------------------------------------------------

    async def receive(self) -> Message:
        return await self._inbox.get()

    async def transmit(self, message: Message) -> None:
        await self.reads.wait()
        if message["type"] == "http.response.start":
            assert not self.status, "the response was begun twice"
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            assert self.status, "a body without a beginning"
            assert not self.is_complete, "more after the end"
            self.body += message["body"]
            self.is_complete = not message.get("more_body", False)
        self.news.set()

    # -- what the test does -----------------------------------------------------------------

    def upload(self, chunk: bytes, *, more: bool = False) -> None:
        self._inbox.put_nowait({"type": "http.request", "body": chunk, "more_body": more})

    def disconnect(self) -> None:
        self._inbox.put_nowait({"type": "http.disconnect"})

    async def until(self, wanted: Callable[[Response], bool]) -> Response:
        """Wait until something holds."""
        async with asyncio.timeout(CAP):
            while not wanted(self):
                assert not self.task.done() or self.task.exception() is None, self.task.exception()
                self.news.clear()
                await self.news.wait()
        return self

    async def done(self) -> Response:
        """Wait until the application has returned."""
        async with asyncio.timeout(CAP):
            await self.task
        return self

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", self.headers
        assert self.headers["content-length"] == str(len(self.body))
        return json.loads(self.body)

    @property
    def code(self) -> int:
        return int(self.json["error"]["code"])

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type") == "text/event-stream"

    @property
    def events(self) -> list[Event]:
        assert self.is_stream, (self.status, self.headers, self.body)
        events = []
        for block in self.body.split(b"\n\n")[:-1]:
            if not block.startswith(b":"):
                fields = dict(line.split(b": ", 1) for line in block.split(b"\n"))
                events.append(Event(fields[b"data"], fields.get(b"id"), fields.get(b"retry")))
        return events

    @property
    def messages(self) -> list[Any]:
        """What the events say, without those that say nothing."""
        return [json.loads(event.data) for event in self.events if event.data]

    @property
    def ids(self) -> list[bytes]:
        return [event.id for event in self.events if event.id]

    def heard(self, method: str) -> list[Json]:
        if not self.is_stream:
            return []
        return [message for message in self.messages if message.get("method") == method]

    async def hear(self, method: str, times: int = 1) -> Json:
        """The latest message of this method once there are so many."""
        await self.until(lambda response: len(response.heard(method)) >= times)
        return self.heard(method)[times - 1]


class Client:
    """Talks to one application."""

    def __init__(self, app: HttpApp, *, root_path: str = "") -> None:
        self.app = app
        self.root_path = root_path
        self.server: tuple[str, int | None] | None = ("127.0.0.1", 8000)
        self.session: str | None = None
        self.version: str | None = None
        self._last_id = 0

    def start(
        self,
        method: str = "POST",
        body: bytes | None = b"",
        headers: Pairs | None = None,
        *,
        path: str = "/mcp",
        host: str | None = "localhost:8000",
        accept: str | None = "application/json, text/event-stream",
        reads: bool = True,
    ) -> Response:
        """Begin a request; a body of None is uploaded by the test."""
        response = Response()
        sent: Pairs = [("host", host)] if host is not None else []
        if accept is not None:
            sent.append(("accept", accept))
        names = {name for name, _ in headers or ()}
        if method == "POST" and "content-type" not in names:
            sent.append(("content-type", "application/json"))
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "root_path": self.root_path,
            "server": self.server,
            "headers": [(n.encode(), v.encode("latin-1")) for n, v in [*sent, *(headers or ())]],
        }
        if body is not None:
            response.upload(body)
        if not reads:
            response.reads.clear()
        response.task = asyncio.ensure_future(self.app(scope, response.receive, response.transmit))
        response.task.add_done_callback(lambda task: response.news.set())
        return response

    async def send(self, *args: Any, **how: Any) -> Response:
        """A request to its end."""
        return await self.start(*args, **how).done()

    # -- the modern era ---------------------------------------------------------------------

    def modern(
        self,
        method: str,
        params: Json | None = None,
        headers: dict[str, str | None] | None = None,
        *,
        capabilities: Json | None = None,
        meta: Json | None = None,
        reads: bool = True,
    ) -> Response:
        """Begin a modern request with the headers that belong to it; None takes one away."""
        params = params or {}
        sent: dict[str, str | None] = {"mcp-protocol-version": MODERN, "mcp-method": method}
        name = params.get("uri") if method == "resources/read" else params.get("name")
        if name is not None:
            sent["mcp-name"] = name
        sent |= headers or {}
        body = request(method, params, revision=MODERN, capabilities=capabilities, meta=meta)
        return self.start(
            "POST", body, [(n, v) for n, v in sent.items() if v is not None], reads=reads
        )

    def modern_call(
        self, tool: str, arguments: Json | None = None, *args: Any, **how: Any
    ) -> Response:
        params = {"name": tool, "arguments": arguments or {}}
        return self.modern("tools/call", params, *args, **how)

    # -- the legacy era ---------------------------------------------------------------------

    @property
    def own(self) -> Pairs:
        """The headers of this session."""
        found: Pairs = []
        if self.session is not None:
            found.append(("mcp-session-id", self.session))
        if self.version is not None:
            found.append(("mcp-protocol-version", self.version))
        return found

    async def open(
        self, revision: str = LEGACY, capabilities: Json | None = None, *, ready: bool = True
    ) -> Client:
        """Shake hands."""
        response = await self.hello(revision, capabilities)
        assert response.status == 200, response.body
        self.session = response.headers.get("mcp-session-id")
        self.version = response.json["result"]["protocolVersion"]
        if ready:
            told = await self.tell("notifications/initialized")
            assert (told.status, told.body) == (202, b"")
        return self

    async def hello(self, revision: str = LEGACY, capabilities: Json | None = None) -> Response:
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "tester", "version": "1"},
        }
        return await self.send("POST", request("initialize", params))

    async def tell(self, method: str, params: Json | None = None) -> Response:
        return await self.send("POST", notification(method, params), self.own)

    def post(self, method: str, params: Json | None = None, **how: Any) -> Response:
        """Begin a request of the session."""
        self._last_id += 1
        id = how.pop("id", self._last_id)
        reads = how.pop("reads", True)
        body = request(method, params, id=id, **how)
        return self.start("POST", body, self.own, reads=reads)

    def call(self, tool: str, arguments: Json | None = None, **how: Any) -> Response:
        return self.post("tools/call", {"name": tool, "arguments": arguments or {}}, **how)

    def listen(self, last_event_id: bytes | None = None, *, reads: bool = True) -> Response:
        """Begin a GET."""
        headers = self.own
        if last_event_id is not None:
            headers.append(("last-event-id", last_event_id.decode()))
        return self.start("GET", b"", headers, accept="text/event-stream", reads=reads)

    async def delete(self) -> Response:
        return await self.send("DELETE", b"", self.own)

    async def reply(self, id: Any, result: Any) -> Response:
        """Answer a request of the server."""
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        return await self.send("POST", json.dumps(message).encode(), self.own)


def answer_in(response: Response) -> str:
    """The text of the tool's answer, on the stream or alone."""
    message = response.messages[-1] if response.is_stream else response.json
    return text_of(message["result"])


def batch(*items: bytes) -> bytes:
    return b"[" + b",".join(items) + b"]"
