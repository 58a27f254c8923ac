"""A page that tries to reach private addresses, in every way a page has, with a real Chromium.

Each way aims at a name of its own that resolves to a private address. The request must have been
tried (the egress remembers that it refused that name) and the private place never connected to.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest
from playwright.async_api import Error

from tests.deep.browser.private_network import PRIVATE, PUBLIC, PrivateNetwork

HTML = "HTTP/1.1 200 OK\r\nContent-Type: text/html"
SCRIPT = "HTTP/1.1 200 OK\r\nContent-Type: text/javascript"

# Way -> page; TARGET is the private address.
WAYS: dict[str, str] = {
    "img": "<img src='TARGET/a.png'>",
    "srcset": "<img srcset='TARGET/a.png 1x'>",
    "picture": "<picture><source srcset='TARGET/a.png'><img></picture>",
    "input-image": "<input type=image src='TARGET/a.png'>",
    "body-background": "<body background='TARGET/a.png'>",
    "svg-image": "<svg><image href='TARGET/a.svg' width=9 height=9 /></svg>",
    "script": "<script src='TARGET/a.js'></script>",
    "module": "<script type=module src='TARGET/a.js'></script>",
    "dynamic-import": "<script>import('TARGET/a.js').catch(() => 0)</script>",
    "modulepreload": "<link rel=modulepreload href='TARGET/a.js'>",
    "stylesheet": "<link rel=stylesheet href='TARGET/a.css'>",
    "css-import": "<style>@import 'TARGET/a.css';</style>",
    "css-background": "<style>body { background: url(TARGET/a.png) }</style>",
    "css-font": "<style>@font-face { font-family: f; src: url(TARGET/f) } p { font-family: f }"
    "</style><p>text",
    "css-cursor": "<style>html { list-style-image: url(TARGET/a.png); display: list-item }</style>",
    "iframe": "<iframe src='TARGET/'></iframe>",
    "iframe-srcdoc": '<iframe srcdoc="<img src=TARGET/a.png>"></iframe>',
    "frameset": "<frameset><frame src='TARGET/'></frameset>",
    "object": "<object data='TARGET/a.svg' type='image/svg+xml'></object>",
    "embed": "<embed src='TARGET/a.svg' type='image/svg+xml'>",
    "video": "<video src='TARGET/a.mp4' autoplay></video>",
    "poster": "<video poster='TARGET/a.png'></video>",
    "audio": "<audio src='TARGET/a.mp3' autoplay></audio>",
    "preload": "<link rel=preload as=image href='TARGET/a.png'>",
    "prefetch": "<link rel=prefetch href='TARGET/a'>",
    "fetch": "<script>fetch('TARGET/').catch(() => 0)</script>",
    "fetch-no-cors": "<script>fetch('TARGET/', {mode: 'no-cors'}).catch(() => 0)</script>",
    "fetch-post": "<script>fetch('TARGET/', {method: 'POST', body: 'x'}).catch(() => 0)</script>",
    "fetch-https": "<script>fetch('SECURE/').catch(() => 0)</script>",
    "fetch-keepalive": "<script>fetch('TARGET/', {keepalive: true}).catch(() => 0)</script>",
    "xhr": "<script>x = new XMLHttpRequest; x.open('GET', 'TARGET/'); x.send()</script>",
    "beacon": "<script>navigator.sendBeacon('TARGET/', 'x')</script>",
    "event-source": "<script>new EventSource('TARGET/')</script>",
    "websocket": "<script>new WebSocket('SOCKET/')</script>",
    "secure-websocket": "<script>new WebSocket('SAFE_SOCKET/')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob(["
    "\"fetch('TARGET/').catch(() => 0)\"])))</script>",
    "worker-import": "<script>new Worker(URL.createObjectURL(new Blob(["
    "\"importScripts('TARGET/a.js')\"])))</script>",
    "location": "<script>location = 'TARGET/'</script>",
    "meta-refresh": "<meta http-equiv=refresh content='0; url=TARGET/'>",
    "form": "<form action='TARGET/' method=post></form><script>document.forms[0].submit()</script>",
    "popup": "<script>open('TARGET/')</script>",
    "image-redirect": "<img src='/redirect/WAY'>",
    "fetch-redirect": "<script>fetch('/redirect/WAY').catch(() => 0)</script>",
    "iframe-redirect": "<iframe src='/redirect/WAY'></iframe>",
    "script-redirect": "<script src='/redirect/WAY'></script>",
}

# Hints that a browser may follow or not; ours does not today.
HINTS: dict[str, str] = {
    "preconnect": "<link rel=preconnect href='https://HOST/'>",
    "dns-prefetch": "<link rel=dns-prefetch href='//HOST'>",
    "prerender": "<link rel=prerender href='http://HOST/'>",
    "icon": "<link rel=icon href='http://HOST/a.png'>",
    "manifest": "<link rel=manifest href='http://HOST/a.json'>",
    "ping": "<a id=a href='#' ping='http://HOST/'>a</a><script>a.click()</script>",
    "speculation": "<script type=speculationrules>"
    '{"prefetch": [{"urls": ["http://HOST/"], "eagerness": "immediate"}]}</script>',
}


@pytest.fixture(scope="module")
def network() -> Iterator[PrivateNetwork]:
    with PrivateNetwork() as network:
        yield network


@pytest.mark.parametrize("way", WAYS)
def test_no_way_of_a_page_reaches_a_private_address(network: PrivateNetwork, way: str) -> None:
    host = f"{way}.example"
    page_text = WAYS[way].replace("WAY", way)
    for word, scheme in (
        ("SAFE_SOCKET", "wss"),
        ("SOCKET", "ws"),
        ("SECURE", "https"),
        ("TARGET", "http"),
    ):
        page_text = page_text.replace(word, f"{scheme}://{host}:{network.port}")
    network.pages[f"/{way}"] = (HTML, page_text)
    redirect = f"HTTP/1.1 302 Found\r\nLocation: http://{host}:{network.port}/"
    network.pages[f"/redirect/{way}"] = (redirect, "")

    async def scenario() -> None:
        # The navigation of the page itself may interrupt this one.
        with contextlib.suppress(Error):
            await network.page.goto(network.url(f"/{way}"), wait_until="commit")
        reason = await network.wait_until_refused(host)
        assert f"{host} resolves to {PRIVATE}, a loopback address" in reason
        for one in network.context.pages:
            assert "the secret" not in await _text(one)
            if one is not network.page:
                await one.close()

    network.run(scenario())
    assert network.visits == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_to_a_private_address_is_refused(network: PrivateNetwork, status: int) -> None:
    host = f"redirected-{status}.example"
    redirect = f"HTTP/1.1 {status} Moved\r\nLocation: http://{host}:{network.port}/"
    network.pages[f"/moved/{status}"] = (redirect, "")

    async def scenario() -> None:
        response = await network.page.goto(network.url(f"/moved/{status}"))
        assert response is not None and response.status == 403
        assert "resolves to" in await network.page.content()

    network.run(scenario())
    assert network.visits == []


LITERALS = [
    "127.0.0.2",
    "2130706434",
    "0x7f.2",
    "127.2",
    "0177.0.0.2",
    "127.0.0.2.",
    "①②⑦.0.0.2",
    "[::1]",
    "[::ffff:127.0.0.2]",
    "[::127.0.0.2]",
    "[64:ff9b::127.0.0.2]",
    "localhost",
    "localhost.",
    "a.localhost",
    "0.0.0.0",
    "169.254.169.254",
    "metadata.google.internal",
]


@pytest.mark.parametrize("host", LITERALS)
def test_no_spelling_of_a_private_address_gets_through(network: PrivateNetwork, host: str) -> None:
    async def scenario() -> None:
        try:
            response = await network.page.goto(f"http://{host}:{network.port}/")
            assert response is not None and response.status == 403
            shown = await network.page.content()
            assert "--allow" in shown and "the secret" not in shown
        except Error as error:
            # Some spellings are refused by the browser itself.
            assert "ERR_" in str(error) or "invalid URL" in str(error)

    network.run(scenario())
    assert network.visits == []


def test_a_name_that_is_rebound_after_the_page_has_come_is_refused(
    network: PrivateNetwork,
) -> None:
    network.pages["/rebinding"] = (HTML, "<h1>Public</h1>")
    network.rebinding["evil.example"] = 1

    async def scenario() -> None:
        page = await network.context.new_page()
        await page.goto(network.url("/rebinding", "evil.example"))
        assert "Public" in await page.content()
        # The same origin, the same port: now it is somewhere else.
        for _ in range(3):
            told = await page.evaluate("fetch('/secret').then(r => r.text())")
            assert f"resolves to {PRIVATE}" in told
        await page.close()

    network.run(scenario())
    assert network.visits == [] and network.rebinding["evil.example"] == 0


def test_datagrams_do_not_leave_and_sockets_of_calls_do_not_connect(
    network: PrivateNetwork,
) -> None:
    network.pages["/calls"] = (HTML, "<h1>Calls</h1>")
    gather = """async ([udp, tcp]) => {
      const peer = new RTCPeerConnection({iceServers: [
        {urls: [`stun:127.0.0.2:${udp}`, `stun:localhost:${udp}`]},
        {urls: [`turn:127.0.0.2:${udp}`, `turn:127.0.0.2:${tcp}?transport=tcp`],
         username: 'a', credential: 'b'}]});
      peer.createDataChannel('x');
      const found = [];
      const complete = new Promise(done => {
        peer.onicecandidate = event => event.candidate
          ? found.push(event.candidate.candidate) : done() });
      await peer.setLocalDescription(await peer.createOffer());
      await Promise.race([complete, new Promise(done => setTimeout(done, 3000))]);
      peer.close();
      return found;
    }"""
    transport = """async udp => {
      if (!self.WebTransport) return 'none';
      const carrier = new WebTransport(`https://127.0.0.2:${udp}/`);
      carrier.closed.catch(() => 0);
      return carrier.ready.then(() => 'open', error => 'closed');
    }"""

    async def scenario() -> None:
        page = await network.context.new_page()
        await page.goto(network.url("/calls"))
        found = await page.evaluate(gather, [network.udp_port, network.port])
        assert not [one for one in found if " udp " in one.lower()], found
        assert await page.evaluate(transport, network.udp_port) in ("none", "closed")
        await page.close()

    network.run(scenario())
    assert network.visits == []


def test_a_service_worker_gets_no_further_than_its_page(network: PrivateNetwork) -> None:
    # Service workers need a secure origin; the browser takes loopback's names for one.
    network.pages["/worker.js"] = (SCRIPT, "onfetch = e => e.respondWith(fetch(e.request))")
    network.pages["/service"] = (HTML, "<h1>Service</h1>")
    register = """() => navigator.serviceWorker
      ? navigator.serviceWorker.register('/worker.js').then(() => 'yes', () => 'no') : 'none'"""

    async def scenario() -> None:
        page = await network.context.new_page()
        await page.goto(network.url("/service"))
        assert await page.evaluate(register) in ("none", "no")
        await page.close()

    network.run(scenario())
    assert network.visits == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "chrome://version", "view-source:TARGET"])
def test_a_page_cannot_go_where_only_the_browser_may(network: PrivateNetwork, url: str) -> None:
    target = url.replace("TARGET", f"http://{PUBLIC}:{network.port}/")
    network.pages["/leaving"] = (
        HTML,
        f"<a href='{target}'>out</a><iframe src='{target}'></iframe>",
    )

    async def scenario() -> None:
        page = await network.context.new_page()
        await page.goto(network.url("/leaving"))
        await page.click("a")
        await page.evaluate("url => { open(url); location = url }", target)
        assert await network.driver.check_url(target) is not None
        assert page.url == network.url("/leaving")
        for one in network.context.pages:
            assert "root:" not in await _text(one)
            if one is not network.page:
                await one.close()

    network.run(scenario())
    assert network.visits == []


@pytest.mark.parametrize("hint", HINTS)
def test_no_hint_of_a_page_reaches_a_private_address(network: PrivateNetwork, hint: str) -> None:
    host = f"hint-{hint}.example:{network.port}"
    network.pages[f"/hint/{hint}"] = (HTML, HINTS[hint].replace("HOST", host))

    async def scenario() -> None:
        await network.page.goto(network.url(f"/hint/{hint}"), wait_until="load")

    network.run(scenario())
    assert network.visits == []


def test_what_the_operator_opened_is_reached(network: PrivateNetwork) -> None:
    """Without this, nothing above would show that the private place can be reached at all."""

    async def scenario() -> None:
        page = await network.context.new_page()
        await page.goto(network.url("/", "opened.example"))
        assert "the secret" in await page.content()
        await page.close()

    network.run(scenario())
    assert network.visits
    network.visits.clear()


async def _text(page: object) -> str:
    try:
        async with asyncio.timeout(2):
            return str(await page.content())  # type: ignore[attr-defined]
    except (Error, TimeoutError):
        return ""
