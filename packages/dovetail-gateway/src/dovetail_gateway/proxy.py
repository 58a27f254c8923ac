"""`Proxy`: a server whose tools, prompts and resources are those of another server."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Raw

from dovetail import Options, Server
from dovetail.client import Channel, Target
from dovetail.client.http_headers import ToolHeaders
from dovetail.client.targets import is_url, open_target
from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.dispatch import MethodHandler, Outcome, Shaped
from dovetail.core.middleware import AnyMiddleware
from dovetail.eras.select import Eras
from dovetail.errors import (
    DovetailError,
    InvalidParamsError,
    PeerError,
    RpcError,
    TransportError,
    UsageError,
)
from dovetail.features.tools import failed
from dovetail.net.background import BackgroundTasks
from dovetail.net.backoff import backoff
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.provider import Provider
from dovetail.spec.models import (
    CallToolParams,
    CompleteParams,
    DiscoverResult,
    GetPromptParams,
    InitializeParams,
    ListenParams,
    ListParams,
    ReadResourceParams,
    ResourceParams,
)
from dovetail.wire import codec
from dovetail.wire.messages import Notification
from dovetail_gateway.changes import ChangeRelay
from dovetail_gateway.connection import UpstreamConnection
from dovetail_gateway.envelopes import count_hops, declared_by
from dovetail_gateway.failures import UpstreamError, UpstreamUnavailableError, explain
from dovetail_gateway.forwarder import Forwarder
from dovetail_gateway.provider import ProxyProvider
from dovetail_gateway.results import LISTS, find_next, fit_result, read_members
from dovetail_gateway.tasks import TASK_CAPABILITY, TASK_METHODS, ProxyTasks
from dovetail_gateway.upstream import ProxyCaller, Upstream, UpstreamSettings

if TYPE_CHECKING:
    from dovetail.auth import Principal
    from dovetail.client.auth import Auth

__all__ = [
    "Credentials",
    "Monitor",
    "Proxy",
    "ReadOnlyTools",
    "is_read_only",
]

# A list with more pages than this is treated as endless.
_MAX_PAGES = 1000


def is_read_only(call: Call) -> bool:
    """Whether a guard allows this call only tools that are annotated as read-only."""
    permission = call.services.permission
    return permission is not None and permission.read_only


class _Hints(msgspec.Struct, rename="camel"):
    read_only_hint: Any = None


class _Tool(msgspec.Struct):
    name: str
    annotations: _Hints | None = None


class ReadOnlyTools:
    """Which tools of an upstream are annotated as read-only."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder
        self._reads: dict[str, bool] = {}

    async def have(self, call: Call, name: str) -> bool:
        """Whether a tool is read-only; lists the tools for this caller if that is unknown."""
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            if name in self._reads:
                break
            params = {} if cursor is None else {"cursor": cursor}
            answer = await self._forwarder.forward(call, "tools/list", params)
            self.filter(answer.raw)
            cursor = find_next(answer.raw)
            if cursor is None:
                break
        return self._reads.get(name, False)

    def filter(self, raw: Raw) -> Raw:
        """Return a list without all other tools, and remember what it says; raises PeerError."""
        members = read_members(raw, "tools/list")
        try:
            tools = codec.decode_as(list[_Tool], members.get("tools", b"[]"))
        except msgspec.ValidationError as error:
            raise PeerError(f"the result of tools/list is invalid: {error}") from None
        self._reads.update((tool.name, _reads(tool)) for tool in tools)
        entries = codec.decode_as(list[Raw], members.get("tools", b"[]"))
        kept = [entry for tool, entry in zip(tools, entries, strict=True) if _reads(tool)]
        return Raw(codec.encode({**members, "tools": kept}))

    def changed(self, event: ChangeEvent) -> None:
        """Forget everything if the tools may have changed."""
        if event.what is ChangeKind.TOOLS:
            self._reads.clear()


