"""Awaiting a coroutine that has already taken its first step."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

__all__ = ["resume_coroutine"]


@types.coroutine
def resume_coroutine(
    running: Coroutine[Any, Any, Any],
    awaited: Any,
    send: Callable[[Any], Any],
    throw: Callable[[Any], Any],
) -> Generator[Any, Any, Any]:
    """The rest of `running`, which waits for `awaited`.

    `send` and `throw` drive it: its own methods, or wrappers that do it in another context.
    """
    step: Callable[[Any], Any]
    while True:
        try:
            given = yield awaited
            step = send
        except GeneratorExit:
            running.close()
            raise
        except BaseException as error:  # noqa: BLE001 - passed on to the coroutine that waits
            given, step = error, throw
        try:
            awaited = step(given)
        except StopIteration as returned:
            return returned.value
