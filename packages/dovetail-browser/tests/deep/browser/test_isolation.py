"""One client's pages cannot affect the sessions of another client.

Ada opens pages that exhaust the browser, its driver or its session limit. All of Bob's calls are
answered, and his session keeps its cookie.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from dovetail.auth import KeyFile
from dovetail.client import CallResult, Client
from tests.deep.browser.driving import allowing, command, data_of, over_stdio
from tests.deep.browser.processes import descendants
from tests.deep.browser.web_site import WebSite, serving_site
from tests.driving import serving_http
from tests.patience import CAP

# Characters of a string; the driver would need several times as many bytes for it.
HUGE = 40_000_000
# What a page does with a huge string -> its script.
HUGE_STRINGS = {
    "console": "console.log(huge)",
    "error": "setTimeout(() => { throw new Error(huge) })",
    "rejection": "Promise.reject(huge)",
    "alert": "alert(huge)",
    "prompt": "prompt('', huge)",
    "request body": "fetch('/submitted', {method: 'POST', body: huge})",
    "title": "document.title = huge",
    "address": "history.pushState(0, '', '/' + huge.slice(0, 1.9e6))",
    "download": (
        "const a = document.createElement('a'); a.href = 'data:,x';"
        "a.download = huge; document.body.append(a); a.click()"
    ),
    "flood": "for (let i = 0; i < 2e3; i++) console.log(i, huge.slice(0, 5e4))",
}


ATTACKS = ("console", "prompt", "request body", "flood")


@pytest.fixture(scope="module")
def site() -> Iterator[WebSite]:
    with serving_site() as running:
        yield running


def drivers() -> list[int]:
    """Return the process ids of the running drivers, the oldest first."""
    found = [pid for pid, line in descendants().items() if "run-driver" in line]
    return sorted(filter(started_at, found), key=started_at)


def started_at(pid: int) -> int:
    """Return when a process started, in ticks; 0 if it has ended. Process ids may start over."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def peak_memory(pid: int) -> int:
    """Return the most bytes that a process has used."""
    status = Path(f"/proc/{pid}/status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


class Visitor:
    """A principal with one browser session."""

    def __init__(self, client: Client, site: WebSite) -> None:
        self.client = client
        self.site = site
        self.handle: dict[str, str] = {}

    async def call(self, tool: str, **arguments: Any) -> CallResult:
        return await self.client.call(tool, {**self.handle, **arguments})

    async def fetch(self, path: str, **arguments: Any) -> CallResult:
        result = await self.call(
            "fetch_webpage", url=f"{self.site.url}{path}", **{"format": "text", **arguments}
        )
        if not result.is_error and not self.handle:
            self.handle = {"session": data_of(result)["session"]}
        return result

    async def name(self) -> str:
        """Return the cookie of the session, which ends with it."""
        return str(data_of(await self.fetch("/whoami"))["content"])


@contextlib.asynccontextmanager
async def ada_and_bob(
    site: WebSite, folder: Path, *options: str
) -> AsyncIterator[tuple[Visitor, Visitor]]:
    keys = KeyFile(folder / "keys.json")
    ada, bob = (
        {"authorization": f"Bearer {keys.add(name, scopes=['*'])[1]}"} for name in ("ada", "bob")
    )
    # Pages that never settle need not be waited for.
    options = ("--keys", str(folder / "keys.json"), "--settle", "0.5", "--http", "0", *options)
    serving = command(*allowing(site), *options)
    async with (
        serving_http(serving) as [url],
        Client(url, mode="modern", timeout=CAP, headers=ada) as hers,
        Client(url, mode="modern", timeout=CAP, headers=bob) as his,
    ):
        visitors = Visitor(hers, site), Visitor(his, site)
        for visitor, name in zip(visitors, ("ada", "bob"), strict=True):
            await visitor.fetch(f"/whoami?set={name}")
        yield visitors


def test_huge_strings_of_a_page_do_not_reach_the_driver(site: WebSite) -> None:
    """Every driver reads whole messages, so a page could make it grow until it ends."""

    async def run() -> None:
        async with over_stdio(*allowing(site), "--settle", "0.5") as client:

            async def fetch(path: str) -> None:
                result = await client.call("fetch_webpage", {"url": f"{site.url}{path}"})
                assert not result.is_error, result.text

            await fetch("/")
            [driver] = drivers()
            for kind, script in HUGE_STRINGS.items():
                before = peak_memory(driver)
                huge = f'const huge = "x".repeat({HUGE}); {script}'
                await fetch(f"/script?do={quote(huge)}")
                await client.call("get_page_log", {"kind": "errors"})
                await client.call("page_snapshot", {"find": "Below"})
                # All events that the page has sent have been handled when the next page is there.
                await fetch("/")
                assert drivers() == [driver], kind
                assert peak_memory(driver) - before < HUGE, kind

    asyncio.run(run())


def test_a_driver_that_ends_takes_one_clients_sessions_only(site: WebSite, tmp_path: Path) -> None:
    async def run() -> None:
        async with ada_and_bob(site, tmp_path) as (ada, bob):
            first, second = drivers()
            # While a call waits for the browser, and between calls.
            waiting = asyncio.ensure_future(ada.call("wait_for", text="Never", timeout=120_000))
            while len(drivers()) == 2:
                os.kill(first, signal.SIGKILL)
                assert await bob.name() == "You are bob"
            failed = await waiting
            assert failed.is_error and "browser of this session has ended" in failed.text, (
                failed.text
            )
            gone = await ada.call("get_current_html")
            assert gone.is_error and "browser of this session has ended" in gone.text, gone.text
            assert await ada.name() == "You are nobody"
            assert await bob.name() == "You are bob"
            assert second in drivers()

    asyncio.run(run())


def test_a_client_with_many_sessions_closes_its_own(site: WebSite, tmp_path: Path) -> None:
    async def run() -> None:
        async with ada_and_bob(site, tmp_path, "--max-sessions", "4") as (ada, bob):
            for _ in range(6):
                assert not (await ada.fetch("/whoami", session="new")).is_error
            assert await bob.name() == "You are bob"
            gone = await ada.call("get_current_html")
            assert gone.is_error and "to make room" in gone.text
            # A client with fewer sessions takes the place of one with more.
            assert not (await bob.fetch("/whoami", session="new")).is_error
            assert await bob.name() == "You are bob"

    asyncio.run(run())


def test_all_calls_of_another_client_are_answered(site: WebSite, tmp_path: Path) -> None:
    scripts = [f"const huge = 'x'.repeat({HUGE}); {HUGE_STRINGS[kind]}" for kind in ATTACKS]

    async def attack(ada: Visitor) -> None:
        for script in (*scripts, "while (true);"):
            await ada.fetch(f"/script?do={quote(script)}", timeout=3_000, session="new")
        # Her other sessions still work, too.
        assert await ada.name() == "You are ada"

    async def run() -> None:
        async with ada_and_bob(site, tmp_path) as (ada, bob):
            attacking = asyncio.ensure_future(attack(ada))
            while not attacking.done():
                assert await bob.name() == "You are bob"
                shown = await bob.call("page_snapshot")
                assert not shown.is_error, shown.text
                await asyncio.sleep(0.2)
            await attacking

    asyncio.run(run())
