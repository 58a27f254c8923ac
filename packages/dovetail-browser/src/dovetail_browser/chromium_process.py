"""Chromium as a process that cannot outlive the server.

Playwright's driver starts `launcher.py` in place of the browser; the launcher enters its process
in the folder of a `Leash` and becomes Chromium. The leash is a pipe to `watchdog.py`: when our end
of it closes, on purpose or because the server was killed, the watchdog ends everything and removes
the folder. Ending on purpose and being killed are the same path.

The browser speaks to the driver over a pipe: there is no debugging port that others on the
machine could connect to.
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

__all__ = ["Leash", "choose_parent", "launch_chromium", "list_driver_processes", "to_its_end"]

T = TypeVar("T")

_HERE = Path(__file__).parent
# Not the user's site, not the working directory: only what Python brings.
_BARE = ("-I", "-S")
# Also in watchdog.py, which cannot import this.
_VARIABLE = "DOVETAIL_BROWSER_FOLDER"
_END_SECONDS = 15.0

# Chromium puts a socket below its temporary folder, and the path of a socket is short: 104 bytes
# with the closing zero on macOS, 108 on Linux.
_SOCKET = "/dovetail-browser-0123456789ab/tmp/org.chromium.Chromium.XXXXXX/SingletonSocket"
_LONGEST_SOCKET = 103


def choose_parent() -> Path:
    """Where temporary files go; the system's own place if that path is too long for a socket."""
    usual = tempfile.gettempdir()
    fits = len(os.fsencode(usual + _SOCKET)) <= _LONGEST_SOCKET
    return Path(usual if fits else "/tmp")


async def to_its_end(work: Awaitable[T]) -> T:
    """Await something that must not be left half done: a cancellation comes after it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


class Leash:
    """A temporary folder, and the watchdog that guards it and what is started in it."""

    def __init__(self) -> None:
        self.folder = choose_parent() / f"dovetail-browser-{secrets.token_hex(6)}"
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._tied: set[str] = set()

    async def start(self) -> None:
        """Have the folder made by somebody who will remove it. Call `end` even if this fails."""
        await to_its_end(asyncio.to_thread(self._start))

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
            raise ToolError(f"The browser's folder {self.folder} could not be made.")
        for name in ("profile", "artifacts", "tmp"):
            (self.folder / name).mkdir()

    def tie(self, process: str) -> None:
        """Name one more process, as PID-START, that must end with us."""
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._tied.add(process)
            # A watchdog that is gone is noticed by `has_all`.
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(f"{process}\n".encode())
                self._watchdog.stdin.flush()

    def has_all(self) -> bool:
        """Whether the watchdog and all that were tied to it are there."""
        watchdog = self._watchdog
        return watchdog is not None and watchdog.poll() is None and all(map(_is_alive, self._tied))

    async def end(self) -> None:
        """Let go; returns when everything has ended and the folder is gone."""
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
    playwright: Playwright, leash: Leash, program: str, launch: Launch, **context: Any
) -> BrowserContext:
    """Start the browser in the folder of the leash; its default context, with these options."""
    launcher = [*_BARE, str(_HERE / "launcher.py"), str(leash.folder)]
    return await playwright.chromium.launch_persistent_context(
        launch.profile,
        executable_path=sys.executable,
        args=[*launcher, program, *list_flags(launch)],
        ignore_default_args=True,
        env={
            **os.environ,
            "TMPDIR": str(leash.folder / "tmp"),
            _VARIABLE: str(leash.folder),
        },
        headless=launch.headless,
        artifacts_dir=leash.folder / "artifacts",
        # The server handles its signals and closes us; the driver does not act on its own.
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        **context,
    )


def list_driver_processes() -> set[str]:
    """Playwright's drivers among our children, as PID-START; none where the kernel has no list."""
    parent = str(os.getpid()).encode()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        # A process may end while it is looked at.
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[1] == parent and b"run-driver" in (entry / "cmdline").read_bytes():
                found.add(f"{entry.name}-{fields[19].decode()}")
    return found
