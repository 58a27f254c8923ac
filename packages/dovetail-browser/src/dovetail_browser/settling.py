"""Waits until a page has settled, and reports what was pending if it did not.

A page has settled if no request is open that can change it, its document and size have not changed
for a moment, and no element is marked as busy. Timers of a page cannot be seen, so a page that
changes only later looks settled.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from dovetail import Context
from dovetail_browser.navigation import arrive, report_progress
from dovetail_browser.page_errors import abandon_after, driver_errors

if TYPE_CHECKING:
    from dovetail_browser.tab import Tab

__all__ = ["SETTLE_SECONDS", "settle"]

SETTLE_SECONDS = 5.0
# For a page whose document did not settle before, and probably never does.
_RESTLESS_SECONDS = 1.0
_QUIET_MS = 150
_RETRY_SECONDS = 0.05
# Time for the page's own timers, which end the wait.
_RESPONSE_SECONDS = 1.0
_MOST_REPORTED = 5

_CHANGING = "the document was still changing"
_MARKED_BUSY = "an element was marked as busy (aria-busy)"
_SILENT = "the scripts of the page did not respond"

# Resolves to "" when the document is stable, or to what was pending when the time is up.
_STABLE = f"""(limit) => new Promise((resolve) => {{
  const root = document.documentElement;
  const size = () => `${{root.scrollWidth}} ${{root.scrollHeight}}`;
  const busy = () => document.querySelector('[aria-busy="true"]') !== null;
  let before = size();
  let timer = 0;
  const end = (pending) => {{
    observer.disconnect();
    clearTimeout(timer);
    clearTimeout(last);
    resolve(pending);
  }};
  const wait = () => {{ clearTimeout(timer); timer = setTimeout(check, {_QUIET_MS}); }};
  const check = () => {{
    const now = size();
    if (now === before && !busy()) return end("");
    before = now;
    wait();
  }};
  const observer = new MutationObserver(wait);
  const last = setTimeout(() => end(busy() ? "{_MARKED_BUSY}" : "{_CHANGING}"), limit);
  observer.observe(document, {{
    subtree: true, childList: true, characterData: true, attributeFilter: ["class", "hidden"],
  }});
  wait();
}})"""


async def settle(ctx: Context, tab: Tab, pause_ms: int | None, seconds: float) -> None:
    """Wait until a page has settled, at most `seconds`, or exactly for `pause_ms`.

    Also waits for a navigation. What was still pending is stored in `tab.pending`.
    """
    if pause_ms is not None:
        async with report_progress(ctx, "Waiting"):
            await asyncio.sleep(pause_ms / 1000)
        await arrive(ctx, tab)
        tab.pending = _describe_requests(tab)
        return
    async with report_progress(ctx, "Waiting for the page to settle"):
        unstable = await _wait(ctx, tab, time.monotonic() + seconds)
    tab.pending = [*_describe_requests(tab), *filter(None, [unstable])]
    # The next call does not wait for the same requests again.
    tab.log.give_up()
    tab.is_restless = bool(unstable)
    # A window that has not appeared by now was not opened.
    tab.expected_popups = 0


async def _wait(ctx: Context, tab: Tab, deadline: float) -> str:
    """Wait until the page has settled; return why its document has not, or an empty text."""
    while True:
        await arrive(ctx, tab)
        left = max(deadline - time.monotonic(), 0)
        limit = min(left, _RESTLESS_SECONDS) if tab.is_restless else left
        unstable = _SILENT
        with contextlib.suppress(TimeoutError):
            try:
                stable = tab.page.evaluate(_STABLE, limit * 1000)
                unstable = str(await abandon_after(limit + _RESPONSE_SECONDS, stable))
            except driver_errors():
                # The page navigates.
                unstable = _CHANGING
                await asyncio.sleep(_RETRY_SECONDS)
        is_waiting = tab.log.is_busy or tab.log.is_navigating or tab.expected_popups
        if time.monotonic() >= deadline:
            return unstable
        if not is_waiting and (not unstable or tab.is_restless):
            return unstable


def _describe_requests(tab: Tab) -> list[str]:
    lines = tab.log.open_requests
    now = time.monotonic()
    shown = [
        f"{line.kind} {line.text[:200]} ({line.resource_type}, {now - line.started:.1f} s)"
        for line in lines[:_MOST_REPORTED]
    ]
    more = len(lines) - len(shown)
    return [*shown, f"{more} more requests"] if more else shown
