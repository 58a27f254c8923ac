"""A connected browser, whose traffic does not go through the egress."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Error

from tests.browser.listening import listening
from tests.deep.browser.unit.test_driver import driving, read, run, running_browser, site

# What a page sees of each try.
TRIES = {
    "fetch": "url => fetch(url).then(() => 'through', () => 'refused')",
    "image": "url => new Promise(done => { const one = new Image; one.src = url;"
    " one.onload = () => done('through'); one.onerror = () => done('refused') })",
    "frame": "url => new Promise(done => { const one = document.createElement('iframe');"
    " one.src = url; one.onload = () => done(one.contentDocument ? 'through' : 'refused');"
    " document.body.append(one) })",
    "socket": "url => new Promise(done => { const one = new WebSocket(url.replace('http', 'ws'));"
    " one.onopen = () => done('through'); one.onclose = () => done('refused') })",
}


def test_every_request_of_a_page_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were on another machine, from where our egress cannot be reached.
    monkeypatch.setattr("dovetail_browser.driver._LOOPBACK", ())
    visits: list[bytes] = []

    async def note(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        if asked := await reader.read(1000):
            visits.append(asked)

    async def scenario() -> None:
        async with (
            listening(note) as private,
            running_browser(tmp_path) as devtools,
            site() as port,
            driving(connect=devtools, allow=(f"127.0.0.1:{port}",)) as driver,
        ):
            secret = f"http://127.0.0.1:{private}/"
            await driver.new_context()
            context = await driver.new_context()
            assert "Site" in await read(context, f"http://127.0.0.1:{port}/")
            [page] = context.pages
            for way, script in TRIES.items():
                assert await page.evaluate(script, secret) == "refused", way
            assert "loopback" in str(driver.last_refusal("127.0.0.1"))
            assert await page.evaluate("fetch('data:,x').then(r => r.text())") == "x"
            with pytest.raises(Error, match="ERR_BLOCKED_BY_CLIENT"):
                await page.goto(secret)

    run(scenario)
    assert visits == []
