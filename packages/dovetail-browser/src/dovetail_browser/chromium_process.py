"""Starts Chromium so that it cannot outlive the server.

Playwright's driver starts `launcher.py` instead of the browser. The launcher records its process
id in the folder of a `ProcessGuard` and then executes Chromium. The guard holds a pipe to
`watchdog.py`: when our end closes, by shutdown or because the server was killed, the watchdog
kills all processes and removes the folder. Shutdown and crash use the same path.

The driver controls the browser over a pipe, so there is no debugging port that other users of
the machine could connect to.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dovetail import ToolError
from dovetail_browser.chromium_flags import Launch, list_flags

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Playwright

__all__ = [
    "ProcessGuard",
    "choose_parent",
    "launch_chromium",
    "list_driver_processes",
    "run_to_completion",
]

T = TypeVar("T")

_HERE = Path(__file__).parent
# Isolated mode: no user site, no working directory on sys.path.
_BARE = ("-I", "-S")
# Repeated in watchdog.py, which cannot import this module.
_VARIABLE = "DOVETAIL_BROWSER_FOLDER"
_END_SECONDS = 15.0

# Chromium creates a socket in its temporary folder. Socket paths are limited to 104 bytes with
# the terminating zero on macOS, 108 on Linux.
_SOCKET = "/dovetail-browser-0123456789ab/tmp/org.chromium.Chromium.XXXXXX/SingletonSocket"
_LONGEST_SOCKET = 103


def choose_parent() -> Path:
    """Return the temporary folder, or the system's default if its path is too long for a socket."""
    usual = tempfile.gettempdir()
    fits = len(os.fsencode(usual + _SOCKET)) <= _LONGEST_SOCKET
    return Path(usual if fits else "/tmp")


async def run_to_completion(work: Awaitable[T]) -> T:
    """Await work that must not be interrupted; a cancellation is raised after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class ProcessGuard:
    """A temporary folder, and the watchdog that cleans up the folder and its processes."""

    def __init__(self) -> None:
        self.folder = choose_parent() / f"dovetail-browser-{secrets.token_hex(6)}"
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._tied: set[str] = set()

    async def start(self) -> None:
        """Start the watchdog, which creates the folder. Call `end` even if this fails."""
        await run_to_completion(asyncio.to_thread(self._start))

    def _start(self) -> None:
        watchdog = subprocess.Popen(
            [sys.executable, *_BARE, str(_HERE / "watchdog.py"), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        self._watchdog = watchdog
        assert watchdog.stdout is not None
        with watchdog.stdout as said:
            is_ready = said.readline() == b"ready\n"
        if not is_ready:
            self._end()
            raise ToolError(f"The browser's folder {self.folder} could not be created.")
        for name in ("profile", "artifacts", "tmp"):
            (self.folder / name).mkdir()

    def add_process(self, process: str) -> None:
        """Add a process, as PID-START, that must end with the server."""
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._tied.add(process)
            # `is_intact` detects that the watchdog has exited.
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(f"{process}\n".encode())
                self._watchdog.stdin.flush()

    def is_intact(self) -> bool:
        """Whether the watchdog and all added processes are running."""
        watchdog = self._watchdog
        return watchdog is not None and watchdog.poll() is None and all(map(_is_alive, self._tied))

    async def end(self) -> None:
        """Close the pipe; returns when all processes have ended and the folder is removed."""
        await asyncio.to_thread(self._end)

    def _end(self) -> None:
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is None:
            return
        assert watchdog.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            watchdog.stdin.close()
        watchdog.wait(_END_SECONDS)


def _is_alive(process: str) -> bool:
    pid, _, started = process.partition("-")
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    return fields[0] not in (b"Z", b"X") and fields[19].decode() == started


async def launch_chromium(
    playwright: Playwright, guard: ProcessGuard, program: str, launch: Launch, **context: Any
) -> BrowserContext:
    """Start the browser in the guard's folder and return its default context."""
    launcher = [*_BARE, str(_HERE / "launcher.py"), str(guard.folder)]
    return await playwright.chromium.launch_persistent_context(
        launch.profile,
        executable_path=sys.executable,
        args=[*launcher, program, *list_flags(launch)],
        ignore_default_args=True,
        env={
            **os.environ,
            "TMPDIR": str(guard.folder / "tmp"),
            _VARIABLE: str(guard.folder),
        },
        headless=launch.headless,
        artifacts_dir=guard.folder / "artifacts",
        # The server handles signals and closes the browser; the driver must not react to them.
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        **context,
    )


def list_driver_processes() -> set[str]:
    """List Playwright's driver processes as PID-START; empty without /proc."""
    parent = str(os.getpid()).encode()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        # The process may end meanwhile.
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[1] == parent and b"run-driver" in (entry / "cmdline").read_bytes():
                found.add(f"{entry.name}-{fields[19].decode()}")
    return found
