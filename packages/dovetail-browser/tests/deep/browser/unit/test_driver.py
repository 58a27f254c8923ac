"""The driver with Chromium: start, restart, profile and shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Error

from dovetail import ToolError, UsageError
from dovetail_browser.chromium_path import find_chromium
from dovetail_browser.driver import Driver, DriverOptions
from tests.browser.listening import listening
from tests.patience import CAP, wait_until


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(CAP):
            await scenario()

    asyncio.run(bounded())


@contextlib.asynccontextmanager
async def driving(**options: Any) -> AsyncIterator[Driver]:
    driver = Driver(DriverOptions(**options))
    try:
        yield driver
    finally:
        await driver.close()


@contextlib.asynccontextmanager
async def site(body: bytes = b"<title>Site</title>") -> AsyncIterator[int]:
    """Answers each request with what cookies it came with, and sets one."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        cookie = "".join(line for line in head.split("\r\n") if line.startswith("Cookie"))
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
            b"Set-Cookie: seen=yes; Max-Age=3600\r\n\r\n" + body + cookie.encode()
        )
        await writer.drain()

    async with listening(answer) as port:
        yield port


async def read(context: BrowserContext, url: str) -> str:
    page = await context.new_page()
    await page.goto(url)
    return await page.content()


def _environment(process: Path) -> list[bytes]:
    try:
        parent = (process / "stat").read_bytes().rpartition(b")")[2].split()[1]
        grandparent = Path(f"/proc/{int(parent)}/stat").read_bytes().rpartition(b")")[2].split()[1]
        if int(grandparent) != os.getpid():
            return []
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def browser_processes() -> dict[int, Path]:
    """Chromium's main processes that this process has started, and their folders."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        for entry in _environment(process):
            if entry.startswith(b"DOVETAIL_BROWSER_FOLDER="):
                found[int(process.name)] = Path(entry.split(b"=", 1)[1].decode())
    return found


def test_the_browser_starts_on_first_use_and_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with driving() as driver:
            assert await driver.check_url("http://10.0.0.1/") is not None
            assert not driver.is_running and browser_processes() == {}
            callers = [driver.browser() for _ in range(5)]
            browsers = await asyncio.gather(*callers)
            assert len(set(map(id, browsers))) == 1 and driver.is_running
            [(pid, folder)] = browser_processes().items()
            assert folder.is_dir()
        assert not driver.is_running and not folder.exists()
        # The kernel removes the process a moment after it has ended.
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        await driver.close()
        with pytest.raises(ToolError, match="shutting down"):
            await driver.browser()

    run(scenario)


def test_the_browser_loads_no_pages_of_its_own() -> None:
    async def scenario() -> None:
        async with site() as port, driving(allow=("localhost",)) as driver:
            await read(await driver.new_context(), f"http://localhost:{port}/")
            devtools = await (await driver.browser()).new_browser_cdp_session()
            found = await devtools.send("Target.getTargets", {"filter": [{}]})
            targets = [(target["type"], target["url"]) for target in found["targetInfos"]]
            shown = [(kind, url) for kind, url in targets if kind not in ("browser", "tab")]
            assert shown == [("page", f"http://localhost:{port}/")]

    run(scenario)


def test_a_killed_browser_is_restarted() -> None:
    async def scenario() -> None:
        async with driving() as driver:
            first = await driver.new_context()
            [(pid, folder)] = browser_processes().items()
            closed = asyncio.Event()
            first.on("close", lambda _: closed.set())
            os.kill(pid, signal.SIGKILL)
            await closed.wait()
            context = await driver.new_context()
            assert driver.has(context) and not driver.has(first)
            assert "private" in await read(context, "http://10.0.0.1/")
            assert not folder.exists()
            # A context that died with its browser can still be given back.
            await driver.release_context(first)

    run(scenario)


def test_a_browser_is_restarted_after_its_driver_died() -> None:
    async def scenario() -> None:
        async with driving() as driver:
            await driver.browser()
            [pid] = browser_processes()
            parent = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1]
            os.kill(int(parent), signal.SIGKILL)
            while driver.is_running:
                await asyncio.sleep(0.01)
            context = await driver.new_context()
            assert "private" in await read(context, "http://10.0.0.1/")

    run(scenario)


@pytest.mark.parametrize("hung", ["browser", "driver"])
def test_closing_ends_processes_that_do_not_respond(hung: str) -> None:
    async def scenario() -> None:
        driver = Driver()
        await driver.browser()
        [(pid, folder)] = browser_processes().items()
        parent = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        os.kill(pid if hung == "browser" else parent, signal.SIGSTOP)
        await driver.close()
        assert browser_processes() == {} and not folder.exists()

    run(scenario)


def test_a_cancelled_caller_does_not_cancel_the_start_for_others() -> None:
    async def scenario() -> None:
        async with driving() as driver:
            hasty, patient = (asyncio.ensure_future(driver.browser()) for _ in range(2))
            await asyncio.sleep(0)
            hasty.cancel()
            assert (await patient).is_connected()
            with pytest.raises(asyncio.CancelledError):
                await hasty

    run(scenario)


@pytest.mark.parametrize("turns", [1, 20])
def test_closing_during_the_start_leaves_nothing_behind(turns: int) -> None:
    async def scenario() -> None:
        driver = Driver()
        waiting = asyncio.ensure_future(driver.browser())
        for _ in range(turns):
            await asyncio.sleep(0.02)
        await driver.close()
        with pytest.raises((ToolError, asyncio.CancelledError, Error)):
            await waiting
        assert browser_processes() == {} and not driver.is_running

    run(scenario)


def test_sessions_do_not_share_cookies_and_permissions_are_denied() -> None:
    with_timeout = "Promise.all(['geolocation', 'notifications', 'camera', 'midi'].map("
    with_timeout += "name => navigator.permissions.query({name}).then(found => found.state)))"

    async def scenario() -> None:
        async with site() as port, driving(allow=("localhost",)) as driver:
            url = f"http://localhost:{port}/"
            one, two = await driver.new_context(), await driver.new_context()
            assert "Cookie" not in await read(one, url)
            assert "Cookie: seen=yes" in await read(one, url)
            assert "Cookie" not in await read(two, url)
            assert set(await two.pages[0].evaluate(with_timeout)) == {"denied"}
            await driver.release_context(one)
            assert "Cookie: seen=yes" in await read(two, url)

    run(scenario)


def test_a_profile_keeps_cookies_for_one_session_at_a_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with site() as port:
            url = f"http://localhost:{port}/"
            options = {"profile": tmp_path / "profile", "allow": ("localhost",)}
            async with driving(**options) as driver:
                first = await driver.new_context()
                assert "Cookie" not in await read(first, url)
                other = await driver.new_context()
                assert other is not first and "Cookie" not in await read(other, url)
                await driver.release_context(first)
                assert first.pages == []
                again = await driver.new_context()
                assert "Cookie: seen=yes" in await read(again, url)
            async with driving(**options) as driver:
                kept = await driver.new_context()
                assert "Cookie: seen=yes" in await read(kept, url)
                assert set(
                    await kept.pages[0].evaluate(
                        "navigator.permissions.query({name: 'geolocation'}).then(f => [f.state])"
                    )
                ) == {"denied"}

    run(scenario)


def test_a_profile_survives_a_killed_browser_and_is_not_shared(tmp_path: Path) -> None:
    async def scenario() -> None:
        options = {"profile": tmp_path / "profile"}
        async with driving(**options) as driver, driving(**options) as other:
            await driver.browser()
            with pytest.raises(ToolError, match="another browser uses this --profile"):
                await other.browser()
            [pid] = browser_processes()
            os.kill(pid, signal.SIGKILL)
            while driver.is_running:
                await asyncio.sleep(0.01)
            assert "private" in await read(await driver.new_context(), "http://10.0.0.1/")
        assert (tmp_path / "profile").is_dir()

    run(scenario)


def test_an_endless_response_is_cut_off_and_explained() -> None:
    async def scenario() -> None:
        body = b"<title>Long</title>" + b"x" * 3_000_000
        async with (
            site(body) as port,
            driving(allow=("localhost",), max_response=1_000_000) as driver,
        ):
            context = await driver.new_context()
            with contextlib.suppress(Error):
                await read(context, f"http://localhost:{port}/")
            assert "1,000,000 bytes" in str(driver.last_refusal("localhost"))
            # And the browser goes on.
            assert "private" in await read(context, "http://10.0.0.1/")

    run(scenario)


def test_the_proxy_password_is_used_if_peers_cannot_be_identified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dovetail_browser.egress.can_identify_peers", lambda: False)

    async def scenario() -> None:
        async with site() as port, driving(allow=("localhost",)) as driver:
            context = await driver.new_context()
            assert "Site" in await read(context, f"http://localhost:{port}/")

    run(scenario)


def test_a_missing_program_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROME_PATH", "/no/such/browser")

    async def scenario() -> None:
        async with driving() as driver:
            with pytest.raises(ToolError, match=r"no/such/browser.*apt-get install"):
                await driver.browser()

    run(scenario)


def test_a_program_that_is_not_a_browser_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROME_PATH", "/bin/false")

    async def scenario() -> None:
        async with driving() as driver:
            with pytest.raises(ToolError, match=r"/bin/false.*could not be started"):
                await driver.browser()
            assert browser_processes() == {}

    run(scenario)


def test_a_driver_that_does_not_start_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "node"
    program.write_text("#!/bin/sh\necho 'node: libatomic.so.1 is missing' >&2; exit 127\n")
    program.chmod(0o755)
    monkeypatch.setenv("PLAYWRIGHT_NODEJS_PATH", str(program))

    async def scenario() -> None:
        async with driving() as driver:
            with pytest.raises(ToolError, match=r"could not be started: node: libatomic"):
                await driver.browser()

    run(scenario)


@pytest.mark.parametrize(
    "options",
    [
        {"connect": "localhost:9222"},
        {"connect": "file:///x"},
        {"connect": "http://localhost:9222", "profile": Path("x")},
        {"allow": ("http://x",)},
    ],
)
def test_wrong_options_are_refused_before_anything_starts(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Driver(DriverOptions(**options))


@contextlib.asynccontextmanager
async def running_browser(folder: Path) -> AsyncIterator[str]:
    """Somebody's own Chromium with its DevTools open; their address."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    words = ["--headless=new", "--no-first-run", *sandbox, f"--user-data-dir={folder}"]
    process = await asyncio.create_subprocess_exec(
        *(find_chromium(), *words, "--remote-debugging-port=0", "about:blank"),
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        file = folder / "DevToolsActivePort"
        while not file.exists() or not file.read_text().strip():
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{file.read_text().split()[0]}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def test_a_connected_browser_is_checked_and_left_running(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with running_browser(tmp_path) as devtools, site() as port:
            url = f"http://127.0.0.1:{port}/"
            async with driving(connect=devtools, allow=(f"127.0.0.1:{port}",)) as driver:
                assert driver.warning is not None
                kept = await driver.new_context()
                theirs = set(kept.pages)
                assert "Site" in await read(kept, url)
                own = await driver.new_context()
                first = await read(own, url)
                assert "Site" in first and "Cookie" not in first
                for context in (kept, own):
                    with contextlib.suppress(Error):
                        assert "Site" not in await read(context, f"http://localhost:{port}/")
                    assert "this machine" in str(driver.last_refusal("localhost"))
                await driver.release_context(kept)
                assert set(kept.pages) == theirs
            async with driving(connect=devtools) as driver:
                assert (await driver.browser()).is_connected()

    run(scenario)


def test_a_redirect_in_a_connected_browser_is_checked(tmp_path: Path) -> None:
    visits: list[bytes] = []

    async def private(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        if asked := await reader.read(100):
            visits.append(asked)

    async def scenario() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = await reader.readuntil(b"\r\n\r\n")
            place = f"Location: http://127.0.0.1:{secret}/\r\n".encode()
            kind = b"302 Found\r\n" + place if b" /hop " in head else b"200 OK\r\n"
            writer.write(b"HTTP/1.1 " + kind + b"Connection: close\r\n\r\n")

        async with (
            listening(private) as secret,
            listening(answer) as port,
            running_browser(tmp_path) as devtools,
            driving(connect=devtools, allow=(f"127.0.0.1:{port}",)) as driver,
        ):
            page = await (await driver.new_context()).new_page()
            await page.goto(f"http://127.0.0.1:{port}/")
            with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
                await page.goto(f"http://127.0.0.1:{port}/hop")
            assert "loopback" in str(driver.last_refusal("127.0.0.1"))
            assert visits == []

    run(scenario)


def test_a_failed_connection_to_a_browser_is_explained() -> None:
    async def scenario() -> None:
        async with driving(connect="http://127.0.0.1:1") as driver:
            with pytest.raises(ToolError, match="remote-debugging-port"):
                await driver.browser()

    run(scenario)


def test_importing_the_driver_loads_no_playwright() -> None:
    async def scenario() -> None:
        code = (
            "import sys, dovetail_browser.driver as d; d.Driver(); "
            "sys.exit('playwright' in sys.modules)"
        )
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
        assert await process.wait() == 0

    run(scenario)
