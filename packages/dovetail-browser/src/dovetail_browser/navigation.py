"""Loads pages and waits for them, with timeouts and progress notifications."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from dovetail import Context
from dovetail_browser.driver import Driver
from dovetail_browser.drivers import Drivers
from dovetail_browser.page_errors import abandon_after, driver_errors, explain, tool_error
from dovetail_browser.tab import Tab, host_of

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["LOAD_MS", "arrive", "check_address", "go_to", "report_progress"]

LOAD_MS = 30_000
_TELL_EVERY = 1.0
# Time from the response to a readable document.
_READY_MS = 10_000
_STOP_SECONDS = 2.0


@contextlib.asynccontextmanager
async def report_progress(ctx: Context, what: str) -> AsyncIterator[None]:
    """Send progress notifications while the block runs."""
    begun = time.monotonic()

    async def send() -> None:
        while True:
            await asyncio.sleep(_TELL_EVERY)
            seconds = time.monotonic() - begun
            await ctx.progress(round(seconds, 1), message=f"{what}, {seconds:.0f} s")

    task = asyncio.ensure_future(send())
    try:
        yield
    finally:
        task.cancel()


async def check_address(drivers: Drivers, url: str) -> None:
    """Raise ToolError if a URL is refused, before a tab is opened."""
    refusal = await drivers.check_url(url)
    if refusal is not None:
        raise _refused(refusal)


def _refused(reason: str) -> Exception:
    if "--allow" in reason:
        return tool_error(f"{reason.rstrip('.')}.", "give a public http or https URL")
    return tool_error(f"{reason.rstrip('.')}.", "check the URL, or give another one")


async def go_to(ctx: Context, driver: Driver, tab: Tab, url: str, timeout_ms: int) -> None:
    """Load a page; the tab keeps the status of the response."""
    tab.asked_host = host_of(url)
    tab.status = None
    async with report_progress(ctx, f"Loading {tab.asked_host}"):
        try:
            response = await tab.page.goto(url, wait_until="domcontentloaded", timeout=timeout_ms)
        except asyncio.CancelledError:
            await _stop(tab.page)
            raise
        except driver_errors() as error:
            if "Download is starting" in str(error):
                await _wait_for_download(tab)
                return
            await _stop(tab.page)
            is_late = "Timeout" in type(error).__name__
            tab.is_stuck = is_late and not await tab.is_responding()
            raise _failure(driver, tab, url, error, timeout_ms) from None
    if response is None:
        return
    tab.status = response.status
    refusal = driver.failure_reason(response)
    if refusal is not None:
        raise _refused(refusal)


async def arrive(ctx: Context, tab: Tab) -> None:
    """Wait for a navigation to complete."""
    if not tab.log.is_navigating:
        return
    async with report_progress(ctx, f"Loading {tab.host}"):
        try:
            async with asyncio.timeout(LOAD_MS / 1000):
                await tab.log.arrival()
        except TimeoutError:
            await _stop(tab.page)
            raise tool_error(
                f"The next page did not load within {LOAD_MS // 1000} s and was stopped.",
                "get_current_html reads the current page",
            ) from None
        except asyncio.CancelledError:
            await _stop(tab.page)
            raise
        with contextlib.suppress(*driver_errors()):
            await tab.page.wait_for_load_state("domcontentloaded", timeout=_READY_MS)


def _failure(
    driver: Driver, tab: Tab, url: str, error: BaseException, timeout_ms: int
) -> Exception:
    shown = url[:300]
    refusal = driver.last_refusal(host_of(url)) or driver.last_refusal(tab.host)
    if tab.is_stuck:
        return tool_error(
            f"{shown} did not load within {timeout_ms / 1000:g} s: tab {tab.id} does not respond. "
            "The scripts of its page are probably busy.",
            f"manage_tabs with `action=close` and `tab={tab.id}` ends the page, also while its "
            "scripts run",
            "fetch_webpage with a page of this host replaces the tab",
        )
    if "Timeout" in type(error).__name__:
        return tool_error(
            f"{shown} did not load within {timeout_ms / 1000:g} s.",
            "get_current_html or take_screenshot shows what has loaded so far",
            "fetch_webpage with a larger `timeout` waits longer",
        )
    if refusal is not None:
        return _refused(f"{shown} could not be loaded: {refusal}")
    return tool_error(
        f"{shown} could not be loaded: {explain(error)}.",
        "check the URL",
        "fetch_webpage tries again",
    )


async def _wait_for_download(tab: Tab) -> None:
    before = len(tab.downloads)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOAD_MS / 1000):
            while len(tab.downloads) == before:
                await asyncio.sleep(0.02)


async def _stop(page: Page) -> None:
    """Stop a navigation before the next call can start another one in this tab."""

    async def stop() -> None:
        session = await page.context.new_cdp_session(page)
        await session.send("Page.stopLoading")
        await session.detach()

    with contextlib.suppress(TimeoutError, *driver_errors()):
        await abandon_after(_STOP_SECONDS, stop())
