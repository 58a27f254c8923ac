"""A Chromium for tests that need a page but no server: one per module, a page per test."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from playwright.async_api import Browser, Page, async_playwright

from dovetail_browser.page_source import PageSource, read_source
from tests.deep.chromium_launch import chromium_launch
from tests.patience import CAP

T = TypeVar("T")


class Chromium:
    """Holds the loop that Playwright's objects belong to."""

    page: Page

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._driver = async_playwright()
        self._browser: Browser | None = None

    def __enter__(self) -> Chromium:
        self.run(self._start())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.run(self._stop())
        self._runner.close()

    def run(self, steps: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result."""
        return self._runner.run(_in_time(steps))

    def read(self, html: str, selector: str | None = None, **options: Any) -> PageSource:
        """Return the result of `read_source` for a page with this content."""
        return self.run(self._read(html, selector, options))

    async def _read(self, html: str, selector: str | None, options: dict[str, Any]) -> PageSource:
        await self.page.set_content(html)
        return await read_source(self.page, selector, **options)

    async def _start(self) -> None:
        driver = await self._driver.start()
        self._browser = await driver.chromium.launch(**chromium_launch())
        self.page = await self._browser.new_page()

    async def _stop(self) -> None:
        if self._browser is not None:
            await self._browser.close()
        await self._driver.__aexit__(None, None, None)


async def _in_time(steps: Coroutine[Any, Any, T]) -> T:
    async with asyncio.timeout(CAP):
        return await steps
