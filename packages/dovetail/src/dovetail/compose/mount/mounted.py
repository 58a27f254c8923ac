"""`Mount`: one mounted server, and how calls run in it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from dovetail.compose.mount.names import Prefix
from dovetail.compose.mount.results import map_uris
from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.permission import Permission
from dovetail.errors import InvalidRequestError
from dovetail.features.header_params import HeaderParams
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.engine import Engine
from dovetail.spec.models import Params

__all__ = ["Mount", "Mountable"]


class Mountable(Protocol):
    """The part of a server that a mount uses."""

    name: str
    engine: Engine
    guard: AuthBackend | None

    @property
    def handlers(self) -> Mapping[str, MethodHandler]:
        """The handlers of its methods, with its middleware."""

    @property
    def has_fixed_names(self) -> bool:
        """Whether its names are known here; those of a proxy are not."""

    @property
    def keeps_tasks(self) -> bool:
        """Whether its tasks are kept elsewhere, as those of a proxy are."""

    def capabilities(self) -> dict[str, Any]:
        """Its capabilities."""

    @property
    def mounts(self) -> Iterable[Mount]:
        """The servers that are mounted in it."""

    def serves(self, kind: str, name: str) -> bool:
        """Whether it has a tool, prompt, resource or template of this name, mounts included."""

    def serves_itself(self, kind: str, name: str) -> bool:
        """Whether it has a tool, prompt, resource or template of this name without its mounts."""

    def names(self, kind: str) -> list[str]:
        """The names of its tools, prompts, resources or templates."""

    def check_names(self, check: Callable[[str, str], None]) -> Callable[[], None]:
        """Call `check` with kind and name of each new entry, until the result is called."""

    def header_params(self, name: str, call: Call) -> HeaderParams:
        """The parameters of a tool that HTTP repeats in headers."""

    def is_resumable(self, name: str) -> bool:
        """Whether an interrupted task of this tool may run again."""

    def resource_exists(self, call: Call, uri: str) -> bool:
        """Whether the caller can read a URI."""

    def resource_is_hidden(self, call: Call, uri: str) -> bool:
        """Whether the caller lacks the scopes for a URI."""

    async def watch(self, call: Call, uri: str, *, stream: bool = False) -> None:
        """Get ready to announce changes of a resource."""

    async def unwatch(self, call: Call, uri: str | None = None, *, stream: bool = False) -> None:
        """Announce no more changes for this caller."""

    async def start(self) -> None:
        """Enter the lifespan."""

    async def close(self) -> None:
        """Exit the lifespan."""


class Mount:
    """A mounted server."""

    def __init__(self, server: Mountable, prefix: Prefix) -> None:
        self.server = server
        self.prefix = prefix
        # What to call when it is unmounted.
        self.on_removal: list[Callable[[], None]] = []
        # The engine of the mounted server for calls of one engine of the outer server.
        self._engines: dict[int, tuple[Engine, Engine]] = {}

    @property
    def where(self) -> str:
        """The mount in error messages."""
        prefix = f"prefix {self.prefix.text!r}" if self.prefix.text else "no prefix"
        return f"server {self.server.name!r}, mounted with {prefix}"

    def run(self, call: Call, params: Params) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Run the method of the call in the mounted server, with these params."""
        if not self.server.engine.lifespan.started:
            return self._start_and_run(call, params)
        with self._inside(call, params) as run:
            outcome = run()
            if not isinstance(outcome, Coroutine):
                return map_uris(outcome, self.prefix)
        return self._await(call, params, outcome)

    async def _start_and_run(self, call: Call, params: Params) -> Outcome:
        await self.server.start()
        outcome = self.run(call, params)
        return await outcome if isinstance(outcome, Coroutine) else outcome

    async def _await(
        self, call: Call, params: Params, outcome: Coroutine[Any, Any, Outcome]
    ) -> Outcome:
        with self._inside(call, params):
            return map_uris(await outcome, self.prefix)

    @contextmanager
    def _inside(
        self, call: Call, params: Params
    ) -> Iterator[Callable[[], Outcome | Coroutine[Any, Any, Outcome]]]:
        """Make the call one of the mounted server for a while."""
        outer, given = call.services, call.params
        engine = self._engine_for(outer)  # type: ignore[arg-type]
        handler = self.server.handlers[call.method]
        call.replace_params(params)
        # A task keeps its runner, whose slots are apart from those of other calls.
        call.services = engine if call.task is None else engine._replace(runner=outer.runner)
        try:
            yield lambda: engine.dispatcher.delegate(call, handler)
        finally:
            call.services, call.params = outer, given

    def _engine_for(self, outer: Engine) -> Engine:
        kept = self._engines.get(id(outer))
        if kept is not None and kept[0] is outer:
            return kept[1]
        inner = self.server.engine
        guard = self.server.guard
        if guard is not None:
            inner = guard.protect(inner, "mount")
        permission = _combine(outer.permission, inner.permission)
        # Clients ask the outer server for their tasks.
        tasks = inner.tasks if self.server.keeps_tasks else outer.tasks
        inner = inner._replace(tasks=tasks, permission=permission)
        if len(self._engines) > 16:
            self._engines.clear()
        self._engines[id(outer)] = (outer, inner)
        return inner

    def admits(self, call: Call) -> bool:
        """Whether the guard of the mounted server accepts this caller."""
        guard = self.server.guard
        return guard is None or not guard.requires_auth or call.principal is not None

    def admit(self, call: Call) -> None:
        """Raise if the guard of the mounted server needs a caller and there is none."""
        if not self.admits(call):
            raise InvalidRequestError(
                f"{self.server.name} needs an authenticated caller, and this one is anonymous"
            )


def _combine(outer: Permission | None, inner: Permission | None) -> Permission | None:
    if outer is None or inner is None:
        return outer or inner
    # A scope can be requested only where the outer server says so.
    return outer._replace(read_only=outer.read_only or inner.read_only)
