"""`Client`: the face of everything in this folder.

It holds no protocol of its own: requests go to the era that was agreed on, and the
answers are turned into the shapes a caller wants to read.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from dovetail.client.content import PromptOnWire, read_block
from dovetail.client.era import ChangeCallback, ClientEra, LogCallback, Settings
from dovetail.client.exchange import ProgressCallback
from dovetail.client.inputs import ElicitCallback, Inputs, RootsSource, SampleCallback
from dovetail.client.negotiation import negotiate, parse_mode
from dovetail.client.results import (
    CallResult,
    Page,
    PromptsListed,
    ReadResult,
    ResourcesListed,
    TemplatesListed,
    ToolsListed,
    decode_result,
)
from dovetail.client.subscriptions import Interest, Subscription
from dovetail.client.targets import Target, open_target
from dovetail.client.tasks import ClientTask, TaskState
from dovetail.errors import DovetailError, PeerError, UsageError
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

__all__ = ["Client"]

T = TypeVar("T")

# A list that is longer than this has a server that never ends it.
_MAX_PAGES = 10_000


class Client:
    """A client for one server, of either era.

    `async with Client(target) as client: ...` where the target is a Server in this
    process, a command, a path to a .py file, a URL, or a configuration entry. `headers`
    go with every request to a URL.
    """

    def __init__(  # noqa: PLR0913 - the options are the public face, each stands alone
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
    ) -> None:
        self._mode = parse_mode(mode)
        self._settings = Settings(
            name=name,
            version=_own_version() if version is None else version,
            inputs=Inputs(elicit, sample, roots, model=name),
            on_log=on_log,
            on_change=on_change,
            timeout=timeout,
        )
        self._make_channel = partial(
            open_target, target, env=env, cwd=cwd, echo_stderr=echo_stderr, headers=headers
        )
        # Fail on a bad target here, where it was written, and not when it is opened.
        self._make_channel()
        self._open_era: ClientEra | None = None

    async def __aenter__(self) -> Client:
        if self._open_era is not None:
            raise UsageError("This client is open already")
        era = await negotiate(self._make_channel, self._settings, self._mode)
        self._open_era = era
        try:
            await era.watch_lists()
        except (DovetailError, TimeoutError, asyncio.CancelledError):
            # An `async with` that never begins never ends either.
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
            await era.exchange.close()

    @property
    def _era(self) -> ClientEra:
        if self._open_era is None:
            raise UsageError("This client is not open; use `async with Client(...) as client`")
        return self._open_era

    # -- what the server says of itself -----------------------------------------------------

    @property
    def server_info(self) -> Implementation | None:
        """Name and version; a modern server may leave them out."""
        return self._era.facts.info

    @property
    def instructions(self) -> str | None:
        """How a model should use the server."""
        return self._era.facts.instructions

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the server declares to have."""
        return self._era.facts.capabilities

    @property
    def revision(self) -> str:
        """The revision that is spoken, as its date."""
        return self._era.revision.date

    @property
    def supported_revisions(self) -> Sequence[str]:
        """Every revision the server named; a legacy server names the one agreed on."""
        return self._era.facts.versions

    # -- lists ------------------------------------------------------------------------------

    async def list_tools(self) -> list[Tool]:
        """Every tool; none from a server that declares none."""
        return await self._walk("tools", self.list_tools_page)

    async def list_tools_page(self, cursor: str | None = None) -> Page[Tool]:
        """One page of tools."""
        page = await self._page("tools/list", ToolsListed, cursor)
        return Page(page.tools, page.next_cursor)

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt; none from a server that declares none."""
        return await self._walk("prompts", self.list_prompts_page)

    async def list_prompts_page(self, cursor: str | None = None) -> Page[Prompt]:
        """One page of prompts."""
        page = await self._page("prompts/list", PromptsListed, cursor)
        return Page(page.prompts, page.next_cursor)

    async def list_resources(self) -> list[Resource]:
        """Every resource; none from a server that declares none."""
        return await self._walk("resources", self.list_resources_page)

    async def list_resources_page(self, cursor: str | None = None) -> Page[Resource]:
        """One page of resources."""
        page = await self._page("resources/list", ResourcesListed, cursor)
        return Page(page.resources, page.next_cursor)

    async def list_templates(self) -> list[ResourceTemplate]:
        """Every resource template; none from a server that declares no resources."""
        return await self._walk("resources", self.list_templates_page)

    async def list_templates_page(self, cursor: str | None = None) -> Page[ResourceTemplate]:
        """One page of resource templates."""
        page = await self._page("resources/templates/list", TemplatesListed, cursor)
        return Page(page.resource_templates, page.next_cursor)

    async def _page(self, method: str, type_: type[T], cursor: str | None) -> T:
        # An empty cursor is a cursor (2026-07-28 server/utilities/pagination).
        params = None if cursor is None else {"cursor": cursor}
        return decode_result(type_, await self._era.request(method, params), method)

    async def _walk(
        self, capability: str, read_page: Callable[[str | None], Awaitable[Page[T]]]
    ) -> list[T]:
        # lifecycle.operation.capabilities (2025-11-25 basic/lifecycle): only what the server
        # declared is asked for.
        if not self._era.has_capability(capability):
            return []
        page = await read_page(None)
        items = list(page.items)
        seen: set[str] = set()
        while page.next_cursor is not None:
            if page.next_cursor in seen or len(seen) >= _MAX_PAGES:
                raise PeerError(f"The list never ends: cursor {page.next_cursor!r} came twice")
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
        """Any request; its final result as plain JSON."""
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
        """Call a tool; a tool that failed is a result too, see `raise_for_error`."""
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
        """Call a tool and do not wait for its result, where the server and the tool can that.

        `ttl`: seconds that the server should keep the task; it has the last word.
        """
        own_meta = None if meta is None else dict(meta)
        calls = self._era.tasks
        state = await calls.create(name, dict(arguments or {}), ttl, own_meta)
        return ClientTask(calls, state, name)

    async def task(self, id: str, tool: str = "") -> ClientTask:
        """A task that was started earlier, by this client or another of the same user's."""
        state: TaskState = await self._era.tasks.get(id)
        return ClientTask(self._era.tasks, state, tool)

    async def read(self, uri: str, *, timeout: float | None = None) -> ReadResult:
        """What a resource holds."""
        raw = await self._era.request("resources/read", {"uri": uri}, timeout=timeout)
        return ReadResult.read(raw)

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, timeout: float | None = None
    ) -> GetPromptResult:
        """A prompt, filled in."""
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = dict(arguments)
        raw = await self._era.request("prompts/get", params, timeout=timeout)
        result = decode_result(PromptOnWire, raw, "prompts/get")
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
        """Suggestions for an argument, best first.

        A text is taken for a URI or a template if it holds `://` or `{`, else for the
        name of a prompt; give the listed Prompt or ResourceTemplate where that is wrong.
        """
        params: dict[str, Any] = {
            "ref": _refer_to(ref),
            "argument": {"name": argument, "value": value},
        }
        if context is not None:
            params["context"] = {"arguments": dict(context)}
        raw = await self._era.request("completion/complete", params)
        return decode_result(CompleteResult, raw, "completion/complete").completion

    async def ping(self) -> None:
        """Ask for a sign of life; only the legacy era has it."""
        await self._era.request("ping")

    async def set_log_level(self, level: str) -> None:
        """From now on, log messages of this level and above are wanted."""
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
        """Be told of changes: enter it, look at what was acknowledged, iterate it."""
        if isinstance(uris, str):
            raise UsageError(f"uris must be several URIs, got the text {uris!r}")
        return Subscription(self._era, Interest(tools, prompts, resources, tuple(uris)))


def _own_version() -> str:
    # 18 ms that `import dovetail` must not cost.
    from importlib import metadata  # noqa: PLC0415

    return metadata.version("dovetail")


def _refer_to(ref: str | Prompt | ResourceTemplate) -> dict[str, str]:
    if isinstance(ref, Prompt):
        return {"type": "ref/prompt", "name": ref.name}
    if isinstance(ref, ResourceTemplate):
        return {"type": "ref/resource", "uri": ref.uri_template}
    if "://" in ref or "{" in ref:
        return {"type": "ref/resource", "uri": ref}
    return {"type": "ref/prompt", "name": ref}
