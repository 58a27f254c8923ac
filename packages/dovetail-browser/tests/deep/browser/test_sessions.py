"""Every client has its own cookies and tabs, on stdio and over HTTP, in both eras."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dovetail.auth import KeyFile
from dovetail.client import Client
from dovetail.errors import RpcError
from tests.deep.browser.driving import allowing, command, data_of, over_stdio
from tests.deep.browser.processes import descendants
from tests.deep.browser.web_site import WebSite, serving_site
from tests.driving import serving_http
from tests.patience import CAP


@pytest.fixture(scope="module")
def site() -> Iterator[WebSite]:
    with serving_site() as running:
        yield running


@contextlib.asynccontextmanager
async def serving(site: WebSite, *options: str) -> AsyncIterator[str]:
    async with serving_http(command(*allowing(site), *options, "--http", "0")) as [url]:
        yield url


async def fetch(client: Client, url: str, **arguments: Any) -> dict[str, Any]:
    call = client.call("fetch_webpage", {"url": url, "format": "text", **arguments})
    return data_of(await call)


def test_eight_clients_at_once_never_mix(site: WebSite) -> None:
    """Four that keep a session and four that name it; each sets a cookie and reads it back."""

    async def live(url: str, number: int) -> list[str]:
        mode = "legacy" if number % 2 else "modern"
        async with Client(url, mode=mode, timeout=CAP) as client:
            first = await fetch(client, f"{site.url}/whoami?set=user{number}")
            assert ("session" in first) == (mode == "modern")
            handle = {"session": first["session"]} if "session" in first else {}
            said = []
            for _ in range(3):
                page = await fetch(client, f"{site.url}/whoami", **handle)
                said.append(page["content"])
            tabs = data_of(await client.call("manage_tabs", {"action": "list", **handle}))
            assert len(tabs["tabs"]) == 1
            return said

    async def run() -> None:
        async with serving(site) as url:
            lives = await asyncio.gather(*(live(url, number) for number in range(8)))
        for number, said in enumerate(lives):
            assert said == [f"You are user{number}"] * 3

    asyncio.run(run())


def test_a_handle_is_required_and_validated_and_old_sessions_make_room(site: WebSite) -> None:
    async def run() -> None:
        async with (
            serving(site, "--max-sessions", "2") as url,
            Client(url, mode="modern", timeout=CAP) as client,
        ):
            nameless = await client.call("get_current_html", {})
            assert nameless.is_error and "which browser session" in nameless.text
            wrong = await client.call("get_current_html", {"session": "s-0123456789abcdef"})
            assert wrong.is_error and "There is no session" in wrong.text
            first = (await fetch(client, f"{site.url}/whoami?set=one"))["session"]
            second = (await fetch(client, f"{site.url}/whoami"))["session"]
            assert first != second and len(first) > 20
            # A third session closes the least recently used one.
            await fetch(client, f"{site.url}/whoami", session=first)
            await fetch(client, f"{site.url}/whoami", session="new")
            gone = await client.call("get_current_html", {"session": second})
            assert gone.is_error and "to make room" in gone.text
            kept = await fetch(client, f"{site.url}/whoami", session=first)
            assert kept["content"] == "You are one"

    asyncio.run(run())


def test_a_handle_is_valid_for_its_caller_only(site: WebSite, tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    ada, bob = (
        {"authorization": f"Bearer {keys.add(name, scopes=['*'])[1]}"} for name in ("ada", "bob")
    )

    async def run() -> None:
        async with (
            serving(site, "--keys", str(tmp_path / "keys.json")) as url,
            Client(url, mode="modern", timeout=CAP, headers=ada) as hers,
            Client(url, mode="modern", timeout=CAP, headers=bob) as his,
        ):
            page = await fetch(hers, f"{site.url}/whoami?set=ada")
            handle = {"session": page["session"]}
            stolen = await his.call("get_current_html", handle)
            assert stolen.is_error and "There is no session" in stolen.text
            with pytest.raises(RpcError, match="There is no session"):
                await his.read(f"browser://session/{page['session']}/tabs")
            assert not (await hers.call("get_current_html", handle)).is_error

    asyncio.run(run())


def test_an_idle_session_is_closed(site: WebSite) -> None:
    async def run() -> None:
        async with (
            serving(site, "--idle", "0.02") as url,
            Client(url, mode="modern", timeout=CAP) as client,
        ):
            handle = (await fetch(client, f"{site.url}/whoami"))["session"]
            async with asyncio.timeout(CAP):
                with pytest.raises(RpcError, match="There is no session"):
                    # Reading the resource does not count as use.
                    while (await client.read(f"browser://session/{handle}/tabs")).text:
                        await asyncio.sleep(0.05)

    asyncio.run(run())


def test_on_stdio_there_is_one_session_and_more_when_asked_for(site: WebSite) -> None:
    async def run() -> None:
        async with over_stdio(*allowing(site)) as client:
            assert "session" not in await fetch(client, f"{site.url}/whoami?set=me")
            other = await fetch(client, f"{site.url}/whoami", session="new")
            assert other["content"] == "You are nobody"
            again = await fetch(client, f"{site.url}/whoami", session=other["session"])
            assert again["session"] == other["session"]
            mine = await fetch(client, f"{site.url}/whoami")
            assert mine["content"] == "You are me"

    asyncio.run(run())


def test_listing_tools_starts_no_browser(site: WebSite) -> None:
    async def run() -> None:
        async with over_stdio(*allowing(site)) as client:
            assert len(await client.list_tools()) == 11
            assert (await client.call("page_snapshot", {})).is_error
            assert "No tab is open" in (await client.call("get_current_html", {})).text
            tabs = (await client.read("browser://tabs")).text
            assert tabs == '{"tabs":[]}'
            assert not [line for line in descendants().values() if "chromium" in line]

    asyncio.run(run())


def test_a_profile_keeps_cookies_between_runs(
    site: WebSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    profile = str(tmp_path_factory.mktemp("profile") / "kept")

    async def visit(path: str) -> str:
        async with over_stdio(*allowing(site), "--profile", profile) as client:
            page = await fetch(client, f"{site.url}{path}")
            return str(page["content"])

    assert asyncio.run(visit("/stay?set=ada")) == "You are nobody"
    assert asyncio.run(visit("/whoami")) == "You are ada"
