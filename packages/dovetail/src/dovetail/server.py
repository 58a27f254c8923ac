"""`Server`: decorators and composition.

A server knows no transport. `handle` answers one message, `connect` serves one client
that stays; everything that moves bytes is built on these two. Capabilities are
computed from what is registered, so they cannot promise what is not there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dovetail.core.call import Call
from dovetail.core.dispatch import Dispatcher
from dovetail.core.identity import Identity
from dovetail.core.options import Options
from dovetail.core.principal import Principal, to_principal
from dovetail.eras.select import Eras
from dovetail.errors import UsageError
from dovetail.features.completion import Completions
from dovetail.features.prompts import Prompts
from dovetail.features.resources import Resources
from dovetail.features.subscriptions import ChangeEvent, ChangeKind
from dovetail.features.tasks import task_methods
from dovetail.features.tools import Tools
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine
from dovetail.runtime.lifespan import Lifespan
from dovetail.runtime.one_shot import handle_message
from dovetail.runtime.runner import HandlerRunner
from dovetail.runtime.task_files import open_task_store
from dovetail.runtime.tasks import TaskKeeper
from dovetail.spec.models import Icon, Implementation, ReadResourceResult, ResourceContents
from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, find_revision
from dovetail.stores.bus import MemoryBus

if TYPE_CHECKING:
    from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["Server"]

F = TypeVar("F", bound=Callable[..., Any])
_LATEST = LATEST_LEGACY.date
LifespanFactory = Callable[["Server"], AbstractAsyncContextManager[Any]]


class Server:
    """An MCP server: register tools, resources and prompts, then run it or embed it."""

    def __init__(  # noqa: PLR0913 - what a server says of itself, all optional and by name
        self,
        name: str,
        *,
        version: str = "0.0.0",
        instructions: str | None = None,
        title: str | None = None,
        description: str | None = None,
        website: str | None = None,
        icons: list[Icon] | None = None,
        lifespan: LifespanFactory | None = None,
        extensions: Mapping[str, Any] | None = None,
        options: Options | None = None,
    ) -> None:
        if not name:
            raise UsageError("a server needs a name")
        if options is not None and not isinstance(options, Options):
            raise UsageError(f"options is an Options(...), got {type(options).__name__}")
        self.name = name
        self.version = version
        self.options = options or Options()
        self._bus: MemoryBus[ChangeEvent] = MemoryBus()
        self.tools = Tools(self.options, self._changed(ChangeKind.TOOLS), self._offer_tasks)
        self.prompts = Prompts(self.options, self._changed(ChangeKind.PROMPTS))
        self.resources = Resources(self.options, self._changed(ChangeKind.RESOURCES))
        self._completions = Completions(self.prompts, self.resources)
        self._capabilities: dict[str, Any] | None = None
        identity = Identity(
            Implementation(
                name=name,
                title=title,
                version=version,
                description=description,
                website_url=website,
                icons=icons,
            ),
            instructions,
            self.capabilities,
            dict(extensions or {}),
        )
        self.identity = identity
        eras = Eras(identity, self.options, self.resources.exists, self.resources.is_hidden)
        self._lifespan = Lifespan(None if lifespan is None else lambda: lifespan(self))
        self._tasks = TaskKeeper(
            lambda: open_task_store(self.options.task_store, name), self.tools.is_resumable
        )
        self._offers_tasks = False
        self.engine = Engine(
            eras=eras,
            dispatcher=Dispatcher(
                {
                    **self.tools.methods(),
                    **self.prompts.methods(),
                    **self.resources.methods(),
                    **self._completions.methods(),
                    **task_methods(),
                    **eras.methods,
                },
                self.capabilities,
                expose_tracebacks=self.options.expose_tracebacks,
                max_result_bytes=self.options.max_result_bytes,
            ),
            runner=HandlerRunner(self.options),
            host=self,
            bus=self._bus,
            lifespan=self._lifespan,
            options=self.options,
            tasks=self._tasks,
        )
        self._tasks.attach(self.engine)

    # -- registering ----------------------------------------------------------------------

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(self, /, **options: Any) -> Callable[[F], F]: ...
    def tool(self, function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
        """Register a function as a tool: `@server.tool` or `@server.tool(title=...)`.

        Takes the keywords of `server.tools.add`.
        """
        if function is not None:
            self.tools.add(function, **options)
            return function

        def register(function: F) -> F:
            self.tools.add(function, **options)
            return function

        return register

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(self, /, **options: Any) -> Callable[[F], F]: ...
    def prompt(self, function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
        """Register a function as a prompt: `@server.prompt` or `@server.prompt(title=...)`.

        Takes the keywords of `server.prompts.add`.
        """
        if function is not None:
            self.prompts.add(function, **options)
            return function

        def register(function: F) -> F:
            self.prompts.add(function, **options)
            return function

        return register

    def resource(self, uri: str, /, **options: Any) -> Callable[[F], F]:
        """Register a function under a URI or a URI template.

        Takes the keywords of `server.resources.add`.
        """
        if not isinstance(uri, str):
            raise UsageError('a resource needs its URI: @server.resource("notes://today")')

        def register(function: F) -> F:
            self.resources.add(uri, function, **options)
            return function

        return register

    @overload
    def resource_list(self, function: F, /) -> F: ...
    @overload
    def resource_list(self, /, **options: Any) -> Callable[[F], F]: ...
    def resource_list(self, function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
        """Register a function that lists resources page by page, for what a template reads.

        It gets `cursor` (None for the first page) and, if it wants, `limit`, and returns a
        `ResourcePage`. Takes the keywords of `server.resources.lists.add`.
        """
        if function is not None:
            self.resources.lists.add(function, **options)
            return function

        def register(function: F) -> F:
            self.resources.lists.add(function, **options)
            return function

        return register

    def complete(self, target: Any, argument: str, /) -> Callable[[F], F]:
        """Register suggestions for an argument of a prompt or a variable of a template."""

        def register(function: F) -> F:
            self._completions.add(target, argument, function)
            self._capabilities = None
            return function

        return register

    # -- serving --------------------------------------------------------------------------

    async def handle(
        self,
        message: bytes | str,
        send: Callable[[bytes], Awaitable[None] | None] | None = None,
        scope: Any = None,
        *,
        principal: Principal | str | None = None,
        revision: str = _LATEST,
    ) -> bytes | None:
        """Answer one message; None where no answer is due.

        `send` gets what the handler says before it is done (progress, log messages), `scope`
        is whatever handlers should find in `ctx.scope`. Nothing is remembered: a legacy
        request is served at `revision`.
        """
        known = LATEST_LEGACY if revision is _LATEST else find_revision(revision)
        if known not in LEGACY:
            raise UsageError(f"revision is for clients with a handshake, got {revision!r}")
        if not self._lifespan.started:
            await self._lifespan.start()
        data = message.encode() if isinstance(message, str) else message
        answer = handle_message(self.engine, data, send, scope, to_principal(principal), known)
        return answer if answer is None or isinstance(answer, bytes) else await answer

    def connect(
        self,
        send: Callable[[bytes], None],
        *,
        send_now: Callable[[bytes], None] | None = None,
        drain: Callable[[], Awaitable[None]] | None = None,
        scope: Any = None,
        principal: Principal | str | None = None,
        guard: AuthBackend | None = None,
    ) -> Connection:
        """Serve a client that stays connected; needs a running event loop.

        Feed the result with `receive(message)`, end it with `await close()`. For a `send` that
        collects messages, `send_now` gets those that no other is about to follow.
        """
        engine = self.engine if guard is None else guard.protect(self.engine, "stdio")
        caller = to_principal(principal)
        return Connection(
            engine, send, send_now=send_now, drain=drain, scope=scope, principal=caller
        )

    def http_app(
        self, path: str = "/mcp", *, guard: AuthBackend | None = None, **options: Any
    ) -> HttpApp:
        """An ASGI application that serves this server over HTTP, both eras on one URL.

        Mount it anywhere, or hand it to an ASGI server; it needs no lifespan. Takes the
        keywords of `HttpOptions`. A `guard` decides who may call.
        """
        from dovetail.transports.streamable_http import app  # noqa: PLC0415 - see test_layers

        http = app.HttpOptions(path=path, **options)
        return app.HttpApp(self.engine, http, self.tools.header_params, guard)

    async def start(self) -> None:
        """Enter the lifespan now instead of at the first request."""
        await self._lifespan.start()

    async def close(self) -> None:
        """Leave the lifespan."""
        await self._lifespan.close()

    # -- changes --------------------------------------------------------------------------

    def resource_updated(self, uri: str) -> None:
        """Tell every client that watches this resource that it has changed."""
        self._bus.publish(ChangeEvent(ChangeKind.RESOURCE, uri))

    def resource_list_changed(self) -> None:
        """Tell every client that listens that a `resource_list` has other resources now."""
        self._bus.publish(ChangeEvent(ChangeKind.RESOURCES))

    async def read_resource(self, call: Call, uri: str) -> list[ResourceContents]:
        """What resources/read would answer, for handlers (`ctx.read_resource`)."""
        shaped = self.resources.read(call, uri)
        if isinstance(shaped, Coroutine):
            shaped = await shaped
        assert isinstance(shaped.result, ReadResourceResult)
        return shaped.result.contents

    def _changed(self, what: ChangeKind) -> Callable[[], None]:
        def changed() -> None:
            self._capabilities = None
            self._bus.publish(ChangeEvent(what))

        return changed

    def _offer_tasks(self) -> None:
        """From the first tool on that may run as a task, what was left behind is looked for."""
        if not self._offers_tasks:
            self._offers_tasks = True
            self._lifespan.add(self._tasks.open)

    # -- capabilities ---------------------------------------------------------------------

    def capabilities(self) -> dict[str, Any]:
        """What this server offers, computed from what is registered."""
        if self._capabilities is None:
            found: dict[str, Any] = {}
            if len(self.tools.registry):
                found["tools"] = {"listChanged": True}
            if len(self.prompts.registry):
                found["prompts"] = {"listChanged": True}
            if len(self.resources):
                found["resources"] = {"listChanged": True, "subscribe": True}
            if len(self._completions):
                found["completions"] = {}
            if self.tools.offers_tasks:
                found["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            if self._can_log():
                found["logging"] = {}
            self._capabilities = found
        return self._capabilities

    def _can_log(self) -> bool:
        # logging.capability: only a handler with a Context can send log messages
        registered = (
            *self.tools.registry,
            *self.prompts.registry,
            *self.resources.registry,
            *self.resources.templates_registry,
            *self.resources.lists.registry,
            *self._completions,
        )
        return any(entry.spec.context is not None for entry in registered)
