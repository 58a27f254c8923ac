"""One task at work, with whoever keeps it played by the test."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Options
from dovetail.core.call import Ask, Sent
from dovetail.eras.legacy.era import era_of
from dovetail.runtime.runner import TaskRunner
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.stores.tasks import TaskRow
from dovetail.tasks.run import TaskRun, encode_asks, read_asks, view_of
from dovetail.tasks.views import Status
from tests.unit.fakes import FakeLink, drive, make_call, settle
from tests.unit.stores.task_stores import make_row

ASK = Ask("k", "elicitation/create", b'{"message":"m"}')


class Keeper:
    """Keeps what it is told."""

    poll_ms = 500
    is_shared = False
    notifies = False

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.saved: list[TaskRow] = []

    def publish(self, run: TaskRun) -> None:
        self.statuses.append(run.row.status)

    def save_soon(self, row: TaskRow) -> None:
        self.saved.append(row)

    async def save(self, row: TaskRow) -> bool:
        self.saved.append(row)
        return True

    def lose(self, run: TaskRun) -> None:
        self.statuses.append("lost")


def make_run(**how: Any) -> tuple[TaskRun, Keeper]:
    keeper = Keeper()
    call = make_call(era=era_of(LATEST_LEGACY))
    runner = TaskRunner(Options())
    runner.reclaim_slot()  # as if it had begun
    run = TaskRun(make_row(), call, keeper, runner, **{"resumable": False, **how})
    call.detached = run
    return run, keeper


def test_a_question_parks_the_task_until_it_is_answered() -> None:
    async def scenario() -> None:
        run, keeper = make_run()
        asking = asyncio.create_task(run.ask(ASK))
        await settle()
        assert run.view().status is Status.INPUT_REQUIRED
        assert dict(run.view().asks) == {"k": ASK}
        run.answer("other", Raw(b"{}"))
        run.answer("k", Raw(b'{"a":1}'))
        # It is answered, though the function has yet to hear of it.
        assert run.view().status is Status.WORKING
        run.answer("k", Raw(b'{"a":2}'))
        assert bytes(await asking) == b'{"a":1}'
        assert keeper.statuses == ["input_required", "working"]
        assert bytes(await run.ask(ASK)) == b'{"a":1}'

    drive(scenario())


def test_a_question_that_is_given_up_is_not_open_any_more() -> None:
    async def scenario() -> None:
        run, keeper = make_run()
        asking = asyncio.create_task(run.ask(ASK))
        await settle()
        asking.cancel()
        await settle()
        assert run.view().status is Status.WORKING
        assert run.call.holds == 0
        run.refuse("k", ValueError())
        run.give_back("k")
        assert not run.take("k")
        assert keeper.statuses == ["input_required", "working"]

    drive(scenario())


def test_a_refusal_reaches_the_function() -> None:
    async def scenario() -> None:
        run, _ = make_run()
        asking = asyncio.create_task(run.ask(ASK))
        await settle()
        run.refuse("k", ValueError("no"))
        with pytest.raises(ValueError, match="no"):
            await asking

    drive(scenario())


def test_one_at_a_time_puts_a_question_to_the_client() -> None:
    async def scenario() -> None:
        run, keeper = make_run()
        asking = asyncio.create_task(run.ask(ASK))
        await settle()
        assert run.take("k")
        assert not run.take("k")
        waiting = asyncio.create_task(run.wait())
        await settle()
        run.give_back("k")
        await waiting
        assert run.take("k")
        # Whoever waits was woken, and nobody was told of a change there was not.
        assert keeper.statuses == ["input_required"]
        asking.cancel()

    drive(scenario())


def test_whoever_stops_waiting_is_forgotten() -> None:
    async def scenario() -> None:
        run, _ = make_run()
        first, second = (asyncio.create_task(run.wait()) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        second.cancel()
        run.show(run.row)
        await settle()
        assert first.cancelled() and second.cancelled()

    drive(scenario())


def test_progress_is_in_the_status_and_told_now_and_then() -> None:
    async def scenario() -> None:
        run, keeper = make_run()
        run.progressed(1, None, None)
        assert run.view().message == "1"
        run.progressed(1, 4, None)
        assert run.view().message == "1 of 4"
        await asyncio.to_thread(run.progressed, 2, 4, "half")
        await settle()
        assert run.view().message == "half"
        assert keeper.statuses == ["working"]
        run.row.status = "completed"
        run.progressed(3, 4, "late")
        assert run.view().message == "half"

    drive(scenario())


def test_what_is_said_names_its_task() -> None:
    async def scenario() -> None:
        run, _ = make_run()
        run.call.notify("notifications/message", b'{"data":"x"}')
        assert isinstance(run.call.link, FakeLink)
        assert run.call.link.unrelated == [
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x","_meta":'
            b'{"io.modelcontextprotocol/related-task":{"taskId":"a"}}}}'
        ]

    drive(scenario())


def test_a_record_is_kept_of_what_may_be_run_again() -> None:
    async def scenario() -> None:
        run, keeper = make_run()
        await run.recorded()
        assert keeper.saved == []
        run, keeper = make_run(resumable=True, attempts=3)
        run.call.record.results["k"] = Raw(b"1")
        await run.recorded()
        assert [row.record for row in keeper.saved] == [b'{"results":{"k":1},"attempts":3}']

    drive(scenario())


def test_questions_are_read_as_they_were_written() -> None:
    asks = {"a": ASK._replace(key="a"), "b": Ask("b", "roots/list", None)}
    assert read_asks(encode_asks(asks)) == asks
    assert read_asks(None) == {}


def test_a_row_is_shown_as_clients_may_see_it() -> None:
    view = view_of(make_row(expires=None, status="failed", error=b"{}", message="m"), 250)
    assert (view.ttl_ms, view.poll_ms, view.status) == (None, 250, Status.FAILED)
    assert (view.error, view.message) == (b"{}", "m")
    assert view_of(make_row(expires=100.0), 250).ttl_ms == 99_000


def test_a_task_does_not_wait_for_a_slow_client() -> None:
    async def scenario() -> None:
        run, _ = make_run()
        await Sent(run.call)
        assert isinstance(run.call.link, FakeLink) and run.call.link.drained == 0

    drive(scenario())
