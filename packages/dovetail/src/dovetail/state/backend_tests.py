"""`BackendTests`: the behaviour that every backend has, as tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from dovetail.state import ABSENT, Backend, Limit, Published, Refusal, Retention

__all__ = ["BackendTests"]

_Check = Callable[[Any, Backend, Backend], Awaitable[None]]


def _check(check: _Check) -> Callable[[BackendTests], None]:
    """A test that runs the check on two opened backends of the same state."""

    def test(self: BackendTests) -> None:
        async def run() -> None:
            async with asyncio.timeout(self.timeout), AsyncExitStack() as stack:
                one = await self._opened(stack)
                other = await self._opened(stack) if self.is_shared else one
                await one.set("shared", b"")
                assert await other.delete("shared"), (
                    "two backends of make_backend() have different state; for a backend that "
                    "only its process has, set is_shared = False"
                )
                await check(self, one, other)

        asyncio.run(run())

    test.__doc__ = check.__doc__
    return test


class BackendTests:
    """Inherit from it in a class that pytest collects, and define `make_backend`.

    class TestMyBackend(BackendTests):
        def make_backend(self) -> Backend:
            return MyBackend(...)
    """

    is_shared = True
    """Whether two backends have the same state; False for the memory of a process."""
    timeout: float = 60.0
    """Seconds after which a test that hangs fails."""

    def make_backend(self) -> Backend:
        """Return a backend; all of one test have the same state, which is empty at first."""
        raise NotImplementedError

    async def _opened(self, stack: AsyncExitStack) -> Backend:
        backend = self.make_backend()
        await stack.enter_async_context(backend.opened())
        return backend

    # -- values ---------------------------------------------------------------------------------

    @_check
    async def test_a_value_is_read_by_all(self, one: Backend, other: Backend) -> None:
        """Any bytes, under any name."""
        assert await one.get("key") is None
        for key, data in (("key", b"\0\xff\r\n"), ("k/ä *?[x]\\", b""), ("large", b"x" * 300_000)):
            version = await one.set(key, data)
            found = await other.get(key)
            assert found is not None
            assert (found.data, found.version) == (data, version)
        assert await other.set("key", b"new") != version
        found = await one.get("key")
        assert found is not None
        assert found.data == b"new"

    @_check
    async def test_a_value_is_deleted_once(self, one: Backend, other: Backend) -> None:
        """The second delete finds nothing."""
        await one.set("key", b"1")
        assert await other.delete("key")
        assert not await one.delete("key")
        assert await one.get("key") is None

    @_check
    async def test_a_value_is_written_only_if_absent(self, one: Backend, other: Backend) -> None:
        """One of all that try it succeeds, also after the value was deleted."""
        for _ in range(2):
            tries = [each.set("key", b"1", ttl=60, version=ABSENT) for each in (one, other) * 20]
            assert sum(version is not None for version in await asyncio.gather(*tries)) == 1
            assert await one.delete("key")

    @_check
    async def test_a_value_is_written_only_if_unchanged(self, one: Backend, other: Backend) -> None:
        """Counting by reading and writing loses nothing."""

        async def count(backend: Backend) -> None:
            for _ in range(10):
                while True:
                    found = await backend.get("key")
                    number = 0 if found is None else int(found.data)
                    version = ABSENT if found is None else found.version
                    if await backend.set("key", b"%d" % (number + 1), version=version) is not None:
                        break

        await asyncio.gather(count(one), count(other), count(one))
        found = await one.get("key")
        assert found is not None
        assert found.data == b"30"
        assert not await one.delete("key", version=found.version + 1)
        # A version does not come back when the value does.
        assert await one.delete("key", version=found.version)
        await one.set("key", b"30")
        assert await other.set("key", b"31", version=found.version) is None

    @_check
    async def test_a_value_expires(self, one: Backend, other: Backend) -> None:
        """Reading with `ttl` changes when; writing without it means never."""
        await one.set("short", b"1", ttl=0.05)
        await one.set("longer", b"1", ttl=0.05)
        await one.set("kept", b"1", ttl=0.05)
        assert await other.get("longer", ttl=60) is not None
        await other.set("kept", b"2")
        await _until(lambda: _is_none(other.get("short")))
        assert await one.set("short", b"2", version=ABSENT) is not None
        assert await one.get("longer") is not None
        assert await one.get("kept") is not None
        assert await one.get("longer", ttl=0.01) is not None
        await _until(lambda: _is_none(other.get("longer")))

    @_check
    async def test_values_are_found_by_prefix(self, one: Backend, other: Backend) -> None:
        """Characters of patterns have no meaning; expired values are not found."""
        names = {f"a*/{number}" for number in range(600)}
        await asyncio.gather(*(one.set(name, name.encode()) for name in names))
        await asyncio.gather(*(one.set(name, b"") for name in ("a", "a*", "b", "ab/1", "A*/1")))
        await one.set("a*/short", b"", ttl=0.01)
        await _until(lambda: _is_none(one.get("a*/short")))
        found = [each async for each in other.scan("a*/")]
        assert {key for key, value in found if value.data == key.encode()} == names
        assert len(found) == len(names)
        assert [each async for each in other.scan("nothing")] == []

    # -- limits ---------------------------------------------------------------------------------

    @_check
    async def test_tokens_come_back_at_a_rate(self, one: Backend, other: Backend) -> None:
        """A burst, then a refusal with the time to wait."""
        slow = Limit("slow", 3, 1e-6)
        tries = await asyncio.gather(*(each.take([slow]) for each in (one, other) * 5))
        refused = [each for each in tries if each is not None]
        assert len(refused) == 7
        assert all(each.position == 0 and 0 < each.wait <= 1e6 for each in refused)
        fast = Limit("fast", 1, 20)
        assert await one.take([fast]) is None
        await _until(lambda: _is_none(other.take([fast])))

    @_check
    async def test_a_call_takes_from_all_limits_or_none(self, one: Backend, other: Backend) -> None:
        """The refusal names the first limit that is reached."""
        wide, narrow, held = Limit("w", 3, 1e-6), Limit("n", 1, 1e-6), Limit("h", 1)
        assert await one.take([wide, narrow, held], holder="a", ttl=60) is None
        refusal = await other.take([wide, narrow, held], holder="b", ttl=60)
        assert refusal is not None
        assert refusal.position == 1
        assert await other.take([wide, held], holder="b", ttl=60) == Refusal(1, 0.0)
        for _ in range(2):
            assert await other.take([wide]) is None
        assert await other.take([wide]) is not None

    @_check
    async def test_a_holder_gives_its_token_back(self, one: Backend, other: Backend) -> None:
        """Or loses it when its time has passed; taking it again prolongs it."""
        limit = Limit("calls", 2)
        for holder in ("a", "b", "a"):
            assert await one.take([limit], holder=holder, ttl=60) is None
        assert await other.take([limit], holder="c", ttl=60) == Refusal(0, 0.0)
        assert await one.take([Limit("calls", 0)], holder="a", ttl=60) is None
        await other.give_back(["calls", "unknown"], "a")
        await other.give_back(["calls"], "a")
        assert await other.take([limit], holder="c", ttl=0.05) is None
        await _until(lambda: _is_none(one.take([limit], holder="d", ttl=60)))
        assert await one.take([limit], holder="e", ttl=60) is not None

    # -- logs -----------------------------------------------------------------------------------

    @_check
    async def test_a_log_is_read_from_a_position(self, one: Backend, other: Backend) -> None:
        """Positions grow, over all who append."""
        assert await one.read("log") == ([], False)
        keep = Retention()
        positions = [
            await each.append("log", b"%d" % number, keep)
            for number, each in enumerate((one, other) * 5)
        ]
        assert None not in positions
        assert positions == sorted(set(positions), key=int)  # type: ignore[arg-type]  # see above
        page = await other.read("log")
        assert not page.lost
        assert [each.data for each in page.entries] == [b"%d" % number for number in range(10)]
        assert [each.position for each in page.entries] == positions
        page = await one.read("log", positions[6] or 0, 2)
        assert ([each.data for each in page.entries], page.lost) == ([b"7", b"8"], False)
        assert await one.read("log", positions[9] or 0) == ([], False)

    @_check
    async def test_a_trimmed_log_says_so(self, one: Backend, other: Backend) -> None:
        """By count, bytes and age; the newest entry stays."""
        for log, keep, left in (
            ("count", Retention(max_entries=3), 3),
            ("bytes", Retention(max_bytes=25), 2),
            ("large", Retention(max_bytes=5), 1),
        ):
            positions = [await one.append(log, b"x" * 10, keep) or 0 for _ in range(8)]
            page = await other.read(log)
            assert (len(page.entries), page.lost) == (left, True)
            assert (await other.read(log, positions[-left - 1])).lost is False
            assert (await other.read(log, positions[-left])).lost is False
            assert (await other.read(log, positions[-left - 2])).lost is True
        await one.append("age", b"1", Retention(max_age=0.05))
        await _until(lambda: _is_empty(one, "age"))
        # A position of a log that has gone is not one of the log that takes its place.
        await other.append("age", b"2", Retention())
        assert (await one.read("age", positions[0])).lost
        await one.drop("count")
        assert await other.read("count") == ([], False)

    # -- messages -------------------------------------------------------------------------------

    @_check
    async def test_messages_reach_all_subscribers(self, one: Backend, other: Backend) -> None:
        """In order, and an appended entry is announced."""
        async with one.subscribe("a", "b") as here, other.subscribe("b", "log") as there:
            for backend, channel, data in (
                (one, "a", b"1"),
                (other, "b", b"\0\xff"),
                (one, "c", b"nobody"),
                (one, "b", b"2"),
            ):
                await backend.publish(channel, data)
            await one.append("log", b"entry", Retention())
            expected = [Published("a", b"1"), Published("b", b"\0\xff"), Published("b", b"2")]
            assert await _next(here, 3) == expected
            assert await _next(there, 3) == [*expected[1:], Published("log", b"")]
        async with other.subscribe("a") as there:
            await one.publish("a", b"3")
            assert await _next(there, 1) == [Published("a", b"3")]

    @_check
    async def test_a_slow_subscriber_is_told_of_losses(self, one: Backend, other: Backend) -> None:
        """What it has not read is bounded; the last message arrives."""
        async with one.subscribe("a") as messages:
            for _ in range(11):
                await asyncio.gather(*(other.publish("a", b"") for _ in range(1000)))
            await other.publish("a", b"last")
            received = await _next(messages, 1)
            while received[-1].data != b"last":
                received += await _next(messages, 1)
        assert len(received) == 11_001 or any(each.data is None for each in received)

    # -- leases ---------------------------------------------------------------------------------

    @_check
    async def test_a_lease_has_one_holder(self, one: Backend, other: Backend) -> None:
        """Until it is released or not renewed; the tokens grow."""
        tries = [each.acquire("task", "a", 60) for each in (one, other) * 5]
        [lease] = [each for each in await asyncio.gather(*tries) if each is not None]
        assert (lease.name, lease.holder) == ("task", "a")
        assert await other.renew(lease, 60)
        await one.release(lease)
        assert not await other.renew(lease, 60)
        second = await other.acquire("task", "b", 0.05)
        assert second is not None
        assert second.token > lease.token
        await one.release(lease)
        while (third := await one.acquire("task", "c", 60)) is None:
            await asyncio.sleep(0.005)
        assert third.token > second.token
        assert not await other.renew(second, 60)

    @_check
    async def test_a_lost_lease_fences_writes(self, one: Backend, other: Backend) -> None:
        """Who has lost the lease changes nothing, whatever it believes."""
        old = await one.acquire("task", "a", 60)
        assert old is not None
        version = await one.set("key", b"1", fence=old)
        assert version is not None
        assert await one.append("log", b"1", Retention(), fence=old) is not None
        await one.release(old)
        assert await one.set("key", b"2", fence=old) is None
        new = await other.acquire("task", "b", 60)
        assert new is not None
        assert await one.set("key", b"2", fence=old) is None
        assert await one.set("key", b"2", version=version, fence=old) is None
        assert not await one.delete("key", fence=old)
        assert await one.append("log", b"2", Retention(), fence=old) is None
        assert len((await one.read("log")).entries) == 1
        assert await other.set("key", b"3", version=version, fence=new) is not None
        assert await other.delete("key", fence=new)


async def _until(happens: Callable[[], Awaitable[bool]]) -> None:
    while not await happens():
        await asyncio.sleep(0.005)


async def _is_none(found: Awaitable[object]) -> bool:
    return await found is None


async def _is_empty(backend: Backend, log: str) -> bool:
    return not (await backend.read(log)).entries


async def _next(messages: AsyncIterator[Published], count: int) -> list[Published]:
    return [await anext(messages) for _ in range(count)]
