"""Nothing is left of a browser when its server or its client is killed.

A few runs by default; BROWSER_KILL_RUNS=100 is the whole test. The moment of the kill differs from
run to run: when the page is there, while the browser starts, while a page does not come.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from dovetail.client import Client
from tests.browser.listening import listening
from tests.deep.browser.driving import command
from tests.driving import serving_http
from tests.patience import CAP

RUNS = int(os.environ.get("BROWSER_KILL_RUNS", "3"))

# Set for what a test starts, and inherited by all that comes of it.
MARK = "DOVETAIL_TEST_MARK"


class Marked:
    """The processes of one run, found by a variable in their environment or by their parents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._value = secrets.token_hex(8)
        self._seen: dict[int, bytes] = {}

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, MARK: self._value, "TMPDIR": str(self.folder)}

    def alive(self) -> dict[int, str]:
        """Return the running processes: process id and command line."""
        running: dict[int, tuple[int, bytes]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            # It may end while it is looked at.
            with contextlib.suppress(OSError, IndexError):
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    running[int(entry.name)] = (int(fields[1]), fields[19])
        ours = {pid for pid, (_, started) in running.items() if self._is_known(pid, started)}
        while more := {pid for pid, (up, _) in running.items() if up in ours} - ours:
            ours |= more
        self._seen |= {pid: running[pid][1] for pid in ours}
        return {pid: _command_line(pid) for pid in ours}

    def _is_known(self, pid: int, started: bytes) -> bool:
        if self._seen.get(pid) == started:
            return True
        # A sandbox hides it and Chromium writes over it, in children of processes that are known.
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            return f"{MARK}={self._value}".encode() in environment
        return False

    async def wait_for_pages(self) -> None:
        """There is a process that shows pages."""
        while not any("--type=renderer" in line for line in self.alive().values()):
            await asyncio.sleep(0.02)

    async def wait_until_gone(self, killed: float) -> float:
        """Everything has ended and the temporary folder is empty; the seconds it took."""
        while (left := self.alive()) or any(self.folder.iterdir()):
            waited = time.monotonic() - killed
            # Before the cap of the whole test, to report what is left.
            assert waited < CAP / 2, (left, [str(path) for path in self.folder.rglob("*")][:20])
            await asyncio.sleep(0.02)
        return time.monotonic() - killed


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
        return words[:200].decode("utf-8", "replace")
    return ""


@pytest.fixture
def marked() -> Iterator[Marked]:
    # Not pytest's folder, whose path is too long for the sockets that a browser makes.
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        yield Marked(Path(folder))


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A page; none under /never."""
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"GET /never"):
        await reader.read()
    body = b"<h1>Here</h1><iframe src='data:text/html,frame'></iframe>"
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + body)


@contextlib.asynccontextmanager
async def visiting(
    marked: Marked, url: str, port: int
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A client process and the process id of its server."""
    words = [sys.executable, "-m", "tests.deep.browser.visitor", url]
    process = await asyncio.create_subprocess_exec(
        *words,
        *("--allow", f"127.0.0.1:{port}"),
        stdout=asyncio.subprocess.PIPE,
        env=marked.environment,
    )
    try:
        [server] = await read_line(process, "server")
        yield process, int(server)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def read_line(process: asyncio.subprocess.Process, word: str) -> list[str]:
    """What the visitor says after this word."""
    assert process.stdout is not None
    said, *rest = (await process.stdout.readline()).decode().split(maxsplit=1) or ["nothing"]
    assert said == word, (said, rest)
    return rest


@pytest.mark.slow
@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("victim", ["server", "client"])
def test_nothing_is_left_when_one_side_is_killed(
    marked: Marked, record_property: Callable[[str, object], None], victim: str, run: int
) -> None:
    dice = random.Random(f"{victim} {run}")

    async def scenario() -> None:
        async with asyncio.timeout(CAP), listening(answer) as port:
            path = "/never" if run % 3 == 2 else "/"
            url = f"http://127.0.0.1:{port}{path}"
            async with visiting(marked, url, port) as (client, server):
                await read_line(client, "asked")
                if run % 3 == 0:
                    await read_line(client, "open")
                    await marked.wait_for_pages()
                else:
                    # Somewhere in the start of a browser, or soon after it.
                    await asyncio.sleep(dice.uniform(0, 2.5))
                marked.alive()
                os.kill(server if victim == "server" else client.pid, signal.SIGKILL)
                killed = time.monotonic()
                if victim == "server":
                    # The client of the test ends with its server.
                    await client.wait()
                record_property("seconds", await marked.wait_until_gone(killed))

    asyncio.run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("run", range(max(1, RUNS // 3)))
def test_nothing_is_left_when_a_server_over_http_is_killed(marked: Marked, run: int) -> None:

    async def scenario() -> None:
        async with asyncio.timeout(CAP), listening(answer) as port:
            words = command("--allow", f"127.0.0.1:{port}", "--http", "0")
            process = await asyncio.create_subprocess_exec(
                *words,
                stderr=asyncio.subprocess.PIPE,
                stdin=asyncio.subprocess.DEVNULL,
                env=marked.environment,
            )
            assert process.stderr is not None
            address = ""
            while "serving http" not in address:
                address = (await process.stderr.readline()).decode()
                assert address, "the server ended before it served"
            address = address.partition("serving ")[2].partition(";")[0]
            async with Client(address, timeout=CAP) as client:
                result = await client.call("fetch_webpage", {"url": f"http://127.0.0.1:{port}/"})
                assert not result.is_error, result.text
                await marked.wait_for_pages()
                process.kill()
                killed = time.monotonic()
                await process.wait()
                await marked.wait_until_gone(killed)

    asyncio.run(scenario())


@pytest.mark.slow
def test_the_pages_of_a_client_that_was_killed_are_closed_and_the_server_lives() -> None:
    """Over HTTP nobody tells the server; the session ends when it was idle for long enough."""
    held, released = asyncio.Event(), asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET /held"):
            held.set()
            await reader.read()
            released.set()
            return
        body = b"<script>fetch('/held').catch(() => 0)</script>Held"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n" + body
        )

    async def scenario() -> None:
        async with asyncio.timeout(CAP), listening(hold) as port:
            words = command("--allow", f"127.0.0.1:{port}", "--http", "0", "--idle", "0.05")
            async with serving_http(words) as [address]:
                url = f"http://127.0.0.1:{port}/"
                start = (
                    "import asyncio\nfrom dovetail.client import Client\n"
                    "async def main():\n"
                    f"    async with Client({address!r}, timeout={CAP}) as client:\n"
                    f"        page = {{'url': {url!r}, 'postLoadWait': 0}}\n"
                    "        await client.call('fetch_webpage', page)\n"
                    "        await asyncio.Event().wait()\n"
                    "asyncio.run(main())\n"
                )
                client = await asyncio.create_subprocess_exec(sys.executable, "-c", start)
                await held.wait()
                client.kill()
                await client.wait()
                await released.wait()
                async with Client(address, timeout=CAP) as other:
                    assert await other.list_tools()

    asyncio.run(scenario())
