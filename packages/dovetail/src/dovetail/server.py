"""`Server`: the decorators that register handlers, and the entry points for transports.

A server does not depend on a transport. `handle` answers one message, `connect` serves one client
for as long as it stays connected; transports are built on these two. Capabilities are computed
from the registered handlers.
"""

from __future__ import annotations

import os
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    TypeVar,
    Unpack,
    overload,
)

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.dispatch import Dispatcher, MethodHandler
from dovetail.core.identity import Identity
from dovetail.core.middleware import AnyMiddleware, wrap_handlers
from dovetail.core.options import HttpAppOptions, Options, complete_http_options
from dovetail.core.principal import Principal, to_principal
from dovetail.eras.select import Eras
from dovetail.errors import MissingPackageError, UsageError
from dovetail.extensions.binding import Extensions, read_params
from dovetail.extensions.extension import Extension
from dovetail.features.completion import Completions
from dovetail.features.custom_routes import CustomRoute, CustomRoutes
from dovetail.features.handlers import HandlerSpec, author_error, locate
from dovetail.features.middleware import REQUESTS
from dovetail.features.prompts import PromptOptions, Prompts
from dovetail.features.resource_lists import ResourceListOptions
from dovetail.features.resources import ResourceOptions, Resources
from dovetail.features.tools import ToolOptions, Tools
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.bus import Bus, MemoryBus, SharedBus
from dovetail.runtime.connection import Connection
from dovetail.runtime.engine import Engine, Lifespan
from dovetail.runtime.key_files import find_state_keys
from dovetail.runtime.processes import Processes
from dovetail.runtime.provider import Membership, Provider
from dovetail.runtime.runner import HandlerRunner
from dovetail.runtime.state import open_state
from dovetail.runtime.stateless import StatelessEndpoint
from dovetail.spec.models import Icon, Implementation
from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, find_revision

if TYPE_CHECKING:
    from dovetail.mount.mounts import Mounts
    from dovetail.mount.view import ToolTransform
    from dovetail.tasks.keeper import TaskKeeper
    from dovetail.transports.streamable_http.app import HttpApp
    from dovetail_console.app import ConsoleApp
    from dovetail_openapi.building import OpenApiOptions, Spec

__all__ = ["HttpAppOptions", "Server"]

F = TypeVar("F", bound=Callable[..., Any])
_LATEST = LATEST_LEGACY.date
LifespanFactory = Callable[["Server"], AbstractAsyncContextManager[Any]]
# The module, what needs it, and what to install.
_OPENAPI = ("dovetail_openapi", "A server from OpenAPI", "dovetail-openapi")
_CONSOLE = ("dovetail_console", "The console", "dovetail-console")


