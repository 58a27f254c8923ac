"""Used rounds in a file: shared by processes, private, and forgotten when they have expired."""

from __future__ import annotations

import multiprocessing
import stat
import time
from pathlib import Path

import pytest

from dovetail.errors import TransportError
from dovetail.stores.rounds_sqlite import SqliteRounds


def test_a_round_is_used_once_by_all_who_share_the_file(tmp_path: Path) -> None:
    first, second = SqliteRounds(tmp_path / "rounds"), SqliteRounds(tmp_path / "rounds")
    assert first.use(b"a", 60)
    assert second.use(b"b", 60)
    assert not second.use(b"a", 60)
    assert not first.use(b"b", 60)
    first.close()
    second.close()


def test_expired_rounds_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    store = SqliteRounds(tmp_path / "rounds")
    assert store.use(b"a", 60)
    now += 60
    assert store.use(b"a", 60)
    store.close()


def use_all(path: Path) -> int:
    store = SqliteRounds(path)
    used = sum(store.use(b"%d" % number, 60) for number in range(50))
    store.close()
    return used


def test_each_round_has_one_winner_among_processes(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert sum(pool.map(use_all, [tmp_path / "rounds"] * 3)) == 50


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    SqliteRounds(tmp_path / "rounds").close()
    assert stat.S_IMODE((tmp_path / "rounds").stat().st_mode) == 0o600


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(TransportError, match=r"missing/rounds cannot store used rounds"):
        SqliteRounds(tmp_path / "missing" / "rounds")
