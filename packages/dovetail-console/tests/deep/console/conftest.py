"""One browser and one official test server for all tests of a worker process."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.console.serving import Served, serve_file
from tests.deep.console.browsing import Person, open_browser, visit

_FOLDER = Path(__file__).parent
SERVER = _FOLDER.parents[4] / "qa" / "conformance" / "server.py"
ERAS = ["2026-07-28", "2025-11-25"]


_SHARED = contextlib.ExitStack()
_BROWSERS: list[Browser] = []


@pytest.fixture(scope="module")
def browser() -> Browser:
    """The browser of this process."""
    if not _BROWSERS:
        _BROWSERS.append(_SHARED.enter_context(open_browser()))
    return _BROWSERS[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    """Close the browser after the last test of this folder.

    It keeps an event loop in this thread, and other tests start their own.
    """
    yield
    if nextitem is None or _FOLDER not in nextitem.path.parents:
        _BROWSERS.clear()
        _SHARED.close()


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    with serve_file(SERVER) as running:
        yield running


@pytest.fixture(params=ERAS)
def person(request: pytest.FixtureRequest, browser: Browser, served: Served) -> Iterator[Person]:
    """Somebody at the console of the test server, in each era."""
    with visit(browser, served.console, {"conformance": request.param}) as visitor:
        visitor.wait_until_connected()
        yield visitor
