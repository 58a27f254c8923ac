"""Settings that every test shares.

Tests drive coroutines with `asyncio.run`, so no plugin decides when a loop lives. There are no
sleeps: wait for the event itself, under `asyncio.timeout(5)`.
"""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# A slow machine is no bug, so no example has a deadline; the cap per test is pytest's.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("fuzz", deadline=None, max_examples=20_000)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Halves of surrogate pairs in a log cannot be sent from one process of the run to another."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report
