"""The state of a server: where it is, session state, revoked keys."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoints
from pathlib import Path
from typing import Any

import pytest

from dovetail import Options, Server, UsageError
from dovetail.errors import LimitError, MissingPackageError
from dovetail.runtime.state import ServerState, open_state
from dovetail.state import MemoryBackend, Published, SQLiteBackend
from tests.patience import CAP

# -- where it is ----------------------------------------------------------------------------------


def test_the_scheme_selects_the_backend(tmp_path: Path) -> None:
    for given in (None, "memory://"):
        state = open_state(given, "test")
        assert isinstance(state.backend, MemoryBackend)
        assert not state.is_shared
    state = open_state(f"sqlite:///{tmp_path}/state.db", "test")
    assert isinstance(state.backend, SQLiteBackend)
    assert state.is_shared
    asyncio.run(_use_once(state))
    assert (tmp_path / "state.db").exists()
    backend = SQLiteBackend("a")
    assert open_state(backend, "test").backend is backend


async def _use_once(state: ServerState) -> None:
    async with state.opened():
        assert await state.used_rounds.use(b"\0", 60)
        assert not await state.used_rounds.use(b"\0", 60)


def test_the_environment_takes_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_CLUSTER", "sqlite:///a")
    assert isinstance(open_state("memory://", "test").backend, SQLiteBackend)


@pytest.mark.parametrize(
    "url", ["", "a", "a:6379", "postgresql://a", "://[", "http://[", "sqlite://a", "sqlite:///"]
)
def test_another_url_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(UsageError, match=r"expected a Backend, redis://HOST"):
        open_state(url, "test")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Adds a distribution with this entry point and this module `shop_backend`."""

    def add(entry_point: str, source: str) -> None:
        folder = tmp_path / "shop_backend-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: shop-backend\nVersion: 1.0\n"
        )
        (folder / "entry_points.txt").write_text(f"[dovetail.backends]\n{entry_point}\n")
        (tmp_path / "shop_backend.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "shop_backend", raising=False)

    return add


_SHOP = """
from dovetail.errors import UsageError
from dovetail.state import MemoryBackend
class ShopBackend(MemoryBackend):
    def __init__(self, url):
        if "secret" in url:
            raise UsageError("no passwords here")
        super().__init__()
        self.url = url
"""


def test_a_package_adds_a_scheme(install: Callable[[str, str], None]) -> None:
    install("shop = shop_backend:ShopBackend", _SHOP)
    state = open_state("shop://a/b?c=d", "test")
    assert getattr(state.backend, "url", None) == "shop://a/b?c=d"
    with pytest.raises(UsageError, match="no passwords here"):
        Server("test", options=Options(state="shop://:secret@a"))


def test_what_an_entry_point_returns_must_be_a_backend(
    install: Callable[[str, str], None],
) -> None:
    install("shop = shop_backend:make", "make = str")
    with pytest.raises(UsageError, match=r"'shop' in dovetail.backends, returned str; expected"):
        open_state("shop://a", "test")


def test_a_library_of_a_backend_that_is_missing_is_named(
    install: Callable[[str, str], None],
) -> None:
    install("shop = shop_backend:ShopBackend", "import no_such_library")
    with pytest.raises(MissingPackageError) as caught:
        open_state("shop://a", "test")
    assert str(caught.value) == (
        "Options.state: shop:// needs no_such_library, which is not installed: "
        "pip install shop-backend"
    )


@pytest.mark.parametrize("scheme", ["redis", "rediss", "unix"])
def test_a_known_package_that_is_missing_is_named(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: EntryPoints())
    with pytest.raises(MissingPackageError) as caught:
        open_state(f"{scheme}://:secret@a", "test")
    assert str(caught.value) == (
        f"Options.state: {scheme}:// needs dovetail-redis, which is not installed: "
        "pip install dovetail-redis"
    )


# -- session state --------------------------------------------------------------------------------


def test_values_belong_to_one_owner_and_can_be_removed() -> None:
    async def run() -> None:
        state = open_state(None, "test")
        states = state.session_states
        for owner in ("anna", "bert"):
            await states.set(owner, "key", owner.encode(), lifetime=None, max_bytes=1000)
        assert await states.get("anna", "key") == b"anna"
        assert await states.get("anna", "other") is None
        for _ in range(2):
            await states.delete("anna", "key")
            assert await states.get("anna", "key") is None
        states.forget("bert")
        await state.close()
        assert await states.get("bert", "key") is None

    asyncio.run(run())


def test_an_owner_has_a_limit_for_keys_and_values_together() -> None:
    async def run() -> None:
        states = open_state(None, "test").session_states

        async def put(key: str, value: bytes) -> None:
            await states.set("anna", key, value, lifetime=None, max_bytes=500)

        await put("a", b"x" * 300)
        for key, value in (("b", b"x" * 100), ("a", b"x" * 400), ("k" * 100, b"")):
            with pytest.raises(LimitError, match="over its limit of 500 bytes"):
                await put(key, value)
        assert await states.get("anna", "a") == b"x" * 300
        # Replacing a value frees its space.
        await put("a", b"y")
        await put("b", b"x" * 100)

    asyncio.run(run())


def test_values_set_at_the_same_time_are_all_kept() -> None:
    async def run() -> None:
        states = open_state(None, "test").session_states
        keys = [f"{number}" for number in range(20)]
        put = [states.set("a", key, b"", lifetime=60.0, max_bytes=10_000) for key in keys]
        await asyncio.gather(*put)
        assert [await states.get("a", key) for key in keys] == [b""] * 20

    asyncio.run(run())


def test_values_expire_after_their_last_use() -> None:
    now = 0.0

    async def run() -> None:
        nonlocal now
        states = ServerState(MemoryBackend(clock=lambda: now), "test").session_states
        await states.set("anna", "key", b"1", lifetime=10.0, max_bytes=1000)
        await states.set("session", "key", b"1", lifetime=None, max_bytes=1000)
        for _ in range(3):
            now += 9.0
            assert await states.get("anna", "key") == b"1"
        now += 10.0
        assert await states.get("anna", "key") is None
        assert await states.get("session", "key") == b"1"

    asyncio.run(run())


# -- revoked keys ---------------------------------------------------------------------------------


class Leaky(MemoryBackend):
    """Loses messages, or its contents, when told to."""

    is_deaf = False

    async def publish(self, channel: str, data: bytes) -> None:
        if not self.is_deaf:
            await super().publish(channel, data)

    async def lose_all(self) -> None:
        keys = [key async for key, _ in self.scan("")]
        for key in keys:
            await self.delete(key)

    def tell(self) -> None:
        for inboxes in self._inboxes.values():
            for inbox in inboxes:
                inbox.put(Published("", None))


@asynccontextmanager
async def two(backend: MemoryBackend) -> AsyncIterator[tuple[ServerState, ServerState]]:
    one, other = ServerState(backend, "test"), ServerState(backend, "test")
    async with asyncio.timeout(CAP), one.opened(), other.opened():
        yield one, other


async def until_revoked(id: str, state: ServerState) -> None:
    while id not in state.revocations:
        await asyncio.sleep(0)


def test_a_revoked_key_is_known_to_all_also_to_those_who_start_later() -> None:
    async def run() -> None:
        backend = MemoryBackend()
        async with two(backend) as (one, other):
            await one.revocations.revoke("a", None)
            await one.revocations.revoke("b", time.time() + 60)
            assert "a" in one.revocations
            await until_revoked("b", other)
        async with two(backend) as (one, other):
            assert "a" in one.revocations and "b" in other.revocations
            assert "c" not in one.revocations

    asyncio.run(run())


def test_lost_messages_and_lost_contents_are_made_good() -> None:
    async def run() -> None:
        backend = Leaky()
        async with two(backend) as (one, other):
            backend.is_deaf = True
            await one.revocations.revoke("a", None)
            backend.tell()
            await until_revoked("a", other)
            await backend.lose_all()
            backend.tell()
            while await backend.get("test/revoked/a") is None:
                await asyncio.sleep(0)

    asyncio.run(run())


def test_lost_contents_are_noticed_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.runtime.state._LOOK_AGAIN", 0.01)

    async def run() -> None:
        backend = Leaky()
        async with two(backend) as (one, _):
            await one.revocations.revoke("a", None)
            await backend.lose_all()
            while await backend.get("test/revoked/a") is None:
                await asyncio.sleep(0.001)

    asyncio.run(run())


def test_servers_with_different_names_share_nothing() -> None:
    backend = MemoryBackend()
    names = ["a b", "a_b", "a/b", "\u5de5\u8d44", "\u5929\u6c14", "a%20b"]
    keys = {ServerState(backend, name).key("used", "x") for name in names}
    assert len(keys) == len(names)


def test_a_revoked_key_that_nobody_can_read_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        backend = MemoryBackend()
        await backend.set("shop/revoked/bad", b"oops")
        await backend.set("shop/revoked/good", b"inf")
        state = ServerState(backend, "shop")
        async with asyncio.timeout(CAP), state.opened():
            assert "good" in state.revocations
            await backend.publish("shop/revoked", b"oops")
            await backend.publish("shop/revoked", b"inf later")
            while "later" not in state.revocations:
                await asyncio.sleep(0)
            assert "bad" not in state.revocations

    asyncio.run(run())
    assert "ignored a revoked key" in caplog.text


@pytest.mark.parametrize("given", [5, MemoryBackend])
def test_what_is_no_backend_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match=r"Options\.state: expected a Backend"):
        open_state(given, "shop")
