"""Where tokens are kept."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keyring
import keyring.backend
import keyring.errors
import pytest

from dovetail.client.auth import FileStore, MemoryStore, TokenStore
from dovetail.client.auth.keyring_store import KeyringStore
from dovetail.client.auth.storage import default_store, find_data_folder, make_key
from dovetail.errors import UsageError
from tests.peers.scripted import run


class FakeKeyring(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.passwords.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError("no such password")


@pytest.fixture(params=["memory", "file", "keyring"])
def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> TokenStore:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if request.param == "keyring":
        fake = FakeKeyring()
        monkeypatch.setattr(keyring, "get_keyring", lambda: fake)
        for name in ("get_password", "set_password", "delete_password"):
            monkeypatch.setattr(keyring, name, getattr(fake, name))
        return KeyringStore()
    return MemoryStore() if request.param == "memory" else FileStore(tmp_path / "tokens")


def test_records_are_kept_until_they_are_deleted(store: TokenStore) -> None:
    one = make_key("login", "https://as.test", "https://a.test/mcp", "me")
    two = make_key("login", "https://as.test", "https://b.test/mcp", "me")
    assert store.load(one) is None
    store.save(one, b'{"a":1}')
    store.save(two, b'{"a":2}')
    store.save(two, b'{"a":3}')
    assert (store.load(one), store.load(two)) == (b'{"a":1}', b'{"a":3}')
    assert sorted(store.list_keys()) == sorted([one, two])
    store.delete(one)
    store.delete(one)
    assert store.load(one) is None
    assert list(store.list_keys()) == [two]


def test_a_lock_is_held_by_one_task_at_a_time(store: TokenStore) -> None:
    async def use() -> list[str]:
        order: list[str] = []

        async def work(name: str) -> None:
            async with store.lock("key"):
                order.append(f"{name} begins")
                await asyncio.sleep(0)
                order.append(f"{name} ends")

        await asyncio.gather(work("a"), work("b"), work("c"))
        return order

    order = run(use())
    for begins, ends in zip(order[::2], order[1::2], strict=True):
        assert begins.replace("begins", "ends") == ends


def test_files_are_for_the_user_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = FileStore(tmp_path / "deep" / "tokens")
        store.save("key", b"{}")
    finally:
        os.umask(before)
    [file] = store.folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.save("key", b"{}")
    [file] = tmp_path.glob("*.json")
    file.chmod(0o644)
    with pytest.raises(UsageError, match=r"can be read by others; .* chmod 600"):
        store.load("key")


def test_a_damaged_file_is_no_login(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.save("key", b"{}")
    [file] = tmp_path.glob("*.json")
    file.write_bytes(b"{")
    assert store.load("key") is None
    assert list(store.list_keys()) == []


def test_a_lock_that_nobody_releases_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.client.auth.storage._WAIT_SECONDS", 0.05)

    async def use() -> None:
        store = FileStore(tmp_path)
        async with store.lock("key"), store.lock("key"):
            pass

    with pytest.raises(Exception, match="Another process has been renewing"):
        run(use())


@pytest.mark.parametrize(
    ("platform", "env", "folder"),
    [
        ("linux", {"XDG_DATA_HOME": "/data"}, "/data/dovetail"),
        ("linux", {}, "/home/me/.local/share/dovetail"),
        ("darwin", {}, "/home/me/Library/Application Support/dovetail"),
    ],
)
def test_the_folder_is_that_of_the_platform(
    platform: str, env: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.client.auth.storage.sys", SimpleNamespace(platform=platform))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert str(find_data_folder()) == folder


def test_the_keyring_is_the_default_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = FakeKeyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: fake)
    assert isinstance(default_store(), KeyringStore)
    # The backend that says that there is none.
    monkeypatch.setattr(keyring, "get_keyring", lambda: SimpleNamespace(priority=0))
    assert isinstance(default_store(), FileStore)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert isinstance(default_store(), FileStore)
