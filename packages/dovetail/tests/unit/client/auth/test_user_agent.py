"""The redirect to a port of this machine."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest

from dovetail.client.auth import AuthorizationCode, AuthorizationError, LoopbackBrowser, login
from tests.patience import CAP
from tests.peers.scripted import run
from tests.unit.client.auth.authority import fake_authority, make_auth


class Person:
    """Opens the printed address and follows every redirect."""

    def __init__(self) -> None:
        self.pages: list[httpx.Response] = []
        self._tasks: list[asyncio.Task[None]] = []

    def read(self, url: str) -> None:
        self._tasks.append(asyncio.get_running_loop().create_task(self._open(url)))

    async def _open(self, url: str) -> None:
        async with httpx.AsyncClient(timeout=CAP, follow_redirects=True, verify=False) as browser:
            self.pages.append(await browser.get(url))

    async def done(self) -> httpx.Response:
        await asyncio.gather(*self._tasks)
        return self.pages[-1]


def test_a_login_with_a_browser_ends_on_a_page_that_says_so() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            person = Person()
            agent = LoopbackBrowser(open_browser=False, show=person.read, timeout=CAP)
            auth = make_auth(grant=AuthorizationCode(agent))
            found = await login(fake.url, auth)
            assert found.issuer == fake.origin
            page = await person.done()
            assert "Login received" in page.text
            assert page.headers["cache-control"] == "no-store"
            assert page.headers["referrer-policy"] == "no-referrer"
            # A second login uses the port that the client is registered with.
            await login(fake.url, auth)
            await person.done()
            assert fake.count("/register") == 1

    run(use())


@pytest.mark.parametrize("has_display", [True, False])
def test_a_browser_is_opened_if_there_is_one(
    has_display: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":0" if has_display else "")

    async def use() -> None:
        person = Person()
        loop = asyncio.get_running_loop()

        def open_browser(url: str) -> bool:
            assert has_display
            loop.call_soon_threadsafe(person.read, url)
            return True

        monkeypatch.setattr("webbrowser.open", open_browser)
        async with fake_authority() as fake:
            agent = LoopbackBrowser(timeout=CAP, show=person.read)
            auth = make_auth(grant=AuthorizationCode(agent))
            assert (await login(fake.url, auth)).issuer == fake.origin
            await person.done()

    run(use())


def test_two_logins_at_once_do_not_disturb_each_other() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            person = Person()
            agent = LoopbackBrowser(open_browser=False, show=person.read, timeout=CAP)
            auth = make_auth(grant=AuthorizationCode(agent))
            first, second = await asyncio.gather(login(fake.url, auth), login(fake.url, auth))
            assert first.issuer == second.issuer
            await person.done()

    run(use())


def test_other_requests_to_the_port_do_not_end_the_login() -> None:
    async def use() -> None:
        agent = LoopbackBrowser(open_browser=False, show=lambda _: None, timeout=CAP)
        async with agent.open(None) as redirect:
            origin = redirect.uri.removesuffix("/callback")
            waiting = asyncio.ensure_future(redirect.visit("https://as.test/authorize"))
            async with httpx.AsyncClient(timeout=CAP, verify=False) as browser:
                assert (await browser.get(f"{origin}/favicon.ico")).status_code == 404
                assert (await browser.post(redirect.uri)).status_code == 404
                with contextlib.suppress(httpx.HTTPError):
                    await browser.get(f"{origin}/{'x' * 60_000}")
                page = await browser.get(f"{redirect.uri}?error=access_denied&x=<script>")
                assert "Not logged in" in page.text
                assert "script>" not in page.text
                assert (await browser.get(f"{redirect.uri}?code=late")).status_code == 410
            assert (await waiting).endswith("?error=access_denied&x=%3Cscript%3E")

    run(use())


def test_only_the_response_to_the_login_ends_it() -> None:
    async def use() -> None:
        agent = LoopbackBrowser(open_browser=False, show=lambda _: None, timeout=CAP)
        async with agent.open(None) as redirect, httpx.AsyncClient(timeout=CAP) as browser:
            # Nobody was sent to a page yet.
            assert (await browser.get(f"{redirect.uri}?code=x")).status_code == 404
            page = "https://as.test/authorize?state=right"
            waiting = asyncio.ensure_future(redirect.visit(page))
            await asyncio.sleep(0)
            for query in ("code=x", "code=x&state=wrong", "error=access_denied&state=", "state"):
                assert (await browser.get(f"{redirect.uri}?{query}")).status_code == 400
            assert not waiting.done()
            assert (await browser.get(f"{redirect.uri}?code=x&state=right")).status_code == 200
            assert (await waiting).endswith("?code=x&state=right")

    run(use())


def test_a_page_that_cannot_be_shown_ends_the_login() -> None:
    def fail(url: str) -> None:
        raise OSError("no terminal")

    async def use() -> None:
        async with fake_authority() as fake:
            agent = LoopbackBrowser(open_browser=False, show=fail, timeout=CAP)
            await login(fake.url, make_auth(grant=AuthorizationCode(agent)))

    with pytest.raises(OSError, match="no terminal"):
        run(use())


def test_a_login_that_nobody_finishes_ends() -> None:
    async def use() -> None:
        async with fake_authority() as fake:
            agent = LoopbackBrowser(open_browser=False, show=lambda _: None, timeout=0.05)
            with pytest.raises(AuthorizationError, match=r"Nobody finished the login at 127.0.0.1"):
                await login(fake.url, make_auth(grant=AuthorizationCode(agent)))

    run(use())


def test_a_fixed_port_that_is_in_use_is_named() -> None:
    async def use() -> None:
        agent = LoopbackBrowser(open_browser=False)
        async with agent.open(None) as redirect:
            port = int(redirect.uri.rpartition(":")[2].partition("/")[0])
            with pytest.raises(AuthorizationError, match=f"Port {port} of this machine is in use"):
                async with LoopbackBrowser(port=port).open(None):
                    pass
            # The port of an earlier login is only preferred.
            async with LoopbackBrowser().open(redirect.uri) as other:
                assert other.uri != redirect.uri

    run(use())
