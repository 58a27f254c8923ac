"""Running authors' functions: in turn, within their time, interruptible for real.

Time is a clock that the tests turn: nothing here waits for real seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.core.call import Call, Handler, Peer, Style
from dovetail.core.call_state import STOPPED
from dovetail.eras.legacy.era import era_of
from dovetail.errors import LimitError
from dovetail.runtime.link import NULL_LINK
from dovetail.runtime.runner import HandlerRunner
from dovetail.spec.models import Params
from dovetail.spec.revisions import LATEST_LEGACY
from tests.patience import CAP
from tests.unit.fakes import SERVICES
from tests.unit.talk import request, run, turn

who = contextvars.ContextVar("who", default="nobody")


class Runner(HandlerRunner):
    """Awaits the value in any case; a server takes it at once where it can."""

    async def run(self, call: Call, handler: Handler, arguments: dict[str, Any]) -> Any:
        outcome = self.start(call, handler, arguments, lambda call, value: value)
        return await outcome if isinstance(outcome, Coroutine) else outcome


def new_call() -> Call:
    call = Call(b"1", "tools/call", Params(), era_of(LATEST_LEGACY), Peer(None, {}, None))
    call.services = SERVICES
    return call


def handler_of(
    function: Callable[..., Any],
    style: Style = Style.ASYNC,
    timeout: float | None = None,
    idle_timeout: float | None = None,
) -> Handler:
    return Handler(function, style, "tool 't'", timeout, idle_timeout)


def on_the_clock(scenario: Callable[[Callable[[float], Coroutine[Any, Any, None]]], Any]) -> None:
    """Run a scenario with a clock that it turns itself: `await pass_time(seconds)`."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        loop.time = lambda: now  # type: ignore[method-assign]

        async def pass_time(seconds: float) -> None:
            nonlocal now
            now += seconds
            await turn(10)

        await scenario(pass_time)

    async def guarded() -> None:
        # The guard's own deadline must not run on the clock that the test turns.
        task = asyncio.ensure_future(main())
        watchdog = threading.Timer(
            CAP, asyncio.get_running_loop().call_soon_threadsafe, [task.cancel]
        )
        watchdog.start()
        try:
            await task
        finally:
            watchdog.cancel()

    asyncio.run(guarded())


# -- values and failures --------------------------------------------------------------------------


@pytest.mark.parametrize("style", list(Style))
def test_the_value_comes_back_and_exceptions_pass(style: Style) -> None:
    def work(a: int) -> float:
        return 1 / a

    async def work_async(a: int) -> float:
        return 1 / a

    async def scenario() -> None:
        runner = Runner(Options())
        handler = handler_of(work_async if style is Style.ASYNC else work, style)
        assert await runner.run(new_call(), handler, {"a": 2}) == 0.5
        with pytest.raises(ZeroDivisionError):
            await runner.run(new_call(), handler, {"a": 0})

    run(scenario())


@pytest.mark.parametrize("style", list(Style))
def test_a_handler_that_exits_ends_its_call_and_not_the_process(style: Style) -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def leave_async() -> None:
        raise SystemExit(3)

    async def scenario() -> None:
        handler = handler_of(leave_async if style is Style.ASYNC else leave, style)
        with pytest.raises(RuntimeError, match=r"the handler raised SystemExit\(3\)"):
            await Runner(Options()).run(new_call(), handler, {})

    run(scenario())


@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize("waits", [False, True])
def test_a_handler_that_cancels_itself_has_failed(style: Style, waits: bool) -> None:
    def give_up() -> None:
        raise asyncio.CancelledError

    async def give_up_async() -> None:
        if waits:
            await asyncio.sleep(0)
        raise asyncio.CancelledError

    async def scenario() -> None:
        handler = handler_of(give_up_async if style is Style.ASYNC else give_up, style)
        with pytest.raises(RuntimeError, match="the handler raised CancelledError"):
            await Runner(Options()).run(new_call(), handler, {})

    run(scenario())


