"""The backends that need nothing but Python, through the public kit, and what only they do."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import stat
from pathlib import Path

import pytest

from dovetail.errors import StoreError
from dovetail.state import ABSENT, Backend, Limit, MemoryBackend, Retention, SQLiteBackend
from dovetail.testing import BackendTests
from tests.patience import CAP


class TestMemory(BackendTests):
    is_shared = False

    def make_backend(self) -> Backend:
        return MemoryBackend()


class TestSQLite(BackendTests):
    @pytest.fixture(autouse=True)
    def _use(self, tmp_path: Path) -> None:
        self.path = tmp_path / "state"

    def make_backend(self) -> Backend:
        return SQLiteBackend(self.path)


def test_memory_is_bounded() -> None:
    async def run() -> None:
        backend = MemoryBackend(1000)
        for name in ("a", "b", "c"):
            await backend.set(name, b"x" * 200)
        assert await backend.get("a") is not None
        await backend.set("d", b"x" * 200)
        found = {key async for key, _ in backend.scan("")}
        assert found == {"a", "c", "d"}
        # What was replaced or deleted is no longer counted.
        for _ in range(10):
            await backend.set("d", b"x" * 200)
        for name in ("a", "c"):
            await backend.delete(name)
        await backend.set("e", b"x" * 500)
        assert {key async for key, _ in backend.scan("")} == {"d", "e"}

    asyncio.run(run())


def test_memory_forgets_what_has_expired() -> None:
    now = 0.0

    async def run() -> None:
        nonlocal now
        backend = MemoryBackend(clock=lambda: now)
        await backend.set("kept", b"")
        for number in range(300):
            name = f"{number}"
            await backend.set(name, b"", ttl=1)
            await backend.take([Limit(name, 1, 1.0), Limit(name, 1)], holder="a", ttl=1)
            await backend.append(name, b"", Retention(max_age=1))
            await backend.acquire(name, "a", 1)
        now = 5.0
        for _ in range(1000):
            await backend.set("kept", b"")
        kept = (backend._values, backend._levels, backend._holders, backend._logs, backend._leases)
        assert [len(each) for each in kept] == [1, 0, 0, 0, 0]

    asyncio.run(run())


def test_state_in_a_file_survives_and_is_private(tmp_path: Path) -> None:
    async def write() -> int | None:
        async with SQLiteBackend(tmp_path / "state").opened() as backend:
            await backend.set("key", b"1")
            return await backend.append("log", b"1", Retention())

    async def read(position: int | None) -> None:
        async with SQLiteBackend(tmp_path / "state").opened() as backend:
            assert (await backend.get("key") or b"")[0] == b"1"
            assert (await backend.read("log")).entries == [(position, b"1")]

    asyncio.run(read(asyncio.run(write())))
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o600


def _use_all(path: Path) -> int:
    async def run() -> int:
        async with SQLiteBackend(path).opened() as backend:
            tries = [backend.set(f"{number}", b"", version=ABSENT) for number in range(50)]
            return sum(version is not None for version in await asyncio.gather(*tries))

    return asyncio.run(run())


def test_each_write_has_one_winner_among_processes(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.map(_use_all, [tmp_path / "state"] * 3)) == 50


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 20)
    with sqlite3.connect(tmp_path / "newer") as newer:
        newer.execute("PRAGMA user_version = 99")
    for name, why in (("text", "not a database"), ("newer", "format 99"), ("no/folder", "No such")):
        with pytest.raises(StoreError, match=why) as caught:
            asyncio.run(SQLiteBackend(tmp_path / name).open())
        assert name in str(caught.value)


def test_a_file_that_cannot_be_written_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(CAP), SQLiteBackend(tmp_path / "state").opened() as backend:
            await backend.set("small", b"1")
            limit = sqlite3.SQLITE_LIMIT_LENGTH
            await backend._do(lambda: backend._database.setlimit(limit, 1000))
            with pytest.raises(StoreError):
                await backend.set("large", b"x" * 2000)
            assert await backend.get("small") is not None
            assert await backend.set("other", b"2") is not None

    asyncio.run(run())


class SlowToOpen(MemoryBackend):
    """Fails the first time that it is opened, after everybody who shares it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.tries = 0
        self.events: list[str] = []

    async def open(self) -> None:
        self.tries += 1
        number = self.tries
        for _ in range(5):
            await asyncio.sleep(0)
        if number == 1:
            raise StoreError("not yet")
        self.events.append("open")

    async def close(self) -> None:
        self.events.append("close")


def test_nobody_uses_a_backend_that_another_one_is_still_opening() -> None:
    async def run() -> None:
        backend = SlowToOpen()

        async def use() -> str:
            try:
                async with backend.opened():
                    return "opened" if "open" in backend.events else "not opened"
            except StoreError:
                return "failed"

        async with asyncio.timeout(CAP):
            found = await asyncio.gather(use(), use(), use())
        assert list(found) == ["failed", "opened", "opened"]
        # What failed was closed, and then the last user closed it.
        assert backend.events[0] == "close" and backend.events[-1] == "close"

    asyncio.run(run())


def test_a_file_is_opened_again_only_after_it_was_closed(tmp_path: Path) -> None:
    async def run() -> None:
        backend = SQLiteBackend(tmp_path / "state")

        async def use(name: str) -> None:
            for number in range(20):
                async with backend.opened():
                    await backend.set(f"{name}{number}", b"1")
                    assert await backend.get(f"{name}{number}") is not None

        async with asyncio.timeout(CAP):
            await asyncio.gather(*map(use, "abc"))

    asyncio.run(run())


def test_the_kit_says_when_two_backends_share_nothing() -> None:
    class Lonely(BackendTests):
        def make_backend(self) -> Backend:
            return MemoryBackend()

    name = next(each for each in dir(Lonely) if each.startswith("test_"))
    with pytest.raises(AssertionError, match="set is_shared = False"):
        getattr(Lonely(), name)()
