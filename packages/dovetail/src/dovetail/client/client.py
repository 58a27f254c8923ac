"""`Client`: the public class of this package.

Requests go to the negotiated era, which speaks the protocol; results are converted to the types
that callers use.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail.client.callbacks import ClientCallbacks, ElicitCallback, RootsSource, SampleCallback
from dovetail.client.era import ChangeCallback, ClientEra, LogCallback, Settings
from dovetail.client.negotiation import negotiate, parse_mode
from dovetail.client.results import (
    CallResult,
    Page,
    ReadResult,
    decode_result,
)
from dovetail.client.rpc import ProgressCallback
from dovetail.client.skills import (
    EXTENSION,
    ListSkillsResult,
    Skill,
    SkillEntry,
    load_skill,
)
from dovetail.client.subscriptions import Interest, Subscription
from dovetail.client.targets import Target, open_target
from dovetail.client.telemetry import Telemetry
from dovetail.errors import (
    DovetailError,
    InvalidParamsError,
    PeerError,
    ResourceNotFoundError,
    RpcError,
    UsageError,
)
from dovetail.extensions.binding import Extensions
from dovetail.extensions.extension import Extension
from dovetail.spec.models import (
    CompleteResult,
    Completion,
    GetPromptResult,
    Implementation,
    Prompt,
    PromptMessage,
    Resource,
    ResourceTemplate,
    Tool,
)
from dovetail.spec.results import (
    ListPromptsResult,
    ListResourcesResult,
    ListTemplatesResult,
    ListToolsResult,
    WirePromptResult,
    read_block,
)

if TYPE_CHECKING:
    from dovetail.client.http_auth import Auth
    from dovetail.tasks.client import ClientTask, TaskCalls

__all__ = ["Client"]

T = TypeVar("T")

# A list with more pages than this is treated as endless.
_MAX_PAGES = 10_000


class Client:
    """A client for one server, of either era.

    Use it as `async with Client(target) as client: ...`. The target is a Server in this process,
    a command, a path to a .py file, a URL, or a configuration entry. `headers` are sent with
    every request to a URL; `auth` logs in to it, see `dovetail.client.auth.OAuth`.
    `telemetry` makes OpenTelemetry spans and metrics of requests. `extensions` are those of the
    protocol that the client declares.
    """

    def __init__(  # noqa: PLR0913 - public options, independent of each other
        self,
        target: Target,
        *,
        mode: str = "auto",
        name: str = "dovetail",
        version: str | None = None,
        elicit: ElicitCallback | None = None,
        sample: SampleCallback | None = None,
        roots: RootsSource | None = None,
        on_log: LogCallback | None = None,
        on_change: ChangeCallback | None = None,
        timeout: float = 30.0,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        echo_stderr: bool = False,
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        telemetry: Telemetry | None = None,
        extensions: Iterable[Extension[Any]] = (),
    ) -> None:
        self._mode = parse_mode(mode)
        declared = Extensions()
        for extension in extensions:
            declared.add(extension)
        self._settings = Settings(
            name=name,
            version=_own_version() if version is None else version,
            callbacks=ClientCallbacks(elicit, sample, roots, model=name),
            on_log=on_log,
            on_change=on_change,
            timeout=timeout,
            telemetry=telemetry,
            extensions=declared.declared_by_client,
            on_notification=declared.deliver,
        )
        self._make_channel = partial(
            open_target,
            target,
            env=env,
            cwd=cwd,
            echo_stderr=echo_stderr,
            headers=headers,
            auth=auth,
        )
        # A bad target fails here, where the caller wrote it, and not when it is opened.
        self._make_channel()
        self._open_era: ClientEra | None = None
        # The requests about tasks of the open connection, once there are some.
        self._task_calls: tuple[ClientEra, TaskCalls] | None = None

    async def __aenter__(self) -> Client:
        if self._open_era is not None:
            raise UsageError("This client is already open")
        era = await negotiate(self._make_channel, self._settings, self._mode)
        self._open_era = era
        try:
            await era.watch_lists()
        except (DovetailError, TimeoutError, asyncio.CancelledError):
            # If `__aenter__` raises, `__aexit__` is not called.
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        era, self._open_era = self._open_era, None
        if era is not None:
            await era.rpc.close()

    @property
    def _era(self) -> ClientEra:
        if self._open_era is None:
            raise UsageError("This client is not open; use `async with Client(...) as client`")
        return self._open_era

    # -- server description -----------------------------------------------------------------

    @property
    def server_info(self) -> Implementation | None:
        """Name and version; a modern server may leave them out."""
        return self._era.facts.info

    @property
    def instructions(self) -> str | None:
        """Instructions for the model, if the server has any."""
        return self._era.facts.instructions

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the server declared."""
        return self._era.facts.capabilities

    @property
    def server_extensions(self) -> Mapping[str, Any]:
        """The settings of the extensions that the server declared, by name."""
        found: dict[str, Any] = {}
        for member in ("experimental", "extensions"):
            declared = self.capabilities.get(member)
            if isinstance(declared, Mapping):
                found.update(declared)
        return found

    @property
    def revision(self) -> str:
        """The date of the negotiated protocol revision."""
        return self._era.revision.date

    @property
    def supported_revisions(self) -> Sequence[str]:
        """The revisions that the server named; a legacy server names only the negotiated one."""
        return self._era.facts.versions

    # -- lists ------------------------------------------------------------------------------

    async def list_tools(self) -> list[Tool]:
        """All tools; empty if the server does not declare the capability."""
        return await self._list_all("tools", self.list_tools_page)

    async def list_tools_page(self, cursor: str | None = None) -> Page[Tool]:
        """One page of tools."""
        page = await self._page("tools/list", ListToolsResult, cursor)
        return Page(page.tools, page.next_cursor)

    async def list_prompts(self) -> list[Prompt]:
        """All prompts; empty if the server does not declare the capability."""
        return await self._list_all("prompts", self.list_prompts_page)

    async def list_prompts_page(self, cursor: str | None = None) -> Page[Prompt]:
        """One page of prompts."""
        page = await self._page("prompts/list", ListPromptsResult, cursor)
        return Page(page.prompts, page.next_cursor)

    async def list_resources(self) -> list[Resource]:
        """All resources; empty if the server does not declare the capability."""
        return await self._list_all("resources", self.list_resources_page)

    async def list_resources_page(self, cursor: str | None = None) -> Page[Resource]:
        """One page of resources."""
        page = await self._page("resources/list", ListResourcesResult, cursor)
        return Page(page.resources, page.next_cursor)

    async def list_templates(self) -> list[ResourceTemplate]:
        """All resource templates; empty if the server does not declare resources."""
        return await self._list_all("resources", self.list_templates_page)

    async def list_templates_page(self, cursor: str | None = None) -> Page[ResourceTemplate]:
        """One page of resource templates."""
        page = await self._page("resources/templates/list", ListTemplatesResult, cursor)
        return Page(page.resource_templates, page.next_cursor)

    async def list_skills(self) -> list[SkillEntry]:
        """All skills, without their files; empty if the server does not declare the extension."""
        if EXTENSION not in self.server_extensions:
            return []
        return await self._read_pages(self.list_skills_page)

    async def list_skills_page(self, cursor: str | None = None) -> Page[SkillEntry]:
        """One page of skills."""
        page = await self._page("skills/list", ListSkillsResult, cursor)
        return Page(page.skills, page.next_cursor)

    async def load_skill(self, entry: SkillEntry) -> Skill:
        """Read a listed skill and verify it; raises PeerError if it differs from the listing."""
        return await load_skill(entry, self.read)

    async def _page(self, method: str, type_: type[T], cursor: str | None) -> T:
        # An empty cursor is a cursor (2026-07-28 server/utilities/pagination).
        params = None if cursor is None else {"cursor": cursor}
        return decode_result(type_, await self._era.request(method, params), method)

    async def _list_all(
        self, capability: str, read_page: Callable[[str | None], Awaitable[Page[T]]]
    ) -> list[T]:
        # lifecycle.operation.capabilities (2025-11-25 basic/lifecycle): a client uses
        # only capabilities that the server declared.
        if not self._era.has_capability(capability):
            return []
        return await self._read_pages(read_page)

    async def _read_pages(self, read_page: Callable[[str | None], Awaitable[Page[T]]]) -> list[T]:
        page = await read_page(None)
        items = list(page.items)
        seen: set[str] = set()
        while page.next_cursor is not None:
            if page.next_cursor in seen or len(seen) >= _MAX_PAGES:
                raise PeerError(f"The list never ends: cursor {page.next_cursor!r} was repeated")
            seen.add(page.next_cursor)
            page = await read_page(page.next_cursor)
            items.extend(page.items)
        return items

    # -- requests ---------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        progress: ProgressCallback | None = None,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Any:
        """Send any request and return its final result as plain JSON values."""
        raw = await self._era.request(
            method,
            None if params is None else dict(params),
            progress=progress,
            timeout=timeout,
            meta=None if meta is None else dict(meta),
        )
        return decode_result(object, raw, method)

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        progress: ProgressCallback | None = None,
        timeout: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> CallResult:
        """Call a tool. A failed tool is returned, not raised: see `CallResult.raise_for_error`."""
        raw = await self._era.request(
            "tools/call",
            {"name": name, "arguments": dict(arguments or {})},
            progress=progress,
            timeout=timeout,
            meta=None if meta is None else dict(meta),
        )
        return CallResult.read(name, raw)

    async def start(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        ttl: float | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> ClientTask:
        """Call a tool as a task, without waiting for its result.

        If the server or the tool does not support tasks, this waits and returns a finished task.
        `ttl` asks the server to keep the task for that many seconds; the server decides.
        """
        own_meta = None if meta is None else dict(meta)
        calls = self._find_task_calls()
        state = await calls.create(name, dict(arguments or {}), ttl, own_meta)
        return calls.follow(state, name)

    async def task(self, id: str, tool: str = "") -> ClientTask:
        """A task that was started earlier, by this client or another client of the same user."""
        calls = self._find_task_calls()
        return calls.follow(await calls.get(id), tool)

    def _find_task_calls(self) -> TaskCalls:
        from dovetail.tasks.client import task_calls_of  # noqa: PLC0415 - see test_layers

        era = self._era
        if self._task_calls is None or self._task_calls[0] is not era:
            self._task_calls = era, task_calls_of(era)
        return self._task_calls[1]

    async def read(self, uri: str, *, timeout: float | None = None) -> ReadResult:
        """Read a resource; raises ResourceNotFoundError."""
        try:
            raw = await self._era.request("resources/read", {"uri": uri}, timeout=timeout)
        except InvalidParamsError as error:
            # The modern era has no code of its own for this, but names the resource.
            if isinstance(error.data, Mapping) and error.data.get("uri") == uri:
                found = ResourceNotFoundError(uri)
                # The code stays that of the response.
                RpcError.__init__(found, error.message, error.data, code=error.code)
                raise found from None
            raise
        return ReadResult.read(raw)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> GetPromptResult:
        """Get a prompt with its arguments filled in."""
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        raw = await self._era.request("prompts/get", params, timeout=timeout)
        result = decode_result(WirePromptResult, raw, "prompts/get")
        messages = [
            PromptMessage(role=message.role, content=read_block(message.content))
            for message in result.messages
        ]
        return GetPromptResult(description=result.description, messages=messages, meta=result.meta)

    async def complete(
        self,
        ref: str | Prompt | ResourceTemplate,
        argument: str,
        value: str = "",
        context: Mapping[str, str] | None = None,
    ) -> Completion:
        """Suggest values for an argument, best first.

        A string that contains `://` or `{` refers to a resource or a template, any other string to
        a prompt. Pass the listed Prompt or ResourceTemplate if that guess is wrong.
        """
        params: dict[str, Any] = {
            "ref": _make_ref(ref),
            "argument": {"name": argument, "value": value},
        }
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        raw = await self._era.request("completion/complete", params)
        return decode_result(CompleteResult, raw, "completion/complete").completion

    async def ping(self) -> None:
        """Ping the server. Only legacy revisions have this method."""
        await self._era.request("ping")

    async def set_log_level(self, level: str) -> None:
        """Request log messages of this level and above."""
        await self._era.set_log_level(level)

    # -- changes ----------------------------------------------------------------------------

    def subscribe(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resources: bool = False,
        uris: Iterable[str] = (),
    ) -> Subscription:
        """Subscribe to changes: `async with` opens the subscription, `async for` reads it."""
        if isinstance(uris, str):
            raise UsageError(f"uris must be a collection of URIs, got the string {uris!r}")
        return Subscription(self._era, Interest(tools, prompts, resources, tuple(uris)))


def _own_version() -> str:
    # Importing this takes 18 ms, which `import dovetail` should not cost.
    from importlib import metadata  # noqa: PLC0415

    return metadata.version("dovetail-mcp")


def _make_ref(ref: str | Prompt | ResourceTemplate) -> dict[str, str]:
    if isinstance(ref, Prompt):
        return {"type": "ref/prompt", "name": ref.name}
    if isinstance(ref, ResourceTemplate):
        return {"type": "ref/resource", "uri": ref.uri_template}
    if "://" in ref or "{" in ref:
        return {"type": "ref/resource", "uri": ref}
    return {"type": "ref/prompt", "name": ref}
