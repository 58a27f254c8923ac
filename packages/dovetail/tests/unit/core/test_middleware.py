"""The chain of middleware around one handler."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.middleware import CallNext, Request, wrap_handlers
from dovetail.core.options import Options
from dovetail.errors import UsageError
from dovetail.runtime.runner import HandlerRunner
from dovetail.spec.models import Params


class Echo(Request[str]):
    """A request of a method that returns text."""

    handles = "echo"
    hook = "echo"

    def _changed_params(self) -> Params:
        return self._call.received

    def _read(self, outcome: Any) -> str | None:
        return outcome["text"] if isinstance(outcome, dict) else None

    def _write(self, result: str) -> Outcome:
        return {"text": result}


class SomethingAwaitable:
    """An awaitable that is not a coroutine, as some libraries return."""

    def __init__(self, inner: Coroutine[Any, Any, str]) -> None:
        self._inner = inner

    def __await__(self) -> Generator[Any, Any, str]:
        return self._inner.__await__()


def run_with(handler: Any, *middleware: Any) -> Any:
    plain = {"echo": MethodHandler(handler)}
    handlers = dict(plain)
    wrap_handlers(handlers, plain, [Echo], middleware)
    call = Call(b"1", "echo", Params(), None, None)  # type: ignore[arg-type]
    call.services = SimpleNamespace(runner=HandlerRunner(Options()))
    outcome = handlers["echo"].run(call)
    return asyncio.run(outcome) if isinstance(outcome, Coroutine) else outcome


async def shout(request: Request[str], call_next: CallNext[str]) -> str:
    return (await call_next(request)).upper()


async def repeat(request: Request[str], call_next: CallNext[str]) -> str:
    return await call_next(request) + await call_next(request)


def test_a_handler_without_middleware_is_left_as_it_is() -> None:
    assert run_with(lambda call: {"text": "a"}) == {"text": "a"}


def test_each_middleware_runs_inside_the_one_before() -> None:
    assert run_with(lambda call: {"text": "a"}, shout, repeat) == {"text": "AA"}


def test_a_middleware_may_return_any_awaitable() -> None:
    def later(request: Request[str], call_next: CallNext[str]) -> Awaitable[str]:
        async def call() -> str:
            return (await call_next(request)).upper()

        return SomethingAwaitable(call())

    assert run_with(lambda call: {"text": "a"}, later) == {"text": "A"}
    assert run_with(lambda call: {"text": "a"}, repeat, later) == {"text": "AA"}


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("place", ["first", "second"])
def test_a_middleware_that_returns_nothing_is_named(waits: bool, place: str) -> None:
    async def forget(request: Request[str], call_next: CallNext[str]) -> str:
        await call_next(request)
        if waits:
            await asyncio.sleep(0)
        return None  # type: ignore[return-value]  # the mistake that is tested

    async def pass_on(request: Request[str], call_next: CallNext[str]) -> str:
        return await call_next(request)

    chain = [forget, pass_on] if place == "first" else [pass_on, forget]
    with pytest.raises(UsageError, match="middleware 'forget' returned None for echo"):
        run_with(lambda call: {"text": "a"}, *chain)


def test_an_outcome_that_is_not_a_result_passes_the_middleware() -> None:
    task = Raw(b'{"task":{}}')

    async def waits(call: Call) -> Raw:
        return task

    assert run_with(waits, shout) is task
