"""Processes that share a backend: messages, requests, liveness and changes, also during faults."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.errors import StoreError
from dovetail.runtime.bus import SharedBus
from dovetail.runtime.processes import Processes
from dovetail.runtime.state import ServerState
from dovetail.state import MemoryBackend
from tests.patience import CAP
from tests.unit.fakes import drive


class Faulty(MemoryBackend):
    """A backend that can be away: then nothing can be read or written."""

    away = False

    def check(self) -> None:
        if self.away:
            raise StoreError("away")

    async def get(self, *given: Any, **options: Any) -> Any:
        self.check()
        return await super().get(*given, **options)

    async def set(self, *given: Any, **options: Any) -> Any:
        self.check()
        return await super().set(*given, **options)

    async def append(self, *given: Any, **options: Any) -> Any:
        self.check()
        return await super().append(*given, **options)

    async def read(self, *given: Any, **options: Any) -> Any:
        self.check()
        return await super().read(*given, **options)

    async def lose(self) -> None:
        """Lose all contents."""
        for log in list(self._logs):
            await self.drop(log)
        for key in list(self._values):
            await self.delete(key)


@asynccontextmanager
async def two(backend: MemoryBackend) -> AsyncIterator[tuple[Processes, Processes]]:
    one, other = (Processes(ServerState(backend, "test")) for _ in range(2))
    async with asyncio.timeout(CAP), one.opened(), other.opened():
        yield one, other


def listen(processes: Processes) -> tuple[SharedBus, asyncio.Queue[ChangeEvent]]:
    bus, heard = SharedBus(processes), asyncio.Queue[ChangeEvent]()
    bus.subscribe(heard.put_nowait)
    return bus, heard


def test_a_change_is_heard_once_in_every_process() -> None:
    async def run() -> None:
        async with two(MemoryBackend()) as (one, other):
            bus, heard = listen(one)
            _, far = listen(other)
            changes = [ChangeEvent(ChangeKind.TOOLS), ChangeEvent(ChangeKind.RESOURCE, "file:///ä")]
            for change in changes:
                bus.publish(change)
            assert [await far.get() for _ in changes] == changes
            assert [await heard.get() for _ in changes] == changes
            assert heard.empty()

    drive(run())


def test_changes_are_published_from_any_thread() -> None:
    async def run() -> None:
        async with two(MemoryBackend()) as (one, other):
            bus, _ = listen(one)
            _, far = listen(other)
            publishing = threading.Thread(target=bus.publish, args=(ChangeEvent(ChangeKind.TOOLS),))
            publishing.start()
            assert await far.get() == ChangeEvent(ChangeKind.TOOLS)
            publishing.join()

    drive(run())


def test_changes_during_an_outage_are_heard_once_afterwards() -> None:
    async def run() -> None:
        backend = Faulty()
        async with two(backend) as (one, other):
            bus, _ = listen(one)
            _, far = listen(other)
            backend.away = True
            for _ in range(100):
                bus.publish(ChangeEvent(ChangeKind.TOOLS))
                bus.publish(ChangeEvent(ChangeKind.PROMPTS))
            backend.away = False
            assert (await far.get()).what is ChangeKind.TOOLS
            assert (await far.get()).what is ChangeKind.PROMPTS
            bus.publish(ChangeEvent(ChangeKind.RESOURCES))
            assert (await far.get()).what is ChangeKind.RESOURCES

    drive(run())


def test_too_many_changes_during_an_outage_are_announced_as_everything() -> None:
    async def run() -> None:
        backend = Faulty()
        async with two(backend) as (one, other):
            bus, _ = listen(one)
            _, far = listen(other)
            backend.away = True
            for number in range(25_000):
                bus.publish(ChangeEvent(ChangeKind.RESOURCE, f"n:{number}"))
            backend.away = False
            assert {(await far.get()) for _ in range(4)} == {
                ChangeEvent(what)
                for what in (
                    ChangeKind.TOOLS,
                    ChangeKind.PROMPTS,
                    ChangeKind.RESOURCES,
                    ChangeKind.RESOURCE,
                )
            }

    drive(run())


def test_after_a_loss_the_clients_look_again() -> None:
    async def run() -> None:
        backend = Faulty()
        async with two(backend) as (one, other):
            heard = [listen(each)[1] for each in (one, other)]
            await backend.lose()
            for each in heard:
                assert (await each.get()).what is ChangeKind.TOOLS
            assert one.resets == other.resets == 1

    drive(run())


def test_a_request_is_answered_by_the_process_that_is_asked() -> None:
    async def run() -> None:
        async with two(MemoryBackend()) as (one, other):

            async def answer(node: str, data: bytes) -> bytes:
                if data == b"fail":
                    raise StoreError("no such thing")
                return data.upper()

            for each in (one, other):
                each.on_request("ask", answer)
            for target in (one, other):
                assert await one.request(target.node, "ask", b"hello") == b"HELLO"
            with pytest.raises(StoreError, match="no such thing"):
                await one.request(other.node, "ask", b"fail")
            with pytest.raises(StoreError, match="does not know 'else'"):
                await one.request(other.node, "else", b"")

    drive(run())


def test_a_request_whose_messages_are_lost_fails() -> None:
    async def run() -> None:
        backend = Faulty()
        async with two(backend) as (one, other):
            asked = asyncio.Event()

            async def never(node: str, data: bytes) -> bytes:
                asked.set()
                await asyncio.Event().wait()
                return b""

            other.on_request("ask", never)
            asking = asyncio.create_task(one.request(other.node, "ask", b""))
            await asked.wait()
            await backend.lose()
            with pytest.raises(StoreError, match="were lost"):
                await asking

    drive(run())


def test_a_request_to_a_process_that_has_ended_fails() -> None:
    async def run() -> None:
        async with two(MemoryBackend()) as (one, _):
            while await one.is_alive("gone"):
                await asyncio.sleep(0.01)
            with pytest.raises(StoreError, match="has ended"):
                await one.request("gone", "ask", b"")

    drive(run())


def test_nobody_is_dead_while_nobody_could_report() -> None:
    async def run() -> None:
        backend = Faulty()
        async with two(backend) as (one, other):
            while await one.is_alive("gone"):
                await asyncio.sleep(0.01)
            assert await one.is_alive(other.node)
            await backend.lose()
            assert await one.is_alive(other.node)
            assert await one.is_alive("gone")

    drive(run())
