"""The chain of middleware around one handler."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

from msgspec import Raw

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.middleware import CallNext, Request, wrap_handlers
from dovetail.core.options import Options
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


def test_an_outcome_that_is_not_a_result_passes_the_middleware() -> None:
    task = Raw(b'{"task":{}}')

    async def waits(call: Call) -> Raw:
        return task

    assert run_with(waits, shout) is task
