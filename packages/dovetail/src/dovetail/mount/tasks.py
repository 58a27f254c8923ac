"""Requests about tasks, of a server and of the proxies that are mounted in it.

Tasks of mounted servers are tasks of the outer server. Those of a proxy are at the server behind
it. Task ids are random, so the first that knows an id has the task.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.cursor import decode_text_cursor, encode_text_cursor
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.era import Encoded
from dovetail.errors import InvalidParamsError, MethodNotFoundError
from dovetail.spec.models import ListParams, TaskParams
from dovetail.wire import codec

__all__ = ["JoinedTasks"]

Handlers = Mapping[str, MethodHandler]

_KIND = "task"
_LIST = "tasks/list"
_MAX_REMEMBERED = 10_000


class JoinedTasks:
    """Finds who has a task: the server first, then its proxies."""

    def __init__(self, own: Handlers, proxies: Callable[[], Sequence[Handlers]]) -> None:
        self._own = own
        self._proxies = proxies
        # Who has a task; the oldest are forgotten first.
        self._found: OrderedDict[str, Handlers] = OrderedDict()

    def methods(self) -> dict[str, MethodHandler]:
        """Return the handlers of requests about tasks."""
        names = [name for name in self._own if name.startswith("tasks/")]
        return {
            name: MethodHandler(self._list if name == _LIST else self._run, needs_task=True)
            for name in names
        }

    async def _run(self, call: Call) -> Outcome:
        params: TaskParams = call.params  # type: ignore[assignment]
        known = self._found.get(params.task_id)
        if known is not None or not self._proxies():
            return await _answer(known or self._own, call)
        unknown: InvalidParamsError | None = None
        for handlers in (self._own, *self._proxies()):
            try:
                outcome = await _answer(handlers, call)
            except InvalidParamsError as error:
                unknown = unknown or error
                continue
            self._found[params.task_id] = handlers
            while len(self._found) > _MAX_REMEMBERED:
                self._found.popitem(last=False)
            return outcome
        assert unknown is not None
        raise unknown

    async def _list(self, call: Call) -> Outcome:
        """Return tasks of the caller: those of the server, then those of each proxy."""
        sources = [self._own, *self._proxies()]
        given: ListParams = call.params  # type: ignore[assignment]
        start = (0, "")
        if given.cursor is not None:
            found = decode_text_cursor(given.cursor, _KIND, salt=_KIND)
            if found is None or found[0] >= len(sources):
                raise InvalidParamsError("The cursor is not one of the list of tasks")
            start = found
        place, inner = start
        call.params = msgspec.structs.replace(given, cursor=inner or None)
        try:
            outcome = await _answer(sources[place], call)
        except MethodNotFoundError:
            if not place:
                raise
            # This proxy does not list tasks.
            outcome = {"tasks": []}
        finally:
            call.params = given
        page: Any = outcome
        if isinstance(outcome, Encoded):
            page = dict(codec.decode_as(dict[str, Raw], outcome.body))
        following = page.pop("nextCursor", None)
        if isinstance(following, Raw):
            following = codec.decode_json(following)
        if following is not None:
            page["nextCursor"] = encode_text_cursor(_KIND, place, following, salt=_KIND)
        elif place + 1 < len(sources):
            page["nextCursor"] = encode_text_cursor(_KIND, place + 1, "", salt=_KIND)
        return page  # type: ignore[no-any-return]


async def _answer(handlers: Handlers, call: Call) -> Outcome:
    outcome = handlers[call.method].run(call)
    return await outcome if isinstance(outcome, Coroutine) else outcome
