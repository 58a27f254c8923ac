"""Functions in worker processes: results, errors, and processes that die."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from dovetail_serverkit.worker_pool import WorkerError, WorkerPool
from tests.patience import CAP, wait_until


class RefusedError(Exception):
    """An error that callers expect."""


class Pair(NamedTuple):
    first: int
    second: str


def add(a: int, b: int) -> int:
    return a + b


def make_pair(first: int, second: str) -> Pair:
    return Pair(first, second)


def echo(data: bytes) -> bytes:
    return data


def own_id() -> int:
    os.write(1, b"not a reply\n")
    return os.getpid()


def refuse(text: str) -> None:
    raise RefusedError(text)


def fail() -> None:
    raise KeyError("missing")


def crash() -> None:
    signal.raise_signal(signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def take_memory() -> int:
    return len(bytearray(4 << 30))


def hang() -> None:
    time.sleep(CAP)


def wait_for_another(folder: str) -> int:
    Path(folder, str(os.getpid())).touch()
    while len(os.listdir(folder)) < 2:
        time.sleep(0.01)
    return os.getpid()


def wait_for_file(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.01)


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    with WorkerPool("The parser", seconds=CAP, memory_mb=512, errors=(RefusedError,)) as pool:
        yield pool


def test_results_come_back(pool: WorkerPool) -> None:
    assert pool.run(add, 1, 2) == 3
    assert pool.run(make_pair, 1, "x", returns=Pair) == Pair(1, "x")
    assert pool.run(echo, bytes(20 << 20)) == bytes(20 << 20)


def test_a_worker_is_used_again_and_may_print(pool: WorkerPool) -> None:
    first = pool.run(own_id)
    assert first != os.getpid()
    assert pool.run(own_id) == first


def test_errors_are_raised_in_the_caller(pool: WorkerPool) -> None:
    with pytest.raises(RefusedError, match="no"):
        pool.run(refuse, "no")
    with pytest.raises(WorkerError, match="The parser failed: KeyError: 'missing'"):
        pool.run(fail)


@pytest.mark.parametrize(
    ("function", "text"),
    [(crash, r"The parser crashed \(signal 11\)"), (leave, r"The parser crashed \(exit code 3\)")],
)
def test_a_worker_that_dies_fails_one_call(pool: WorkerPool, function: object, text: str) -> None:
    before = pool.run(own_id)
    with pytest.raises(WorkerError, match=text):
        pool.run(function)  # type: ignore[arg-type]
    assert pool.run(own_id) not in (before, os.getpid())


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space")
def test_memory_is_bounded(pool: WorkerPool) -> None:
    before = pool.run(own_id)
    with pytest.raises(WorkerError, match="The parser needed more than 512 MB of memory"):
        pool.run(take_memory)
    assert pool.run(own_id) == before


def test_a_call_that_takes_too_long_is_ended() -> None:
    reason = r"The parser did not finish within 0\.2 seconds"
    with WorkerPool("The parser", seconds=0.2) as pool, pytest.raises(WorkerError, match=reason):
        pool.run(hang)


def test_calls_run_side_by_side(tmp_path: Path) -> None:
    with WorkerPool("The parser", size=2, seconds=CAP) as pool, ThreadPoolExecutor(2) as threads:
        ids = list(threads.map(lambda _: pool.run(wait_for_another, str(tmp_path)), range(2)))
    assert len(set(ids)) == 2


def test_owners_take_turns(tmp_path: Path) -> None:
    order: list[str] = []

    def call(owner: str) -> None:
        readers.run(wait_for_file, str(tmp_path / "go"), owner=owner)
        order.append(owner)

    with WorkerPool("The parser", seconds=CAP) as readers, ThreadPoolExecutor(12) as threads:
        calls = []
        for owner in ["greedy"] * 10 + ["other"] * 2:
            calls.append(threads.submit(call, owner))
            wait_until(lambda: _count_waiting(readers) >= len(calls) - 1)
        (tmp_path / "go").touch()
        for each in calls:
            each.result(CAP)
    # The first call runs already when the other owner comes, and one more may have its turn.
    assert max(at for at, owner in enumerate(order) if owner == "other") <= 4


def _count_waiting(pool: WorkerPool) -> int:
    return sum(map(len, tuple(pool._slots._waiting.values())))


def test_a_closed_pool_refuses_calls(pool: WorkerPool) -> None:
    pool.run(own_id)
    pool.close()
    with pytest.raises(WorkerError, match="The parser is closed"):
        pool.run(own_id)
