"""Starts a browser or connects to a running one, and cleans up everything that belongs to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail import ToolError, UsageError
from dovetail_browser.chromium_flags import Launch
from dovetail_browser.chromium_path import find_chromium
from dovetail_browser.chromium_process import (
    ProcessGuard,
    launch_chromium,
    list_driver_processes,
    run_to_completion,
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

# Timeout for a graceful exit; after it, processes are killed.
_FLUSH_SECONDS = 2.5
_STOP_SECONDS = 1.0
_START_SECONDS = 30.0

# Options of every context.
CONTEXT: dict[str, Any] = {
    "accept_downloads": True,
    "viewport": {"width": 1280, "height": 800},
}

_NO_DISPLAY = "there is no display for --headed: omit it, or use xvfb-run"
_PROFILE_TAKEN = "another browser uses this --profile: close it first"

# Text in the output of a browser that did not start -> explanation.
_HINTS: tuple[tuple[str, str], ...] = (
    ("No usable sandbox", "the sandbox is not available: start the server with --no-sandbox"),
    ("without --no-sandbox", "start the server with --no-sandbox, or not as root"),
    ("Missing X server", _NO_DISPLAY),
    ("cannot open display", _NO_DISPLAY),
    ("profile appears to be in use", _PROFILE_TAKEN),
    ("ProcessSingleton", _PROFILE_TAKEN),
    ("existing browser session", _PROFILE_TAKEN),
    ("error while loading shared libraries", "its installation is incomplete"),
    ("ECONNREFUSED", "connection refused: start the browser with --remote-debugging-port"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOptions:
    """How to start or find the browser, and which addresses it may access."""

    headless: bool = True
    # Folder for cookies and storage; by default they are temporary.
    profile: Path | None = None
    # DevTools address of a running browser: http://HOST:PORT or ws://...
    connect: str | None = None
    # Allowed non-public destinations: host, host:port, *.suffix, address or network.
    allow: tuple[str, ...] = ()
    # Chromium's sandbox does not work as root, so root always gets --no-sandbox.
    no_sandbox: bool = False
    # Maximum size of one response; the connection is closed after it.
    max_response: int = 50_000_000


class Running:
    """A running browser and its resources."""

    def __init__(
        self,
        browser: Browser,
        kept: BrowserContext | None,
        guard: ProcessGuard,
        belongings: contextlib.AsyncExitStack,
    ) -> None:
        self.browser = browser
        # The context that keeps cookies, if there is one.
        self.kept = kept
        self._leash = guard
        self._belongings = belongings

    @property
    def is_alive(self) -> bool:
        """Whether it can still be used. A driver that dies sends no event."""
        return self.browser.is_connected() and self._leash.is_intact()

    async def end(self) -> None:
        """End the browser and its processes; returns when all have ended."""
        await self._belongings.aclose()


async def start_browser(options: DriverOptions, egress: Egress) -> Running:
    """Start Chromium with the egress as proxy. Raises ToolError if it cannot start."""
    try:
        program = find_chromium()
    except UsageError as error:
        raise ToolError(str(error)) from None
    if options.profile is not None:
        _check_profile(options.profile.expanduser())
    async with contextlib.AsyncExitStack() as stack:
        guard, playwright = await _begin(stack, egress)
        profile = options.profile or guard.folder / "profile"
        launch = Launch(
            profile=str(profile.expanduser().absolute()),
            proxy=egress.address,
            headless=options.headless,
            sandbox=not options.no_sandbox and os.geteuid() != 0,
        )
        # The command line sets the proxy; Playwright needs it only for the password.
        proxy = {"proxy": proxy_of(egress)} if egress.credentials else {}
        default = await attempt(
            f"Chromium ({program})",
            launch_chromium(playwright, guard, program, launch, **CONTEXT, **proxy),
        )
        if options.profile is not None:
            # A graceful close saves the cookies.
            stack.push_async_callback(_quietly, default.close, _FLUSH_SECONDS)
        assert default.browser is not None
        await attempt(f"Chromium ({program})", default.grant_permissions([]))
        kept = default if options.profile is not None else None
        return Running(default.browser, kept, guard, stack.pop_all())
    raise AssertionError("an exit stack swallowed an exception")


async def connect_browser(url: str, egress: Egress) -> Running:
    """Connect to a running browser; the egress is the proxy of contexts that we create in it."""
    async with contextlib.AsyncExitStack() as stack:
        guard, playwright = await _begin(stack, egress)
        artifacts = guard.folder / "artifacts"
        browser = await attempt(
            f"The browser at {url}",
            playwright.chromium.connect_over_cdp(url, artifacts_dir=artifacts),
        )
        stack.push_async_callback(_quietly, browser.close, _STOP_SECONDS)
        kept = browser.contexts[0] if browser.contexts else None
        return Running(browser, kept, guard, stack.pop_all())
    raise AssertionError("an exit stack swallowed an exception")


def proxy_of(egress: Egress) -> ProxySettings:
    """Return Playwright's proxy settings for the egress."""
    proxy: ProxySettings = {"server": f"http://{egress.address}"}
    if egress.credentials is not None:
        proxy["username"], proxy["password"] = egress.credentials
    return proxy


