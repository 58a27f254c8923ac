"""Starting a browser, or connecting to one that runs, with everything that has to end with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import ToolError, UsageError
from dovetail_browser.chromium_flags import Launch
from dovetail_browser.chromium_path import find_chromium
from dovetail_browser.chromium_process import (
    Leash,
    launch_chromium,
    list_driver_processes,
    to_its_end,
)
from dovetail_browser.egress import Egress

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Playwright, ProxySettings

__all__ = [
    "CONTEXT",
    "DriverOptions",
    "Running",
    "attempt",
    "connect_browser",
    "proxy_of",
    "start_browser",
]

# Asking nicely must not take so long that somebody who was killed leaves a browser behind for
# seconds: what has not ended by then is killed.
_FLUSH_SECONDS = 2.5
_STOP_SECONDS = 1.0
_START_SECONDS = 30.0

# For every context, a session's own or a profile's.
CONTEXT: dict[str, Any] = {
    "accept_downloads": True,
    "viewport": {"width": 1280, "height": 800},
}

_NO_DISPLAY = "there is no display for --headed: leave it out, or use xvfb-run"
_PROFILE_TAKEN = "another browser uses this --profile: close that one first"

# Found in what a browser said when it did not start -> what to do about it.
_HINTS: tuple[tuple[str, str], ...] = (
    ("No usable sandbox", "this system gives it no sandbox: start the server with --no-sandbox"),
    ("without --no-sandbox", "start the server with --no-sandbox, or not as root"),
    ("Missing X server", _NO_DISPLAY),
    ("cannot open display", _NO_DISPLAY),
    ("profile appears to be in use", _PROFILE_TAKEN),
    ("ProcessSingleton", _PROFILE_TAKEN),
    ("existing browser session", _PROFILE_TAKEN),
    ("error while loading shared libraries", "its installation is not complete"),
    ("ECONNREFUSED", "nothing listens there: start it with --remote-debugging-port"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOptions:
    """How the browser is started, or found, and what it may reach."""

    headless: bool = True
    # Where cookies and storage are kept; by default they end with the process.
    profile: Path | None = None
    # An already running browser: http://HOST:PORT or ws://... of its DevTools.
    connect: str | None = None
    # What may be reached although it is not public: host, host:port, *.suffix, address or network.
    allow: tuple[str, ...] = ()
    # Chromium refuses its sandbox to root; root therefore gets --no-sandbox anyway.
    no_sandbox: bool = False
    # Bytes of one response after which the connection is cut.
    max_response: int = 50_000_000


class Running:
    """A browser and what ends with it."""

    def __init__(
        self,
        browser: Browser,
        kept: BrowserContext | None,
        leash: Leash,
        belongings: contextlib.AsyncExitStack,
    ) -> None:
        self.browser = browser
        # The context that keeps cookies, where there is one.
        self.kept = kept
        self._leash = leash
        self._belongings = belongings

    @property
    def is_alive(self) -> bool:
        """Whether it can still be used. A driver that died takes no leave of us."""
        return self.browser.is_connected() and self._leash.has_all()

    async def end(self) -> None:
        """End it all; returns when nothing is left."""
        await self._belongings.aclose()


async def start_browser(options: DriverOptions, egress: Egress) -> Running:
    """Start Chromium with all its traffic through the egress. ToolError says why it cannot be."""
    try:
        program = find_chromium()
    except UsageError as error:
        raise ToolError(str(error)) from None
    if options.profile is not None:
        _check_profile(options.profile.expanduser())
    async with contextlib.AsyncExitStack() as stack:
        leash, playwright = await _begin(stack, egress)
        profile = options.profile or leash.folder / "profile"
        launch = Launch(
            profile=str(profile.expanduser().absolute()),
            proxy=egress.address,
            headless=options.headless,
            sandbox=not options.no_sandbox and os.geteuid() != 0,
        )
        # The flag names the proxy; Playwright needs to know of it only where it has a password.
        proxy = {"proxy": proxy_of(egress)} if egress.credentials else {}
        default = await attempt(
            f"Chromium ({program})",
            launch_chromium(playwright, leash, program, launch, **CONTEXT, **proxy),
        )
        if options.profile is not None:
            # Asked to, it writes its cookies down before it ends.
            stack.push_async_callback(_quietly, default.close, _FLUSH_SECONDS)
        assert default.browser is not None
        await attempt(f"Chromium ({program})", default.grant_permissions([]))
        kept = default if options.profile is not None else None
        return Running(default.browser, kept, leash, stack.pop_all())
    raise AssertionError("an exit stack swallowed an exception")


async def connect_browser(url: str, egress: Egress) -> Running:
    """Connect to a running browser; the egress is for contexts of our own in it."""
    async with contextlib.AsyncExitStack() as stack:
        leash, playwright = await _begin(stack, egress)
        artifacts = leash.folder / "artifacts"
        browser = await attempt(
            f"The browser at {url}",
            playwright.chromium.connect_over_cdp(url, artifacts_dir=artifacts),
        )
        stack.push_async_callback(_quietly, browser.close, _STOP_SECONDS)
        kept = browser.contexts[0] if browser.contexts else None
        return Running(browser, kept, leash, stack.pop_all())
    raise AssertionError("an exit stack swallowed an exception")


def proxy_of(egress: Egress) -> ProxySettings:
    """The egress as Playwright names a proxy."""
    proxy: ProxySettings = {"server": f"http://{egress.address}"}
    if egress.credentials is not None:
        proxy["username"], proxy["password"] = egress.credentials
    return proxy


def _check_profile(profile: Path) -> None:
    """Say at once what Chromium would say only after it has waited for the other one."""
    try:
        host, _, number = os.readlink(profile / "SingletonLock").rpartition("-")
        command = Path(f"/proc/{int(number)}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    # A lock may be left over, and its number be another program's by now.
    if host == socket.gethostname() and b"chrom" in command:
        raise ToolError(f"The browser could not be started: {_PROFILE_TAKEN} (process {number}).")


async def _begin(stack: contextlib.AsyncExitStack, egress: Egress) -> tuple[Leash, Playwright]:
    """The parts around a browser, each of which ends with the stack."""
    # Heavy, and of an optional extra: loaded when a browser is wanted.
    from playwright.async_api import async_playwright  # noqa: PLC0415

    await egress.start()
    stack.push_async_callback(egress.close)
    leash = Leash()
    stack.push_async_callback(leash.end)
    await leash.start()
    others = list_driver_processes()
    maker = async_playwright()
    stack.push_async_callback(_quietly, lambda: maker.__aexit__(None, None, None), _STOP_SECONDS)
    playwright = await to_its_end(maker.start())
    for process in list_driver_processes() - others:
        leash.tie(process)
    return leash, playwright


async def attempt(what: str, start: Awaitable[Any]) -> Any:
    """What `start` gives, in bounded time; ToolError says what went wrong."""
    from playwright.async_api import Error  # noqa: PLC0415 - see above

    try:
        async with asyncio.timeout(_START_SECONDS):
            return await start
    except TimeoutError:
        raise ToolError(f"{what} did not start within {_START_SECONDS:g} s.") from None
    except Error as error:
        said = str(error)
        hints = [hint for found, hint in _HINTS if found.lower() in said.lower()]
        raise ToolError(
            f"{what} could not be started: {'; '.join(hints) or _last_words(said)}."
        ) from None


async def _quietly(end: Callable[[], Awaitable[object]], seconds: float) -> None:
    """End something that may have ended already, or may not be able to any more."""
    # Where the driver is gone, Playwright raises Exception itself.
    with contextlib.suppress(Exception):
        async with asyncio.timeout(seconds):
            await end()


def _last_words(said: str) -> str:
    """What the browser itself wrote, without the driver's account of it."""
    own = [line.partition("[err]")[2].strip() for line in said.splitlines() if "[err]" in line]
    return " / ".join(own[-3:])[:500] or said.strip().splitlines()[0][:500]
