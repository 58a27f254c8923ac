"""--connect: a running browser is used, its requests are checked, and it is left running."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dovetail_browser.chromium_path import find_chromium
from tests.deep.browser.driving import allowing, data_of, over_stdio
from tests.deep.browser.web_site import serving_site
from tests.patience import CAP


@contextlib.asynccontextmanager
async def running_browser(profile: Path) -> AsyncIterator[str]:
    """Start a Chromium with DevTools; yield their address."""
    process = await asyncio.create_subprocess_exec(
        str(find_chromium()),
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(CAP):
            while b"DevTools listening on" not in (line := await process.stderr.readline()):
                assert line, "the browser ended before it listened"
        port = line.partition(b"ws://")[2].partition(b"/")[0].decode()
        yield f"http://{port}"
        assert process.returncode is None, "the browser was not left running"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


@pytest.mark.slow
def test_a_running_browser_is_used_and_left_running(tmp_path: Path) -> None:
    async def run() -> None:
        with serving_site() as site:
            async with running_browser(tmp_path / "profile") as address:
                for _ in range(2):
                    async with over_stdio(*allowing(site), "--connect", address) as client:
                        assert "--connect" in (client.instructions or "")
                        asked = {"url": f"{site.url}/", "format": "text"}
                        page = data_of(await client.call("fetch_webpage", asked))
                        assert "300 litres" in page["content"]
                        away = {"url": f"{site.url}/redirect?to=http://127.0.0.1:9/"}
                        refused = await client.call("fetch_webpage", away)
                        assert refused.is_error, refused.text

    asyncio.run(run())