def _check_profile(profile: Path) -> None:
    """Raise at once if the profile is in use; Chromium reports it only after a timeout."""
    try:
        host, _, number = os.readlink(profile / "SingletonLock").rpartition("-")
        command = Path(f"/proc/{int(number)}/cmdline").read_bytes()
    except (OSError, ValueError):
        return
    # The lock may be stale and its pid reused by another program.
    if host == socket.gethostname() and b"chrom" in command:
        raise ToolError(f"The browser could not be started: {_PROFILE_TAKEN} (process {number}).")


async def _begin(
    stack: contextlib.AsyncExitStack, egress: Egress
) -> tuple[ProcessGuard, Playwright]:
    """Start the process guard, the egress and Playwright; the stack closes them."""
    # Heavy: imported when a browser is started.
    from playwright.async_api import async_playwright  # noqa: PLC0415

    await egress.start()
    stack.push_async_callback(egress.close)
    guard = ProcessGuard()
    stack.push_async_callback(guard.end)
    await guard.start()
    others = list_driver_processes()
    maker = async_playwright()
    stack.push_async_callback(_quietly, lambda: maker.__aexit__(None, None, None), _STOP_SECONDS)
    try:
        playwright = await run_to_completion(maker.start())
    except Exception as error:  # noqa: BLE001 - Playwright raises plain Exception
        said = await _try_driver() or str(error)
        raise ToolError(f"Playwright's driver could not be started: {said[:500]}") from None
    for process in list_driver_processes() - others:
        guard.add_process(process)
    return guard, playwright


async def _try_driver() -> str:
    """Return what the driver writes to stderr; usually the name of a missing library."""
    command = (sys.executable, "-m", "playwright", "--version")
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    return said.decode("utf-8", "replace").strip().partition("\n")[0]


async def attempt(what: str, start: Awaitable[Any]) -> Any:
    """Await `start` with a timeout; raises ToolError with an explanation."""
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
            f"{what} could not be started: {'; '.join(hints) or _last_lines(said)}."
        ) from None


async def _quietly(end: Callable[[], Awaitable[object]], seconds: float) -> None:
    """Call an end function with a timeout, and ignore its errors."""
    # If the driver is gone, Playwright raises plain Exception.
    with contextlib.suppress(Exception):
        async with asyncio.timeout(seconds):
            await end()


def _last_lines(said: str) -> str:
    """Return the last lines of the browser's own output."""
    own = [line.partition("[err]")[2].strip() for line in said.splitlines() if "[err]" in line]
    return " / ".join(own[-3:])[:500] or said.strip().splitlines()[0][:500]