def test_plain_functions_run_at_the_same_time_and_keep_their_context() -> None:
    together = threading.Barrier(4)

    def meet(n: int) -> tuple[int, str]:
        together.wait(CAP)
        return n, who.get()

    async def scenario() -> None:
        runner = Runner(Options())

        async def one(n: int) -> Any:
            who.set(f"caller {n}")
            return await runner.run(new_call(), handler_of(meet, Style.THREAD), {"n": n})

        found = await asyncio.gather(*(one(n) for n in range(4)))
        assert found == [(n, f"caller {n}") for n in range(4)]

    run(scenario())


def test_a_function_that_promises_not_to_block_runs_on_the_loop() -> None:
    async def scenario() -> None:
        ident = await Runner(Options()).run(
            new_call(), handler_of(threading.get_ident, Style.INLINE), {}
        )
        assert ident == threading.get_ident()

    run(scenario())


# -- slots ----------------------------------------------------------------------------------------


class Gates:
    """Async functions that wait to be let go, and the order in which they began."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}

    async def work(self, n: int) -> int:
        self.begun.append(n)
        await self.gates.setdefault(n, asyncio.Event()).wait()
        return n

    def open(self, n: int) -> None:
        self.gates[n].set()


def start(runner: Runner, gates: Gates, n: int) -> asyncio.Task[Any]:
    return asyncio.create_task(runner.run(new_call(), handler_of(gates.work), {"n": n}))


def test_no_more_run_than_the_limit_and_the_others_wait_in_line() -> None:
    async def scenario() -> None:
        runner, gates = Runner(Options(concurrency=2)), Gates()
        tasks = [start(runner, gates, n) for n in range(5)]
        await turn()
        assert gates.begun == [0, 1]
        for n in (1, 0, 2, 3, 4):
            gates.open(n)
            await turn()
        assert gates.begun == [0, 1, 2, 3, 4]
        assert await asyncio.gather(*tasks) == list(range(5))

    run(scenario())


def test_a_full_line_is_refused_with_both_limits() -> None:
    async def scenario() -> None:
        runner, gates = Runner(Options(concurrency=1, queue=1)), Gates()
        tasks = [start(runner, gates, n) for n in range(2)]
        await turn()
        with pytest.raises(LimitError, match=r"busy: 1 calls run and 1 wait\. Try again later"):
            await runner.run(new_call(), handler_of(gates.work), {"n": 2})
        for n in range(2):
            gates.open(n)
            await turn()
        assert await asyncio.gather(*tasks) == [0, 1]

    run(scenario())


def test_who_leaves_the_line_gives_up_the_place() -> None:
    async def scenario() -> None:
        runner, gates = Runner(Options(concurrency=1, queue=1)), Gates()
        first, second = start(runner, gates, 0), start(runner, gates, 1)
        await turn()
        second.cancel()
        await turn()
        third = start(runner, gates, 2)
        await turn()
        assert not third.done()
        gates.open(0)
        assert await first == 0
        await turn()
        gates.open(2)
        assert await third == 2
        assert gates.begun == [0, 2]

    run(scenario())


def test_a_slot_handed_to_somebody_who_leaves_in_that_moment_is_passed_on() -> None:
    async def scenario() -> None:
        runner, gates = Runner(Options(concurrency=1)), Gates()
        gate = asyncio.Event()

        async def work() -> None:
            await gate.wait()
            # Runs after the slot is handed over and before who gets it wakes up.
            asyncio.get_running_loop().call_soon(second.cancel)

        first = asyncio.create_task(runner.run(new_call(), handler_of(work), {}))
        await turn()
        second, third = start(runner, gates, 1), start(runner, gates, 2)
        await turn()
        gate.set()
        await first
        await turn()
        assert gates.begun == [2]
        assert second.cancelled()
        gates.open(2)
        assert await third == 2
        fourth = start(runner, gates, 3)
        await turn()
        gates.open(3)
        assert await fourth == 3

    run(scenario())


def test_a_slot_is_not_handed_to_somebody_who_has_just_left() -> None:
    async def scenario() -> None:
        runner, gates = Runner(Options(concurrency=1)), Gates()
        gate = asyncio.Event()

        async def work() -> None:
            await gate.wait()
            second.cancel()  # still in line when the slot becomes free

        first = asyncio.create_task(runner.run(new_call(), handler_of(work), {}))
        await turn()
        second, third = start(runner, gates, 1), start(runner, gates, 2)
        await turn()
        gate.set()
        await first
        await turn()
        assert gates.begun == [2]
        gates.open(2)
        assert await third == 2
        fourth, fifth = start(runner, gates, 4), start(runner, gates, 5)
        await turn()
        assert gates.begun == [2, 4]
        gates.open(4)
        await fourth
        await turn()
        gates.open(5)
        assert await fifth == 5

    run(scenario())


@pytest.mark.parametrize("how", ["value", "error", "cancel"])
def test_a_slot_comes_back_however_the_function_ends(how: str) -> None:
    async def scenario() -> None:
        runner = Runner(Options(concurrency=1, queue=0))
        gate = asyncio.Event()

        async def work() -> None:
            await gate.wait()
            if how == "error":
                raise ValueError

        for _ in range(3):
            gate.clear()
            task = asyncio.create_task(runner.run(new_call(), handler_of(work), {}))
            await turn()
            if how == "cancel":
                task.cancel()
            gate.set()
            await asyncio.wait([task])
            assert task.cancelled() or not isinstance(task.exception(), LimitError)

    run(scenario())


def test_a_call_that_was_withdrawn_before_it_began_has_no_effect() -> None:
    async def scenario() -> None:
        call = new_call()
        call.phase = STOPPED
        ran: list[int] = []
        with pytest.raises(asyncio.CancelledError):
            await Runner(Options()).run(call, handler_of(lambda: ran.append(1), Style.INLINE), {})
        assert ran == []

    run(scenario())


def test_a_handler_that_runs_another_needs_no_second_slot_and_keeps_its_clock() -> None:
    async def scenario() -> None:
        runner, call = Runner(Options(concurrency=1, queue=0)), new_call()

        async def inner() -> str:
            return "inner"

        async def outer() -> list[Any]:
            await turn()  # the clock starts when a function first waits
            before = call.interruption
            values = [
                await runner.run(call, handler_of(inner), {}),
                await runner.run(call, handler_of(lambda: "thread", Style.THREAD), {}),
                await runner.run(call, handler_of(lambda: "inline", Style.INLINE), {}),
            ]
            assert call.interruption is before
            assert before is not None
            return values

        assert await runner.run(call, handler_of(outer), {}) == ["inner", "thread", "inline"]
        assert call.interruption is None

    run(scenario())


# -- time -----------------------------------------------------------------------------------------


async def forever() -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("options", "own"),
    [({"timeout": 10.0}, None), ({"timeout": None}, 10.0), ({"timeout": 99.0}, 10.0)],
)
def test_a_function_is_stopped_when_its_time_is_up(options: Any, own: float | None) -> None:
    async def scenario(pass_time: Any) -> None:
        call = new_call()
        runner = Runner(Options(**options))
        task = asyncio.create_task(runner.run(call, handler_of(forever, timeout=own), {}))
        await turn()
        await pass_time(9.9)
        assert not task.done()
        await pass_time(0.2)
        with pytest.raises(LimitError, match="tool 't' took longer than 10 seconds and was"):
            await task
        assert call.phase.is_cancelled
        assert (call.interruption, call.on_hold, call.on_activity) == (None, None, None)

    on_the_clock(scenario)


def test_a_thread_is_told_when_its_time_is_up() -> None:
    async def scenario() -> None:
        call, seen = new_call(), threading.Event()

        def work() -> None:
            while not call.phase.is_cancelled:
                threading.Event().wait(0.001)
            seen.set()

        handler = handler_of(work, Style.THREAD, timeout=0.01)
        with pytest.raises(LimitError, match=r"took longer than 0.01 seconds"):
            await Runner(Options()).run(call, handler, {})
        assert await asyncio.to_thread(seen.wait, CAP)

    run(scenario())


def test_without_limits_there_is_no_timer() -> None:
    async def scenario(pass_time: Any) -> None:
        runner, call = Runner(Options(timeout=None)), new_call()
        gate = asyncio.Event()

        async def work() -> bool:
            return await call.waiting(gate.wait())

        task = asyncio.create_task(runner.run(call, handler_of(work), {}))
        await pass_time(1_000_000)
        gate.set()
        assert await task is True

    on_the_clock(scenario)


@pytest.mark.parametrize("source", ["loop", "thread"])
def test_progress_puts_the_idle_limit_off_but_not_the_whole_limit(source: str) -> None:
    async def scenario(pass_time: Any) -> None:
        call = new_call()
        call.link = NULL_LINK
        progress = Context(call).progress
        runner = Runner(Options(timeout=10.0, idle_timeout=3.0))
        task = asyncio.create_task(runner.run(call, handler_of(forever), {}))
        await turn()
        for _ in range(3):
            await pass_time(2.5)
            if source == "thread":
                thread = threading.Thread(target=progress, args=(1,))
                thread.start()
                thread.join(CAP)
            else:
                progress(1)
            assert not task.done()
        await pass_time(2.6)
        with pytest.raises(LimitError, match="took longer than 10 seconds"):
            await task

    on_the_clock(scenario)


def test_without_progress_the_idle_limit_stops_it() -> None:
    async def scenario(pass_time: Any) -> None:
        runner = Runner(Options(idle_timeout=99.0))
        handler = handler_of(forever, idle_timeout=3.0)
        task = asyncio.create_task(runner.run(new_call(), handler, {}))
        await turn()
        await pass_time(2.9)
        assert not task.done()
        await pass_time(0.2)
        with pytest.raises(
            LimitError, match="sent no progress or log message for 3 seconds and was stopped"
        ):
            await task

    on_the_clock(scenario)


def test_the_clock_stands_still_while_the_client_is_asked() -> None:
    async def scenario(pass_time: Any) -> None:
        call = new_call()
        answer = asyncio.Event()

        async def work() -> None:
            await call.waiting(answer.wait())
            await forever()

        runner = Runner(Options(timeout=10.0, idle_timeout=4.0))
        task = asyncio.create_task(runner.run(call, handler_of(work), {}))
        await turn()
        await pass_time(3)
        await pass_time(1000)
        assert not task.done()
        answer.set()
        await turn()
        await pass_time(3.9)
        assert not task.done()
        await pass_time(0.2)
        with pytest.raises(LimitError, match="sent no progress or log message for 4 seconds"):
            await task

    on_the_clock(scenario)


def test_after_a_question_the_rest_of_the_time_is_what_was_left() -> None:
    async def scenario(pass_time: Any) -> None:
        call = new_call()
        answer = asyncio.Event()

        async def work() -> None:
            await forever_after(call.waiting(answer.wait()))

        task = asyncio.create_task(Runner(Options(timeout=10.0)).run(call, handler_of(work), {}))
        await turn()
        await pass_time(6)
        # asked at the start: nothing of this time counts
        answer.set()
        await turn()
        await pass_time(9.9)
        assert not task.done()
        await pass_time(0.2)
        with pytest.raises(LimitError, match="took longer than 10 seconds"):
            await task

    on_the_clock(scenario)


async def forever_after(first: Coroutine[Any, Any, Any]) -> None:
    await first
    await forever()


def test_the_clock_goes_on_only_when_the_last_of_several_questions_is_answered() -> None:
    async def scenario(pass_time: Any) -> None:
        call = new_call()
        answers = [asyncio.Event(), asyncio.Event()]

        async def work() -> str:
            await asyncio.gather(*(call.waiting(answer.wait()) for answer in answers))
            return "both"

        runner = Runner(Options(timeout=10.0))
        task = asyncio.create_task(runner.run(call, handler_of(work), {}))
        await turn()
        await pass_time(50)
        answers[0].set()
        await turn()
        await pass_time(50)
        assert not task.done()
        answers[1].set()
        assert await task == "both"

    on_the_clock(scenario)


def test_a_run_left_behind_by_its_loop_does_not_disturb_the_clock_of_the_next() -> None:
    runner = Runner(Options())
    left_behind = asyncio.new_event_loop()
    try:
        task = left_behind.create_task(runner.run(new_call(), handler_of(forever), {}))
        left_behind.run_until_complete(turn())

        async def scenario() -> None:
            with pytest.raises(LimitError, match=r"took longer than 0\.01 seconds"):
                await runner.run(new_call(), handler_of(forever, timeout=0.01), {})

        run(scenario())
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            left_behind.run_until_complete(task)
    finally:
        left_behind.close()


# -- interruption ---------------------------------------------------------------------------------


async def swallows() -> str:
    with contextlib.suppress(asyncio.CancelledError):
        await forever()
    return "I do not care"


async def raises_instead() -> None:
    try:
        await forever()
    except asyncio.CancelledError:
        raise ValueError("in the way") from None


async def raises_in_finally() -> None:
    try:
        await forever()
    finally:
        raise ValueError("in the way")


async def takes_its_time() -> str:
    try:
        await forever()
    finally:
        await asyncio.sleep(0)
    return "never"


@pytest.mark.parametrize(
    "function", [forever, swallows, raises_instead, raises_in_finally, takes_its_time]
)
def test_the_outcome_of_an_interruption_stands_whatever_the_function_does(
    function: Callable[[], Any],
) -> None:
    async def scenario() -> None:
        call = new_call()
        outcome = KeyError("the outcome")
        task = asyncio.create_task(Runner(Options()).run(call, handler_of(function), {}))
        await turn()
        assert call.interruption is not None
        call.interruption(outcome)
        assert call.interruption is not None
        call.interruption(KeyError("a second one is too late"))
        with pytest.raises(KeyError) as caught:
            await task
        assert caught.value is outcome
        assert task.cancelling() == 0

    run(scenario())


def test_somebody_elses_cancellation_passes_through_an_interruption() -> None:
    async def scenario() -> None:
        call = new_call()
        task = asyncio.create_task(Runner(Options()).run(call, handler_of(forever), {}))
        await turn()
        assert call.interruption is not None
        call.interruption(KeyError("the outcome"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario())


@pytest.mark.parametrize("style", [Style.ASYNC, Style.THREAD])
def test_cancelling_the_call_cancels_the_function_or_flags_it(style: Style) -> None:
    async def scenario() -> None:
        call = new_call()
        ended = threading.Event()
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        async def work() -> None:
            started.set()
            try:
                await forever()
            finally:
                ended.set()

        def work_in_a_thread() -> None:
            loop.call_soon_threadsafe(started.set)
            while not call.phase.is_cancelled:
                threading.Event().wait(0.001)
            ended.set()

        function = work if style is Style.ASYNC else work_in_a_thread
        task = asyncio.create_task(Runner(Options()).run(call, handler_of(function, style), {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, CAP)

    run(scenario())


@pytest.mark.parametrize("blocking", [False, True])
def test_a_caller_with_many_calls_does_not_delay_the_others(blocking: bool) -> None:
    """Calls that wait for a slot or for a thread take turns by principal."""
    options = Options(concurrency=6, worker_threads=2) if blocking else Options(concurrency=2)
    server = Server("s", options=options)
    finished: list[str] = []
    may_end = threading.Event()

    def work(name: str) -> str:
        may_end.wait(CAP)
        finished.append(name)
        return name

    async def wait(name: str) -> str:
        while not may_end.is_set():
            await asyncio.sleep(0)
        finished.append(name)
        return name

    server.tools.add(work if blocking else wait, name="work")

    async def scenario() -> None:
        calls = []
        for name in ["greedy"] * 40 + ["other"]:
            params = {"name": "work", "arguments": {"name": name}}
            message = request("tools/call", params)
            calls.append(asyncio.ensure_future(server.handle(message, principal=name)))
            await turn()
        may_end.set()
        await asyncio.gather(*calls)

    run(scenario())
    assert len(finished) == 41 and finished.index("other") <= 10


def test_a_caller_with_functions_that_block_leaves_threads_for_the_others() -> None:
    server = Server("s", options=Options(worker_threads=4))
    may_end = threading.Event()
    running: list[str] = []

    def work(name: str) -> str:
        running.append(name)
        return name if name == "other" else str(may_end.wait(CAP))

    server.tools.add(work)

    async def scenario() -> None:
        def call(name: str) -> asyncio.Future[Any]:
            params = {"name": "work", "arguments": {"name": name}}
            message = request("tools/call", params)
            return asyncio.ensure_future(server.handle(message, principal=name))

        greedy = [call("greedy") for _ in range(10)]
        cancelled = call("greedy")
        await turn()
        cancelled.cancel()
        # They return although none of the others does.
        for _ in range(5):
            await call("other")
        assert running.count("other") == 5 and running.count("greedy") <= 3
        may_end.set()
        await asyncio.gather(*greedy)

    run(scenario())
    assert running.count("greedy") == 10
