"""`ctx: Context`, the face a running handler sees: who asks, and how to reach them.

Nothing here depends on the era. A handler that asks the user works for a client with
a back channel and for one that has to be answered and comes again.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar, overload

import msgspec

from dovetail.core.call import Call, Detachable, Sent
from dovetail.core.call_facts import CallFacts
from dovetail.core.schema import type_schema
from dovetail.errors import UsageError
from dovetail.features.content import Message
from dovetail.features.elicitation import Elicited, elicit
from dovetail.features.log_messages import LogSender
from dovetail.features.progress import ProgressReporter
from dovetail.features.roots import list_roots
from dovetail.features.sampling import ModelPreferences, Sampled, SamplingMessage, sample
from dovetail.spec.models import ResourceContents, Root, Tool
from dovetail.wire import codec

__all__ = ["Caller", "Context"]

T = TypeVar("T")


class Caller:
    """The client as it describes itself; nothing in here is verified."""

    __slots__ = ("capabilities", "name", "title", "version")

    def __init__(self, call: Call) -> None:
        info = call.peer.info
        self.name = info.name if info is not None else None
        self.title = info.title if info is not None else None
        self.version = info.version if info is not None else None
        # A copy: what a request declared is remembered and serves equal requests, of any client.
        self.capabilities = copy.deepcopy(call.peer.capabilities)


class Context(CallFacts):
    """What a handler can know and do while it runs. Ask for it with `ctx: Context`."""

    __slots__ = ("_progress", "log")

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self._progress = ProgressReporter(call)
        self.log = LogSender(call)

    # -- who asks ---------------------------------------------------------------------

    @property
    def client(self) -> Caller:
        """Name, version and capabilities of the client."""
        return Caller(self._call)

    @property
    def lifespan(self) -> Any:
        """What the server's lifespan yielded."""
        return self._call.services.lifespan.state

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more; look at it in a long `def` handler."""
        return self._call.cancelled

    # -- telling ----------------------------------------------------------------------

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> Sent:
        """Tell the client how far the work is. Sent at once; await it to keep its pace."""
        self._progress.report(done, total, message)
        return Sent(self._call.outbox)

    def disconnect(self, retry_ms: int = 1000) -> None:
        """Close the connection and let the client come back for the rest, after `retry_ms`.

        For long work over HTTP. Where a connection cannot be picked up again, nothing happens.
        """
        outbox = self._call.outbox
        if isinstance(outbox, Detachable):
            outbox.disconnect(retry_ms)

    def resource_updated(self, uri: str) -> None:
        """Tell every client that watches this resource that it has changed."""
        self._call.services.host.resource_updated(uri)

    async def read_resource(self, uri: str) -> list[ResourceContents]:
        """Read a resource of this server."""
        return await self._call.services.host.read_resource(self._call, uri)

    # -- asking -----------------------------------------------------------------------

    @overload
    def elicit(
        self, message: str, form: type[T], *, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[T]]: ...
    @overload
    def elicit(
        self, message: str, form: dict[str, Any], *, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[dict[str, Any]]]: ...
    @overload
    def elicit(
        self, message: str, *, url: str, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[None]]: ...
    def elicit(
        self, message: str, form: Any = None, *, url: str | None = None, key: str | None = None
    ) -> Coroutine[Any, Any, Elicited[Any]]:
        """Ask the user: a form made from a class with fields, or a page to visit.

        `key` names the question across the runs of one request; give one when the order of
        questions depends on anything but the answers to earlier ones.
        """
        return elicit(self._call, message, form, url, key)

    async def sample(  # noqa: PLR0913 - the protocol's own parameters, all by name
        self,
        messages: str | Message | Sequence[str | Message | SamplingMessage],
        *,
        max_tokens: int = 1024,
        system_prompt: str | None = None,
        temperature: float | None = None,
        stop_sequences: list[str] | None = None,
        model_preferences: ModelPreferences | None = None,
        include_context: Literal["none", "thisServer", "allServers"] | None = None,
        metadata: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
        tool_choice: Literal["auto", "required", "none"] | None = None,
        key: str | None = None,
    ) -> Sampled:
        """Ask the client's model to continue a conversation."""
        options = {
            "max_tokens": max_tokens,
            "system_prompt": system_prompt,
            "temperature": temperature,
            "stop_sequences": stop_sequences,
            "model_preferences": model_preferences,
            "include_context": include_context,
            "metadata": metadata,
            "tools": tools,
            "tool_choice": tool_choice,
        }
        return await sample(self._call, messages, key, options)

    async def roots(self, *, key: str | None = None) -> list[Root]:
        """The folders the client considers relevant."""
        return await list_roots(self._call, key)

    @overload
    async def once(
        self, key: str, function: Callable[[], Awaitable[T]], type: type[T] | None = None
    ) -> T: ...
    @overload
    async def once(self, key: str, function: Callable[[], T], type: type[T] | None = None) -> T: ...
    async def once(
        self, key: str, function: Callable[[], Any], type: type[Any] | None = None
    ) -> Any:
        """Run `function` at most once for this request, however often the handler runs.

        For effects that must not happen twice. The value is kept as JSON between runs, so
        what you get is always what came through JSON; name `type` to get it typed.
        """
        record = self._call.record
        raw = record.results.get(key)
        if raw is None:
            with record.effect(key):
                value = function()
                if inspect.isawaitable(value):
                    value = await value
                raw = record.results[key] = msgspec.Raw(_recordable(key, value))
                if self._call.task is not None:
                    await self._call.task.recorded()
        if type is None:
            return codec.decode_json(raw)
        return type_schema(type).decode(bytes(raw))


def _recordable(key: str, value: Any) -> bytes:
    try:
        return codec.encode(value)
    except TypeError as error:
        raise UsageError(
            f"the value of once({key!r}) must be JSON so that it can be kept between runs: {error}"
        ) from None
