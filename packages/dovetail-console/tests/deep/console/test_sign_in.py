"""API keys, sign-in with an authorization server, and the start page of several servers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.console.serving import Served, serve_file, serve_source
from tests.deep.auth.processes import Provider, free_port
from tests.deep.console.browsing import Person, visit

ERAS = ["2026-07-28", "2025-11-25"]

LOCKED_SERVER = """
from dovetail import Server, ToolAnnotations

server = Server("locked")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def open_sesame() -> str:
    return "you are in"
"""


@pytest.mark.parametrize("revision", ERAS)
def test_a_key_opens_a_locked_server(browser: Browser, tmp_path: Path, revision: str) -> None:
    keys = tmp_path / "keys.toml"
    add = [sys.executable, "-m", "dovetail", "keys", "add", "me", "--file", str(keys), "--json"]
    key = json.loads(subprocess.run(add, check=True, capture_output=True).stdout)["key"]
    with (
        serve_source(LOCKED_SERVER, tmp_path, "--keys", str(keys), "--console") as served,
        visit(browser, served.console) as person,
    ):
        person.page.get_by_label("Protocol revision").select_option(revision)
        expect(person.page.locator("header .status")).to_have_text("Sign-in needed")
        person.page.get_by_role("link", name="Enter a key or sign in").click()
        person.page.get_by_label("Key or token").fill(key)
        person.press("Use the key")
        person.wait_until_connected()
        person.page.get_by_role("link", name="Tools").click()
        call = person.run("open_sesame")
        expect(call.locator("pre")).to_have_text("you are in")
        assert key not in person.page.content()
        # The key is masked in the traffic and kept for this tab only.
        person.page.get_by_role("link", name="Traffic").click()
        person.page.get_by_label("Filter messages").fill("tools/call")
        person.page.locator(".frames li button").last.click()
        expect(person.page.get_by_role("region", name="HTTP")).to_contain_text("***")
        person.page.reload()
        person.wait_until_connected()
        person.page.get_by_role("link", name="Sign-in").click()
        person.press("Sign out")
        expect(person.page.locator("header .status")).to_have_text("Sign-in needed")


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    running = Provider(tmp_path_factory.mktemp("idp"))
    running.start()
    yield running
    running.stop()


def _log_in(route: Route) -> None:
    """Send the name of the user, as the login of a company does for its authorization server."""
    route.continue_(headers={**route.request.headers, "remote-user": "anna"})


@pytest.mark.parametrize(
    ("agrees", "revision"), [(True, ERAS[0]), (True, ERAS[1]), (False, ERAS[0])]
)
def test_a_user_signs_in_with_an_authorization_server(
    browser: Browser, tmp_path: Path, provider: Provider, revision: str, agrees: bool
) -> None:
    port = free_port()
    guard = ["--issuer", provider.issuer, "--resource", f"http://127.0.0.1:{port}/mcp"]
    file = tmp_path / "locked.py"
    file.write_text(LOCKED_SERVER)
    with (
        serve_file(file, *guard, "--console", port=port) as served,
        visit(browser, served.console, locale="en-US") as person,
    ):
        person.page.context.route(f"{provider.issuer}/**", _log_in)
        person.page.get_by_label("Protocol revision").select_option(revision)
        expect(person.page.locator("header .status")).to_have_text("Sign-in needed")
        person.page.get_by_role("link", name="Enter a key or sign in").click()
        with person.page.expect_popup() as opened:
            person.press("Sign in")
        consent = opened.value
        expect(consent.locator("body")).to_contain_text("dovetail console")
        expect(consent.locator("body")).to_contain_text("notes:read")
        consent.get_by_role("button", name="Authorize" if agrees else "Cancel").click()
        if not agrees:
            expect(consent.locator("h1")).to_have_text("Not signed in")
            # The toolkit sends no `iss` with its errors.
            failure = person.page.get_by_role("alert").filter(has_text="The sign-in failed")
            expect(failure).to_contain_text("missing iss")
            expect(person.page.locator("header .status")).to_have_text("Sign-in needed")
            return
        expect(consent.locator("h1")).to_have_text("Signed in")
        expect(person.page.locator("main")).to_contain_text("notes:read")
        person.wait_until_connected()
        _check_steps(person, provider.issuer, served.urls[0])
        person.page.get_by_role("link", name="Tools").click()
        expect(person.run("open_sesame").locator("pre")).to_have_text("you are in")


def _check_steps(person: Person, issuer: str, resource: str) -> None:
    """Every request and response of the flow can be read, without secrets."""
    steps = person.page.locator(".page > details")
    text = "\n".join(steps.locator("summary").all_text_contents())
    for part in (resource, "/.well-known/oauth-protected-resource", "/register", "/token"):
        assert part in text, part
    assert text.count("→") == text.count("←") >= 5
    assert f"{issuer}/" in text
    to_token = person.page.locator("summary code", has_text=re.compile(r"/token/?$"))
    sent = steps.filter(has=to_token).filter(has_text="→")
    sent.locator("summary").click()
    expect(sent.locator("pre")).to_contain_text("grant_type=authorization_code")
    received = steps.filter(has=to_token).filter(has_text="← 200")
    received.locator("summary").click()
    expect(received.locator("pre")).to_contain_text('"expires_in"')
    token = json.loads(person.page.evaluate("sessionStorage.getItem('dovetail:key:locked')"))["key"]
    assert token.count(".") == 2
    assert token not in person.page.content()


def _change_config(change: Any) -> Any:
    def answer(route: Route) -> None:
        config = route.fetch().json()
        change(config)
        route.fulfill(json=config)

    return answer


def test_the_start_page_lists_several_servers(browser: Browser, served: Served) -> None:
    def add_servers(config: Any) -> None:
        (first,) = config["servers"]
        broken = {**first, "name": "broken", "title": "Broken", "endpoint": "/nowhere"}
        config["servers"] = [first, {**first, "name": "second", "title": "Second"}, broken]

    with visit(browser, served.console) as person:
        person.page.route("**/api/config", _change_config(add_servers))
        person.page.reload()
        cards = person.page.locator("main section")
        expect(cards).to_have_count(3)
        expect(cards.nth(1)).to_contain_text("35 tools")
        expect(cards.nth(2).locator(".failed")).to_be_visible()
        cards.nth(1).get_by_text("Use it in a client").click()
        expect(cards.nth(1).get_by_label("Settings for mcp.json")).to_be_visible()
        cards.nth(1).get_by_role("link", name="Second").click()
        person.wait_until_connected()
        person.page.get_by_label("Server", exact=True).select_option("conformance")
        expect(person.page.locator("h1")).to_have_text("conformance: Tools")