def _reads(tool: _Tool) -> bool:
    return tool.annotations is not None and tool.annotations.read_only_hint is True


# Seconds between two attempts: the first, and the longest.
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 15.0


class Monitor:
    """Finds out whether an upstream is there before somebody calls it."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._tasks = BackgroundTasks()
        self._is_trying = False

    def start(self) -> None:
        """Connect in the background."""
        self._upstream.presence.on_change.append(self._react)
        self._tasks.start(self._upstream.probe())

    async def close(self) -> None:
        """Stop all attempts."""
        self._upstream.presence.on_change.remove(self._react)
        await self._tasks.close()

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[None]:
        """Limit the time of a list; raises UpstreamUnavailableError, at once if that is known."""
        presence, seconds = self._upstream.presence, self._upstream.timeout
        if presence.is_unavailable:
            raise UpstreamUnavailableError(self._upstream.name, presence.reason)
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            presence.lost(TimeoutError(f"no answer to a list within {seconds:g} s"))
            raise UpstreamUnavailableError(self._upstream.name, presence.reason) from None

    def _react(self) -> None:
        if self._upstream.presence.is_unavailable and not self._is_trying:
            self._is_trying = True
            self._tasks.start(self._try_again())

    async def _try_again(self) -> None:
        pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        try:
            while self._upstream.presence.is_unavailable:
                await asyncio.sleep(next(pauses))
                await self._upstream.probe()
        finally:
            self._is_trying = False


# What `auth` returns for a principal: headers, a login such as `OAuth`, or nothing.
Credentials: TypeAlias = "Mapping[str, str] | Auth | None"
FindCredentials: TypeAlias = "Callable[[Principal | None], Awaitable[Credentials] | Credentials]"

# Declared while the upstream is unknown, so that clients use it once it is there.
_EVERYTHING: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
}
_PASSED_ON = ("tools", "prompts", "resources", "completions", "logging", "experimental")
_LISTED = frozenset({"tools", "prompts", "resources"})


class Proxy(Server):
    """A server that forwards to another one: a URL, a command, or a configuration entry.

    `auth` logs in to a URL, for all callers, or is a function that returns the credentials for
    the principal of a call. `headers`, `env`, `cwd` and `mode` are those of `Client`. With
    `eager` it connects at start, and tries again while that fails; otherwise on demand.
    """

    def __init__(  # noqa: PLR0913 - public options, independent of each other
        self,
        target: Target,
        *,
        name: str | None = None,
        version: str = "0.0.0",
        options: Options | None = None,
        guard: AuthBackend | None = None,
        middleware: Sequence[AnyMiddleware] = (),
        mode: str = "auto",
        auth: Auth | FindCredentials | None = None,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        connect_timeout: float = 10.0,
        max_connections: int = 32,
        max_waiting_calls: int = 100,
        eager: bool = False,
    ) -> None:
        self.forwarder: Forwarder
        super().__init__(
            name or _name_of(target),
            version=version,
            options=options,
            guard=guard,
            middleware=middleware,
        )
        find = _per_principal(auth)
        channels = partial(self.open_channel, target, env=env, cwd=cwd)
        if find is None:
            channels = partial(channels, headers=headers, auth=auth)
        # A bad target fails here, where the author wrote it.
        channels()
        settings = UpstreamSettings(
            self.name,
            partial(_find_channel, channels, find, headers),
            client=(self.name, version),
            mode=mode,
            is_http=_find_url(target) is not None,
            per_principal=find is not None,
            timeout=connect_timeout,
            max_connections=max_connections,
        )
        self._upstream = Upstream(settings, self._opened, self._notified)
        self._upstream.presence.on_change.append(self._presence_changed)
        info = {"name": self.name, "version": version}
        self.forwarder = Forwarder(self._upstream, self.options, info, max_waiting_calls)
        own_key = (secrets.token_bytes(32),)
        sealer = self.engine.eras.sealer
        self.upstream_tasks = ProxyTasks(self.forwarder, lambda: sealer.keys or own_key)
        self.relay = ChangeRelay(self._upstream, self._bus.publish)
        self.tool_headers = ToolHeaders()
        self._read_only_tools = ReadOnlyTools(self.forwarder)
        self._bus.subscribe(self._read_only_tools.changed)
        self._instructions: str | None = None
        self._monitor = Monitor(self._upstream) if eager else None
        self._lifespan.add(self._running)
        if self.provider.membership is not None:
            self.provider.join(self.provider.membership)

    def open_channel(self, target: Target, **options: Any) -> Channel:
        """Return a channel to the upstream that is not open yet; a subclass may wrap it."""
        return open_target(target, **options)

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[None]:
        if self._monitor is not None:
            self._monitor.start()
        try:
            yield
        finally:
            if self._monitor is not None:
                await self._monitor.close()
            await self.relay.close()
            self.forwarder.kept.close()
            await self._upstream.close()

    def _make_provider(self) -> Provider:
        return ProxyProvider(self)

    def _methods(self, eras: Eras) -> dict[str, MethodHandler]:
        """Return handlers that forward; what concerns the connection of a client stays here."""
        own = super()._methods(eras)

        def forwarding(run: Callable[[Call], Any], **options: Any) -> MethodHandler:
            return MethodHandler(run, needs_task=True, **options)

        return {
            **own,
            "initialize": forwarding(partial(self._initialize, own["initialize"])),
            "server/discover": forwarding(partial(self._discover, own["server/discover"])),
            **{method: forwarding(self._list) for method in LISTS},
            "tools/call": forwarding(self._call_tool, fault=failed),
            **{method: forwarding(self._about_task) for method in TASK_METHODS},
            "prompts/get": forwarding(self._get_prompt),
            "resources/read": forwarding(self._read),
            "completion/complete": forwarding(self._complete),
            "resources/subscribe": forwarding(partial(self._subscribe, own["resources/subscribe"])),
            "resources/unsubscribe": forwarding(
                partial(self._unsubscribe, own["resources/unsubscribe"])
            ),
            "subscriptions/listen": forwarding(partial(self._listen, own["subscriptions/listen"])),
        }

    def _changed(self, what: ChangeKind) -> Callable[[], None]:
        """Return what registering calls: a proxy has no handlers of its own."""

        def refuse() -> None:
            raise UsageError(
                f"{self.name!r} is a proxy and has the tools, prompts and resources of its "
                "upstream; register others on a Server"
            )

        return refuse

    # -- methods ----------------------------------------------------------------------------------

    async def _initialize(self, own: MethodHandler, call: Call) -> Any:
        params: InitializeParams = call.params  # type: ignore[assignment]
        declared = declared_by(params.capabilities)
        await self._contact(ProxyCaller(call.principal, None, declared, count_hops(call)))
        result: Any = own.run(call)
        self.upstream_tasks.hide(call, result["capabilities"])
        if self._instructions is not None:
            result["instructions"] = self._instructions
        return result

    async def _discover(self, own: MethodHandler, call: Call) -> Any:
        await self._contact(self.forwarder.caller_of(call))
        shaped: Any = own.run(call)
        assert isinstance(shaped, Shaped)
        assert isinstance(shaped.result, DiscoverResult)
        self.upstream_tasks.hide(call, shaped.result.capabilities)
        if self._instructions is not None:
            shaped.result.instructions = self._instructions
        return shaped

    async def _contact(self, caller: ProxyCaller) -> None:
        """Connect, so that the capabilities are known; ignores an upstream that is unavailable."""
        if caller.hops and self._upstream.is_opening:
            # In a loop of proxies, this is what the upstream waits for.
            return
        try:
            await self._upstream.acquire(caller)
        except DovetailError:
            # The next request says why.
            return

    def _presence_changed(self) -> None:
        # Lists lack its entries while it is unavailable.
        self.relay.announce_lists()

    async def _list(self, call: Call) -> Outcome:
        given: ListParams = call.params  # type: ignore[assignment]
        method, cursor = call.method, given.cursor
        async with nullcontext() if self._monitor is None else self._monitor.limited():
            answer = await self.forwarder.forward(
                call, method, {} if cursor is None else {"cursor": cursor}
            )
        if cursor is not None and find_next(answer.raw) == cursor:
            raise UpstreamError(self.name, f"has a list without end: {method}")
        raw = answer.raw
        if method == "tools/list":
            self.tool_headers.learn(raw)
            if is_read_only(call):
                raw = self._read_only_tools.filter(raw)
        return fit_result(call, method, raw, answer.revision)

    def _call_tool(self, call: Call) -> Coroutine[Any, Any, Outcome]:
        given: CallToolParams = call.params  # type: ignore[assignment]
        params: dict[str, Any] = {"name": given.name}
        if given.arguments is not UNSET:
            params["arguments"] = given.arguments
        if is_read_only(call):
            return self._call_read_only_tool(call, given.name, params)
        return self._forward_tool(call, params)

    def _forward_tool(self, call: Call, params: dict[str, Any]) -> Coroutine[Any, Any, Outcome]:
        if self.upstream_tasks.family is not None:
            return self.upstream_tasks.call_tool(call, params)
        return self._forward(call, params)

    async def _call_read_only_tool(self, call: Call, name: str, params: dict[str, Any]) -> Outcome:
        if not await self._read_only_tools.have(call, name):
            raise InvalidParamsError(f"Unknown tool: {name!r}")
        return await self._forward_tool(call, params)

    def _about_task(self, call: Call) -> Coroutine[Any, Any, Outcome]:
        return self.upstream_tasks.run(call)

    async def _get_prompt(self, call: Call) -> Outcome:
        given: GetPromptParams = call.params  # type: ignore[assignment]
        params: dict[str, Any] = {"name": given.name}
        if given.arguments is not UNSET:
            params["arguments"] = given.arguments
        return await self._forward(call, params)

    async def _read(self, call: Call) -> Outcome:
        given: ReadResourceParams = call.params  # type: ignore[assignment]
        answer = await self.forwarder.forward(call, call.method, {"uri": given.uri}, uri=given.uri)
        return fit_result(call, call.method, answer.raw, answer.revision)

    async def _complete(self, call: Call) -> Outcome:
        given: CompleteParams = call.params  # type: ignore[assignment]
        params: dict[str, Any] = {"ref": given.ref, "argument": given.argument}
        if given.context is not None:
            params["context"] = given.context
        return await self._forward(call, params)

    async def _forward(self, call: Call, params: dict[str, Any]) -> Outcome:
        answer = await self.forwarder.forward(call, call.method, params)
        return fit_result(call, call.method, answer.raw, answer.revision)

    async def _subscribe(self, own: MethodHandler, call: Call) -> Any:
        params: ResourceParams = call.params  # type: ignore[assignment]
        try:
            await self.provider.watch(call, params.uri)
        except (RpcError, PeerError, TransportError, TimeoutError) as error:
            raise explain(self.name, error, call, params.uri) from None
        return own.run(call)

    async def _unsubscribe(self, own: MethodHandler, call: Call) -> Any:
        params: ResourceParams = call.params  # type: ignore[assignment]
        await self.provider.unwatch(call, params.uri)
        return own.run(call)

    async def _listen(self, own: MethodHandler, call: Call) -> Any:
        params: ListenParams = call.params  # type: ignore[assignment]
        wanted = params.notifications
        watched: list[str] = []
        try:
            for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
                try:
                    await self.provider.watch(call, uri, stream=True)
                except (DovetailError, TimeoutError):
                    continue  # subs.ack-subset: the acknowledgement leaves it out
                watched.append(uri)
            if wanted.resource_subscriptions is not None:
                wanted.resource_subscriptions = watched
            # subs.ack-subset: the notifications of the upstream's tasks are not passed on
            wanted.task_ids = None
            running: Any = own.run(call)
            return await running
        finally:
            if watched:
                await self.provider.unwatch(call, stream=True)

    # -- the upstream -----------------------------------------------------------------------------

    def capabilities(self) -> dict[str, Any]:
        """Return the capabilities of the upstream; all, until they are known."""
        if self._capabilities is not None:
            return self._capabilities
        # Another process of a cluster may have created tasks.
        is_alone = self.provider.membership is None
        return _EVERYTHING if is_alone else {**_EVERYTHING, "tasks": TASK_CAPABILITY}

    def _opened(self, connection: UpstreamConnection) -> None:
        """Take over what a new connection says about the upstream."""
        facts, revision = connection.era.facts, connection.era.revision
        given = facts.capabilities
        found = {name: given[name] for name in _PASSED_ON if isinstance(given.get(name), dict)}
        for name in _LISTED & found.keys():
            # The proxy announces changes when the upstream goes, comes back or is replaced.
            found[name] = {**found[name], "listChanged": True}
        if not revision.completions_capability and ("prompts" in found or "resources" in found):
            found["completions"] = {}
        self.upstream_tasks.attach(connection)
        if self.upstream_tasks.family is not None:
            found["tasks"] = TASK_CAPABILITY
        self._capabilities = found
        self._instructions = facts.instructions
        self.relay.attach(connection)
        if self._upstream.take_loss():
            # It may be another version of the upstream.
            self.relay.announce_lists()

    def _notified(self, message: Notification) -> None:
        """Take a notification that belongs to no call and no subscription."""
        if message.method == "notifications/elicitation/complete":
            self.forwarder.asker.complete(message)
        elif message.method == "notifications/tasks/status":
            task = self.upstream_tasks.read_status(message)
            if task is not None:
                self._bus.publish(ChangeEvent(ChangeKind.ITEM, item=task))


def _per_principal(auth: Any) -> FindCredentials | None:
    """Return `auth` if it is a function of the principal."""
    if auth is None or hasattr(auth, "authorize"):
        return None
    if not callable(auth):
        raise UsageError(f"auth is a login or a function of the principal, got {auth!r}")
    find: FindCredentials = auth
    return find


@dataclass(frozen=True, slots=True)
class _ChannelMaker:
    """Makes the channels of one principal; equal if its credentials are."""

    channels: Callable[..., Channel]
    options: Mapping[str, Any]

    def __call__(self) -> Channel:
        return self.channels(**self.options)


async def _find_channel(
    channels: Callable[..., Channel],
    find: FindCredentials | None,
    headers: Mapping[str, str] | None,
    principal: Principal | None,
) -> Callable[[], Channel]:
    """Return what makes the channels of one principal."""
    if find is None:
        return channels
    found = find(principal)
    if inspect.isawaitable(found):
        found = await found
    if isinstance(found, Mapping):
        return _ChannelMaker(channels, {"headers": {**(headers or {}), **found}})
    return _ChannelMaker(channels, {"headers": headers, "auth": found})


def _find_url(target: Target) -> str | None:
    url = target.get("url") if isinstance(target, Mapping) else target
    return url if isinstance(url, str) and is_url(url) else None


def _name_of(target: Target) -> str:
    """Return a name for messages: the host of a URL, or the program."""
    url = _find_url(target)
    if url is not None:
        return urlsplit(url).hostname or "upstream"
    if isinstance(target, Mapping):
        return PurePath(str(target.get("command", "upstream"))).name
    if isinstance(target, str):
        return PurePath(target.split()[0]).name if target.split() else "upstream"
    if isinstance(target, list | tuple) and target:
        return PurePath(str(target[0])).name
    return str(getattr(target, "name", "upstream"))
