"""The tasks of a server and of the proxies that are mounted in it.

Tasks of mounted servers are tasks of the outer server. A proxy keeps none itself: its tasks are
those of the server behind it. Task ids are random, so the first that knows an id has the task.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.cursor import decode_text_cursor, encode_text_cursor
from dovetail.core.tasks import KeptTasks, TaskPage, TaskView
from dovetail.errors import DovetailError, InvalidParamsError

__all__ = ["JoinedTasks"]

T = TypeVar("T")

_KIND = "task"
_MAX_REMEMBERED = 10_000


class JoinedTasks:
    """Finds the keeper of a task: the server first, then its proxies."""

    def __init__(self, own: KeptTasks, proxies: Callable[[], Iterable[KeptTasks]]) -> None:
        self._own = own
        self._proxies = proxies
        # Who has a task, for requests that cannot wait; the oldest are forgotten first.
        self._keepers: OrderedDict[str, KeptTasks] = OrderedDict()

    async def create(self, call: Call) -> TaskView:
        """Create a task of the server itself."""
        return await self._own.create(call)

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task of the caller; raises InvalidParamsError."""
        return await self._ask(id, lambda keeper: keeper.get(call, id))

    async def changed(self, call: Call, seen: TaskView) -> TaskView:
        """Wait until the task differs from `seen`."""
        return await self._ask(seen.id, lambda keeper: keeper.changed(call, seen))

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Pass answers to a task."""
        await self._ask(id, lambda keeper: keeper.answer(call, id, answers))

    async def cancel(self, call: Call, id: str) -> tuple[TaskView, bool]:
        """Cancel a task; return it and whether it had ended before."""
        return await self._ask(id, lambda keeper: keeper.cancel(call, id))

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Raise this error in the handler in place of an answer."""
        self._keepers.get(id, self._own).refuse(id, key, error)

    def take(self, id: str, key: str) -> bool:
        """Reserve a question for the caller to send."""
        return self._keepers.get(id, self._own).take(id, key)

    def give_back(self, id: str, key: str) -> None:
        """Release a reserved question."""
        self._keepers.get(id, self._own).give_back(id, key)

    async def page(self, call: Call, cursor: str | None) -> TaskPage:
        """Return tasks of the caller: those of the server, then those of each proxy."""
        keepers = [self._own, *self._proxies()]
        start = None if cursor is None else decode_text_cursor(cursor, _KIND, salt=_KIND)
        if cursor is not None and (start is None or start[0] >= len(keepers)):
            raise InvalidParamsError("The cursor is not one of the list of tasks")
        place, inner = start or (0, "")
        page = await keepers[place].page(call, inner or None)
        if page.next_cursor is not None:
            following = encode_text_cursor(_KIND, place, page.next_cursor, salt=_KIND)
        elif place + 1 < len(keepers):
            following = encode_text_cursor(_KIND, place + 1, "", salt=_KIND)
        else:
            following = None
        return page._replace(next_cursor=following)

    async def _ask(self, id: str, ask: Callable[[KeptTasks], Awaitable[T]]) -> T:
        known = self._keepers.get(id)
        if known is not None:
            return await ask(known)
        unknown: DovetailError | None = None
        for keeper in (self._own, *self._proxies()):
            try:
                found = await ask(keeper)
            except InvalidParamsError as error:
                unknown = unknown or error
                continue
            self._keepers[id] = keeper
            while len(self._keepers) > _MAX_REMEMBERED:
                self._keepers.popitem(last=False)
            return found
        assert unknown is not None
        raise unknown
