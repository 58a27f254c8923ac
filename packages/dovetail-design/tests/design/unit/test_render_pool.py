from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from dovetail import ToolError
from dovetail_design.render_pool import RenderPool


def double(number: int) -> int:
    return 2 * number


def refuse() -> None:
    raise ToolError("too large")


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.fixture(scope="module")
def pool() -> Iterator[RenderPool]:
    made = RenderPool()
    yield made
    made.close()


def test_results_and_errors_come_back(pool: RenderPool) -> None:
    assert pool.run(double, 4, returns=int) == 8
    with pytest.raises(ToolError, match=r"^too large$"):
        pool.run(refuse, returns=int)


def test_a_crash_is_an_error_that_says_what_was_kept(pool: RenderPool) -> None:
    with pytest.raises(ToolError, match=r"^Rendering crashed \(signal 11\); the design is unch"):
        pool.run(crash, returns=int)
    with pytest.raises(ToolError, match=r"^Rendering crashed \(signal 11\), sorry$"):
        pool.run(crash, returns=int, kept=", sorry")
    assert pool.run(double, 4, returns=int) == 8
