"""API keys, the view of the OAuth flow, and the start page of several servers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.console.browsing import open_browser, visit
from tests.console.serving import Served, serve_file, serve_source

SERVER = Path(__file__).parents[4] / "conformance" / "server.py"
ERAS = ["2026-07-28", "2025-11-25"]

LOCKED_SERVER = """
from dovetail import Server, ToolAnnotations

server = Server("locked")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def open_sesame() -> str:
    return "you are in"
"""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_file(SERVER) as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


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


def _events(*events: tuple[str, dict[str, Any]]) -> str:
    return "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)


def _change_config(change: Any) -> Any:
    def answer(route: Route) -> None:
        config = route.fetch().json()
        change(config)
        route.fulfill(json=config)

    return answer


def test_every_step_of_the_oauth_flow_is_shown(browser: Browser, served: Served) -> None:
    step = {"step": "metadata", "method": "GET", "url": "http://as/.well-known", "headers": []}
    flow = _events(
        ("request", {**step, "status": None, "body": ""}),
        ("response", {**step, "status": 200, "body": {"issuer": "http://as"}}),
        ("open", {"url": "https://as.example/authorize"}),
        ("done", {"token": "a-token", "scopes": ["notes.read"], "expires_at": None}),
    )

    def allow_oauth(config: Any) -> None:
        config["servers"][0]["guard"] = {"keys": True, "key_header": "Authorization", "oauth": True}

    with visit(browser, served.console) as person:
        context = person.page.context
        context.route("https://as.example/**", lambda route: route.fulfill(body="sign in"))
        person.page.route("**/api/config", _change_config(allow_oauth))
        person.page.route(
            "**/api/sign-in",
            lambda route: route.fulfill(body=flow, content_type="text/event-stream"),
        )
        person.page.reload()
        person.wait_until_connected()
        person.page.get_by_role("link", name="Sign-in").click()
        with context.expect_page() as opened:
            person.press("Sign in")
        opened.value.wait_for_url("https://as.example/authorize")
        expect(person.page.locator("main")).to_contain_text("Signed in")
        expect(person.page.locator("main")).to_contain_text("notes.read")
        steps = person.page.locator(".page > details")
        expect(steps).to_have_count(2)
        steps.last.locator("summary").click()
        expect(steps.last.locator("pre")).to_contain_text("issuer")
        with person.page.expect_request("**/mcp") as waiting:
            person.page.get_by_role("link", name="Tools").click()
            person.run("test_simple_text")
        assert waiting.value.headers["authorization"] == "Bearer a-token"


def test_a_failed_sign_in_says_why(browser: Browser, served: Served) -> None:
    def allow_oauth(config: Any) -> None:
        config["servers"][0]["guard"]["oauth"] = True

    with visit(browser, served.console) as person:
        person.page.route("**/api/config", _change_config(allow_oauth))
        person.page.route(
            "**/api/sign-in",
            lambda route: route.fulfill(
                body=_events(("error", {"message": "The issuer is not trusted"})),
                content_type="text/event-stream",
            ),
        )
        person.page.reload()
        person.wait_until_connected()
        person.page.get_by_role("link", name="Sign-in").click()
        person.press("Sign in")
        expect(person.page.get_by_role("alert")).to_contain_text("The issuer is not trusted")


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