class SearchMode(Protocol):
    """The interface of `ToolSearch`, which changes how a server lists its tools."""

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that it adds."""

    def install(self, server: Server, /) -> None:
        """Change a new server."""

    def wrap(self, handlers: MutableMapping[str, MethodHandler], /) -> None:
        """Change the handlers of a server whenever they have been set."""


class Server:
    """An MCP server: register tools, resources and prompts, then run it or embed it."""

    def __init__(  # noqa: PLR0913 - the fields of serverInfo, all optional and by name
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
        extensions: Mapping[str, Any] | Iterable[Extension[Any]] | None = None,
        options: Options | None = None,
        guard: AuthBackend | None = None,
        middleware: Sequence[AnyMiddleware] = (),
        tool_search: SearchMode | None = None,
    ) -> None:
        """Create a server.

        `instructions` tell a model how to use the server. `title`, `description`, `website` and
        `icons` are for people: clients show them. `extensions` are those of the protocol that the
        server has; a mapping only declares them, by name with settings. `lifespan(server)` returns
        an async context manager that is entered before the first call; its value is `ctx.lifespan`.

        `guard` applies however the server is served, unless a transport gets another one.
        `middleware` runs around every request, the first one outermost. With `tool_search`,
        clients search for tools instead of listing them all.
        """
        if not name:
            raise UsageError("a server needs a name")
        if options is not None and not isinstance(options, Options):
            raise UsageError(f"options is an Options(...), got {type(options).__name__}")
        self.name = name
        self.version = version
        self.options: Options = options or Options()
        if guard is not None and not hasattr(guard, "protect"):
            raise UsageError(f"guard is a Guard; write Guard(...), got {guard!r:.100}")
        self.guard = guard
        self.middleware: tuple[AnyMiddleware, ...] = ()
        self._tool_search = tool_search
        # For tests: provider -> the one to use instead.
        self.dependency_overrides: dict[Callable[..., Any], Callable[..., Any]] = {}
        self._state = open_state(self.options.state, name)
        self._processes = Processes(self._state) if self._state.is_shared else None
        self._bus: Bus[ChangeEvent] = (
            MemoryBus() if self._processes is None else SharedBus(self._processes)
        )
        self._tasks = _Tasks(self)
        self._extensions = Extensions()
        if isinstance(extensions, Mapping):
            self._extensions.only_declared.update(extensions)
            extensions = None
        self.tools: Tools = Tools(
            self.options,
            self._changed(ChangeKind.TOOLS),
            self._tasks,
            self._extensions.bind_tool,
        )
        self.prompts: Prompts = Prompts(self.options, self._changed(ChangeKind.PROMPTS))
        self.resources: Resources = Resources(
            self.options, self._changed(ChangeKind.RESOURCES), self._extensions.bind_resource
        )
        self.routes: CustomRoutes = CustomRoutes()
        self.completions: Completions = Completions(self.prompts, self.resources)
        self._capabilities: dict[str, Any] | None = None
        self._mounted_capabilities: list[dict[str, Any]] = []
        # What clients of a server with a mounted proxy have been told so far.
        self._declared: dict[str, Any] = {}
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
            self._extensions.declared_at,
        )
        self.identity = identity
        # What servers use that this one is mounted in.
        self.provider: Provider = self._make_provider()
        eras = Eras(
            identity,
            self.options,
            self.provider.resource_exists,
            self.provider.resource_is_hidden,
        )
        state_keys = find_state_keys(
            self.options.state_keys,
            os.environ,
            for_cluster=not self._state.backend.is_local,
        )
        if state_keys is not None:
            eras.sealer.follow(state_keys)
        if self._processes is not None:
            membership = Membership(self._processes, lambda: eras.sealer.keys)
            self.provider.membership = membership
        self._lifespan = Lifespan(None if lifespan is None else lambda: _enter(lifespan, self))
        if self._processes is not None:
            self._lifespan.add(self._state.opened)
            self._lifespan.add(self._processes.opened)
            eras.rounds.set_store(self._state.used_rounds)
        self._methods_without_mounts = self._methods(eras)
        self._plain_handlers = dict(self._methods_without_mounts)
        self.handlers: dict[str, MethodHandler] = dict(self._plain_handlers)
        self._mounts: Mounts | None = None
        self.add_middleware(*middleware)
        self.engine: Engine = Engine(
            eras=eras,
            dispatcher=Dispatcher(
                self.handlers,
                self.capabilities,
                expose_tracebacks=self.options.expose_tracebacks,
                max_result_bytes=self.options.max_result_bytes,
            ),
            runner=HandlerRunner(self.options),
            host=self.provider,
            bus=self._bus,
            lifespan=self._lifespan,
            options=self.options,
            tasks=self._tasks,
            state=self._state,
            processes=self._processes,
        )
        # By the revision that legacy requests are served at.
        self._stateless: dict[str, StatelessEndpoint] = {}
        if tool_search is not None:
            tool_search.install(self)
            self.provider.search_tools = tool_search.tools
        for extension in extensions or ():
            self.add_extension(extension)

    def _make_provider(self) -> Provider:
        return Provider(self)

    def _methods(self, eras: Eras) -> dict[str, MethodHandler]:
        """Return the handlers of all methods; a subclass may serve them in another way."""
        return {
            **self.tools.methods(),
            **self.prompts.methods(),
            **self.resources.methods(),
            **self.completions.methods(),
            **eras.methods,
        }

    @classmethod
    @author_error
    def from_openapi(cls, spec: Spec, /, **options: Unpack[OpenApiOptions]) -> Server:
        """Return a server whose tools are the operations of an OpenAPI document.

        `spec` is a dict, a JSON or YAML text, or a path. Needs `dovetail-openapi`.
        """
        with MissingPackageError.when_importing(*_OPENAPI):
            from dovetail_openapi import building  # noqa: PLC0415 - see test_layers

        return building.build_from_openapi(cls, spec, options)

    @classmethod
    @author_error
    def from_fastapi(cls, app: Any, /, **options: Unpack[OpenApiOptions]) -> Server:
        """Return a server whose tools are the operations of a FastAPI application.

        The application runs in this process, its lifespan included. Needs `dovetail-openapi`.
        """
        with MissingPackageError.when_importing(*_OPENAPI):
            from dovetail_openapi import building  # noqa: PLC0415 - see test_layers

        return building.build_from_fastapi(cls, app, options)

    # -- registering ----------------------------------------------------------------------

    @overload
    def tool(self, function: F, /, **options: Unpack[ToolOptions]) -> F: ...
    @overload
    def tool(
        self, name: str | None = None, /, **options: Unpack[ToolOptions]
    ) -> Callable[[F], F]: ...
    @author_error
    def tool(
        self, function_or_name: F | str | None = None, /, **options: Unpack[ToolOptions]
    ) -> F | Callable[[F], F]:
        """Register a function as a tool.

        `@server.tool`, `@server.tool("name")` and `@server.tool(title=...)` all work. The keywords
        are those of `ToolOptions`.
        """
        function = None if isinstance(function_or_name, str) else function_or_name
        if isinstance(function_or_name, str):
            _check_name(function_or_name, options.get("name"))
            options["name"] = function_or_name
        return _register(lambda function: self.tools.add(function, **options), function)

    @overload
    def prompt(self, function: F, /, **options: Unpack[PromptOptions]) -> F: ...
    @overload
    def prompt(
        self, name: str | None = None, /, **options: Unpack[PromptOptions]
    ) -> Callable[[F], F]: ...
    @author_error
    def prompt(
        self, function_or_name: F | str | None = None, /, **options: Unpack[PromptOptions]
    ) -> F | Callable[[F], F]:
        """Register a function as a prompt.

        `@server.prompt`, `@server.prompt("name")` and `@server.prompt(title=...)` all work. The
        keywords are those of `PromptOptions`.
        """
        function = None if isinstance(function_or_name, str) else function_or_name
        if isinstance(function_or_name, str):
            _check_name(function_or_name, options.get("name"))
            options["name"] = function_or_name
        return _register(lambda function: self.prompts.add(function, **options), function)

    @author_error
    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[F], F]:
        """Register a function under a URI or a URI template.

        The keywords are those of `ResourceOptions`.
        """
        if not isinstance(uri, str):
            raise UsageError('a resource needs its URI: @server.resource("notes://today")')

        @author_error
        def register(function: F) -> F:
            self.resources.add(uri, function, **options)
            return function

        return register

    @overload
    def resource_list(self, function: F, /, **options: Unpack[ResourceListOptions]) -> F: ...
    @overload
    def resource_list(self, /, **options: Unpack[ResourceListOptions]) -> Callable[[F], F]: ...
    @author_error
    def resource_list(
        self, function: F | None = None, /, **options: Unpack[ResourceListOptions]
    ) -> F | Callable[[F], F]:
        """Register a function that lists the resources of a template page by page.

        It takes `cursor` (None for the first page) and optionally `limit`, and returns a
        `ResourcePage`. The keywords are those of `ResourceListOptions`.
        """
        return _register(lambda function: self.resources.lists.add(function, **options), function)

    def complete(self, target: Callable[..., Any] | str, argument: str, /) -> Callable[[F], F]:
        """Register a completer: a function that suggests values for an argument.

        `target` is the function or the name of a prompt, or the function or the URI template of a
        resource template.
        """

        @author_error
        def register(function: F) -> F:
            self.completions.add(target, argument, function)
            self._capabilities = None
            return function

        return register

    @author_error
    def custom_route(
        self, path: str, *, methods: Iterable[str] = ("GET",), guarded: bool = False
    ) -> Callable[[F], F]:
        """Register a function for an HTTP path beside the MCP endpoint, such as `/health`.

        It takes a `RouteRequest` and returns text, bytes, a value for JSON, or a `RouteResponse`.
        With `guarded`, the guard authenticates callers.
        """

        @author_error
        def register(function: F) -> F:
            self.routes.add(path, function, methods, guarded=guarded)
            return function

        return register

    @author_error
    def add_middleware(self, *middleware: AnyMiddleware) -> None:
        """Run each middleware around requests, inside those that were added before."""
        for each in middleware:
            if isinstance(each, type) or not callable(each):
                raise UsageError(
                    "a middleware is an async function or an object with an async __call__, got "
                    f"{each!r}"
                )
        self.middleware += middleware
        self._wrap_handlers()

    @author_error
    def add_extension(self, extension: Extension[Any]) -> None:
        """Add an extension, before tools and resources that have its option."""
        for each in self._extensions.add(extension):
            self.engine.eras.add_method(each.name, read_params, extension.is_offered_at)
            self._methods_without_mounts[each.name] = each.handler
            self._plain_handlers[each.name] = each.handler
        if type(extension).running is not Extension.running:
            self._lifespan.add(partial(extension.running, self))
        self._wrap_handlers()

    # -- mounting -------------------------------------------------------------------------

    @author_error
    def mount(
        self,
        server: Server,
        prefix: str = "",
        *,
        include: Iterable[str] | None = None,
        exclude: Iterable[str] = (),
        tools: Mapping[str, ToolTransform] | None = None,
        visible: Callable[[Principal | None, str, str], bool] | None = None,
        middleware: Sequence[AnyMiddleware] = (),
    ) -> None:
        """Serve the tools, prompts and resources of another server as well.

        With the prefix "shop" its tool `add` is `shop_add` here, its resource `notes://today` is
        `notes://shop/today`. Whatever it registers later appears too. Its middleware, guard and
        lifespan stay in force. Raises DuplicateError if both servers have an entry of one name.

        All following names are those in `server`. `include` and `exclude`: names or patterns such
        as "get_*"; for resources, URIs. `tools`: changes to tools by name. `visible`: called with
        principal, kind ("tool", "prompt", "resource", "resource template") and name; False hides
        the entry from this principal. `middleware` runs around requests of this mount only.
        """
        from dovetail.mount.mounts import Mounts  # noqa: PLC0415 - see test_layers
        from dovetail.mount.names import Prefix  # noqa: PLC0415 - see test_layers
        from dovetail.mount.view import View  # noqa: PLC0415 - see test_layers

        if not isinstance(server, Server):
            raise UsageError(f"only a Server can be mounted, got {type(server).__name__}")
        if self._mounts is None:
            self._mounts = self.provider.mounts = Mounts(self.provider, self._publish)
        options = self.options
        has_tag_filter = options.include_tags is not None or options.exclude_tags
        tags = options.shows_tags if has_tag_filter else None
        view = View(Prefix(prefix), include, exclude, tools, visible, tags)
        self.routes.mount(server.routes, server._adapt_route)
        try:
            self._mounts.add(server.provider, view, middleware)
        except UsageError:
            self.routes.unmount(server.routes)
            raise
        self._lifespan.add(server.running)
        # Tasks of mounted servers are tasks of this one, also of tools that they get later.
        self._serve_tasks()
        if server._tasks.is_offered:
            self._tasks.start()
        self._lifespan.add(self._tasks.closing)
        self._wrap_handlers()

    def _adapt_route(self, route: CustomRoute) -> CustomRoute:
        """Return a custom route for servers that this one is mounted in."""
        needs_caller = self.guard is not None and self.guard.requires_auth
        return route._replace(
            mounted_state=route.mounted_state or (lambda: self._lifespan.state),
            needs_caller=route.guarded and (route.needs_caller or needs_caller),
        )

    @author_error
    def import_server(self, server: Server, prefix: str = "") -> None:
        """Register the tools, prompts and resources that another server has now, as a copy.

        The copies run in this server: its lifespan, middleware and guard apply. A server with its
        own ones has to be mounted. Raises DuplicateError if both have an entry of one name.
        """
        from dovetail.mount.copying import copy_entries  # noqa: PLC0415 - see test_layers
        from dovetail.mount.names import Prefix  # noqa: PLC0415 - see test_layers

        copy_entries(server, self, Prefix(prefix))

    def unmount(self, prefix: str) -> None:
        """Stop serving the server that was mounted with this prefix."""
        if self._mounts is None:
            raise UsageError("no server is mounted")
        self.routes.unmount(self._mounts.remove(prefix).routes)

    def _wrap_handlers(self) -> None:
        if self._mounts is not None:
            self._plain_handlers = self._mounts.wrap(self._methods_without_mounts)
        self.handlers.update(self._plain_handlers)
        wrap_handlers(self.handlers, self._plain_handlers, REQUESTS, self.middleware)
        if self._tool_search is not None:
            self._tool_search.wrap(self.handlers)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Enter the lifespan for the time of a `with` block."""
        await self.start()
        try:
            yield
        finally:
            await self.close()

    # -- serving --------------------------------------------------------------------------

    def run(
        self,
        *,
        http: int | str | None = None,
        transport: Literal["stdio", "http", "streamable-http"] | None = None,
        host: str | None = None,
        port: int | None = None,
        path: str = "/mcp",
        console: bool = False,
        **options: Unpack[HttpAppOptions],
    ) -> None:
        """Serve until the client leaves or a signal arrives: over stdio, or over HTTP.

        `http` is a port or "HOST:PORT"; `transport="http"` with `host` and `port` is the same. Call
        it at the end of your file, below `if __name__ == "__main__":`. Raises SystemExit.
        """
        from dovetail.cli.run_stdio import choose_address, run  # noqa: PLC0415 - see test_layers

        address = choose_address(http, transport, host, port)
        raise SystemExit(run(self, address, path, complete_http_options(options), console=console))

    async def handle(
        self,
        message: bytes | str,
        send: Callable[[bytes], Awaitable[None] | None] | None = None,
        scope: Any = None,
        *,
        principal: Principal | str | None = None,
        revision: str = _LATEST,
    ) -> bytes | None:
        """Return the response to one message, None for a notification.

        `send` gets the notifications of the handler (progress, log messages); handlers find
        `scope` in `ctx.scope`. There is no session: legacy requests are served at `revision`.
        """
        endpoint = self._stateless.get(revision) or self._add_stateless(revision)
        data = message.encode() if isinstance(message, str) else message
        answer = endpoint.handle(data, send, scope, to_principal(principal))
        return answer if answer is None or isinstance(answer, bytes) else await answer

    def _add_stateless(self, date: str) -> StatelessEndpoint:
        revision = find_revision(date)
        if revision is None or revision not in LEGACY:
            raise UsageError(f"revision must be one with a handshake, got {date!r}")
        engine = self.engine if self.guard is None else self.guard.protect(self.engine, "handle")
        endpoint = self._stateless[date] = StatelessEndpoint(engine, revision)
        return endpoint

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
        """Serve a client for as long as it stays connected; needs a running event loop.

        Pass each message to `receive(message)` of the result and end it with `await close()`. If
        `send` buffers messages, `send_now` gets those that should be written at once.
        """
        guard = guard or self.guard
        engine = self.engine if guard is None else guard.protect(self.engine, "stdio")
        caller = to_principal(principal)
        return Connection(
            engine, send, send_now=send_now, drain=drain, scope=scope, principal=caller
        )

    @overload
    def http_app(
        self,
        path: str = "/mcp",
        *,
        guard: AuthBackend | None = None,
        console: Literal[False] = False,
        **options: Unpack[HttpAppOptions],
    ) -> HttpApp: ...
    @overload
    def http_app(
        self,
        path: str = "/mcp",
        *,
        guard: AuthBackend | None = None,
        console: Literal[True],
        **options: Unpack[HttpAppOptions],
    ) -> ConsoleApp: ...
    def http_app(
        self,
        path: str = "/mcp",
        *,
        guard: AuthBackend | None = None,
        console: bool = False,
        **options: Unpack[HttpAppOptions],
    ) -> HttpApp | ConsoleApp:
        """Return an ASGI application that serves this server over HTTP, both eras on one URL.

        Mount it anywhere or pass it to an ASGI server; it needs no lifespan events. A `guard`
        authenticates and authorizes callers. With `console`, browsers get a page to try the server
        out: on a loopback address, or with a guard that authenticates callers. It needs
        `dovetail-console`.
        """
        from dovetail.transports.streamable_http import app  # noqa: PLC0415 - see test_layers

        http = complete_http_options(options)
        auth = guard or self.guard
        params = self.provider.header_params
        endpoint = app.HttpApp(self.engine, path, http, params, auth, self.routes)
        if not console:
            return endpoint
        with MissingPackageError.when_importing(*_CONSOLE):
            from dovetail_console.app import add_console  # noqa: PLC0415 - see test_layers

        return add_console(endpoint, {"": endpoint})

    def add_lifespan(self, factory: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        """Enter another context manager with the lifespan, after the server's own.

        If the server is running, it is entered when the server starts again.
        """
        self._lifespan.add(factory)

    async def start(self) -> None:
        """Enter the lifespan now instead of at the first request."""
        await self._lifespan.start()

    async def close(self) -> None:
        """Exit the lifespan."""
        await self._lifespan.close()

    # -- changes --------------------------------------------------------------------------

    def resource_updated(self, uri: str) -> None:
        """Notify every client subscribed to this resource that it has changed."""
        self._bus.publish(ChangeEvent(ChangeKind.RESOURCE, uri))

    def resource_list_changed(self) -> None:
        """Notify clients that listen for changes that a `resource_list` has changed."""
        self._bus.publish(ChangeEvent(ChangeKind.RESOURCES))

    def _changed(self, what: ChangeKind) -> Callable[[], None]:
        return lambda: self._publish(ChangeEvent(what))

    def _publish(self, change: ChangeEvent) -> None:
        self._capabilities = None
        self._bus.publish(change)

    def _serve_tasks(self) -> None:
        """Serve the methods of tasks, from the first tool or mount on."""
        from dovetail.tasks.tools import task_methods  # noqa: PLC0415 - see test_layers

        added = {
            name: handler
            for name, handler in task_methods().items()
            if name not in self._methods_without_mounts
        }
        if added:
            self._methods_without_mounts.update(added)
            self._plain_handlers.update(added)
            self._wrap_handlers()

    # -- capabilities ---------------------------------------------------------------------

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities of this server, computed from the registered handlers."""
        if self._capabilities is not None and not self._mounted_capabilities:
            return self._capabilities
        # Those of a proxy change when it has reached its upstream.
        mounted = [each.source.capabilities() for each in self.provider.providers]
        if self._capabilities is None or mounted != self._mounted_capabilities:
            found: dict[str, Any] = {}
            if len(self.tools.registry):
                found["tools"] = {"listChanged": True}
            if len(self.prompts.registry):
                found["prompts"] = {"listChanged": True}
            if len(self.resources):
                found["resources"] = {"listChanged": True, "subscribe": True}
            if self.completions.are_offered:
                found["completions"] = {}
            if self.tools.offers_tasks:
                found["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            if self._can_log():
                found["logging"] = {}
            for each in mounted:
                for name, members in each.items():
                    found[name] = {**members, **found.get(name, {})}
            # Those of servers without proxies change only together with their registries.
            self._mounted_capabilities = []
            if not self.provider.has_fixed_names:
                self._mounted_capabilities = mounted
                # lifecycle.capability.truthful: a client uses what it was told, also after a proxy
                # has learned that its upstream lacks it; the lists are empty then.
                found = self._declared = {**self._declared, **found}
            self._capabilities = found
        return self._capabilities

    def _can_log(self) -> bool:
        # logging.capability: only a handler with a Context can send log messages
        if self.options.current_context:
            return True
        registered = (
            *self.tools.registry,
            *self.prompts.registry,
            *self.resources.registry,
            *self.resources.templates_registry,
            *self.resources.lists.registry,
            *self.completions,
        )
        return any(entry.spec.uses_context for entry in registered)


class _Tasks:
    """The tasks of a server; what they need is imported with the first tool that runs as one."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._keeper: TaskKeeper | None = None
        # Whether the store is opened with the server.
        self.is_offered = False

    @property
    def keeper(self) -> TaskKeeper:
        """What creates tasks and answers requests about them."""
        if self._keeper is None:
            from dovetail.tasks.keeper import TaskKeeper  # noqa: PLC0415 - see test_layers

            server = self._server
            self._keeper = TaskKeeper(server.engine, server.provider.is_resumable)
        return self._keeper

    def bind(self, spec: HandlerSpec, support: str, **options: Any) -> Any:
        """Return how a tool runs as a task, None for never; raises UsageError."""
        from dovetail.tasks.tools import bind_task  # noqa: PLC0415 - see test_layers

        return bind_task(spec, support, **options)

    def start(self) -> Callable[..., Coroutine[Any, Any, Any] | None]:
        """Offer tasks to clients, and return what calls of tools are passed to."""
        from dovetail.tasks.tools import divert  # noqa: PLC0415 - see test_layers

        if not self.is_offered:
            self.is_offered = True
            self._server._serve_tasks()
            self._server._lifespan.add(self.keeper.open)
        return divert

    @asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """End tasks before a mounted server exits, also those of tools it registered later."""
        try:
            yield
        finally:
            if self._keeper is not None:
                await self._keeper.close()


def _register(add: Callable[[F], object], function: F | None) -> F | Callable[[F], F]:
    """Register a function, or return the decorator that does."""

    @author_error
    def register(function: F) -> F:
        add(function)
        return function

    return register if function is None else register(function)


def _enter(lifespan: LifespanFactory, server: Server) -> AbstractAsyncContextManager[Any]:
    manager = lifespan(server)
    if not hasattr(manager, "__aenter__"):
        name = getattr(lifespan, "__name__", "lifespan")
        raise UsageError(
            f"lifespan {name!r}{locate(lifespan)} must return an async context manager, got "
            f"{type(manager).__name__}; put @contextlib.asynccontextmanager above the function"
        )
    return manager


def _check_name(positional: str, keyword: str | None) -> None:
    if keyword is not None:
        raise UsageError(f"the name is given twice, as {positional!r} and as name={keyword!r}")
