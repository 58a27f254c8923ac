"""Login pages: the server waits for single sign-on, then asks the user or reports the page."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dovetail.client import Client
from tests.deep.browser.driving import allowing, command, data_of, over_stdio
from tests.deep.browser.web_site import WebSite, serving_site
from tests.driving import serving_http
from tests.patience import CAP


@pytest.fixture(scope="module")
def site() -> Iterator[WebSite]:
    with serving_site() as running:
        yield running


def test_login_pages_by_single_sign_on_by_the_user_or_reported(site: WebSite) -> None:
    """One server; clients that cannot be asked, that agree, and that decline, in both eras."""
    asked: list[str] = []

    async def fetch(client: Client, path: str, **more: Any) -> dict[str, Any]:
        arguments = {"url": f"{site.url}{path}", "format": "text", **more}
        return data_of(await client.call("fetch_webpage", arguments))

    async def passes_by_itself(url: str) -> None:
        async with Client(url, timeout=CAP) as client:
            page = await fetch(client, "/private?sso=1")
            assert "Your orders" in page["content"] and "loginRequired" not in page
            assert page["currentUrl"].endswith("/private")

    async def is_reported(url: str) -> None:
        async with Client(url, timeout=CAP) as client:
            page = await fetch(client, "/private")
            assert page["loginRequired"] and "Log in" in page["content"]
            assert any("--profile" in step for step in page["nextSteps"])
            # A login page that is requested itself is returned at once.
            own = await fetch(client, "/login", session=page["session"])
            assert "loginRequired" not in own

    async def is_asked(url: str, mode: str, agrees: bool) -> None:
        async def answer(request: Any) -> dict[str, Any] | None:
            asked.append(request.message)
            assert "?" not in request.message.partition(" asks")[0]
            return {"done": False} if agrees else None

        async with Client(url, mode=mode, timeout=CAP, elicit=answer) as client:
            page = await fetch(client, "/private?next=token")
            assert page["loginRequired"]
            tabs = {"session": page["session"]} if "session" in page else {}
            listed = data_of(await client.call("manage_tabs", {"action": "list", **tabs}))
            # The call ran twice in the modern era, and opened one tab.
            assert len(listed["tabs"]) == 1

    async def run() -> None:
        words = command(*allowing(site), "--http", "0")
        async with serving_http(words) as [url]:
            await asyncio.gather(
                passes_by_itself(url),
                is_reported(url),
                is_asked(url, "modern", True),
                is_asked(url, "legacy", False),
            )

    asyncio.run(run())
    assert len(asked) == 2 and all("asks for a login" in text for text in asked)


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_the_call_continues_when_the_user_has_logged_in(site: WebSite, mode: str) -> None:
    clients: list[Client] = []

    async def log_in(_request: Any) -> dict[str, Any]:
        # In another tab of the same browser, as with a window of its own.
        arguments = {"url": f"{site.url}/enter", "newTab": True}
        data_of(await clients[0].call("fetch_webpage", arguments))
        return {"done": True}

    async def run() -> dict[str, Any]:
        async with over_stdio(*allowing(site), mode=mode, elicit=log_in) as client:
            clients.append(client)
            arguments = {"url": f"{site.url}/private", "format": "text"}
            return data_of(await client.call("fetch_webpage", arguments))

    page = asyncio.run(run())
    assert "Your orders" in page["content"] and "loginRequired" not in page
