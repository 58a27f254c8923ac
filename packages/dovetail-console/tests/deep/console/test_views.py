"""Traffic, compliance, sign-in, the overview and the start page."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_command, serve_file
from tests.deep.console.browsing import Person, visit

SERVER = Path(__file__).parents[5] / "qa" / "conformance" / "server.py"
ERAS = ["2026-07-28", "2025-11-25"]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serve_file(SERVER, "--watch") as running:
        yield running


def frames(person: Person, text: str, source: str = "This page") -> None:
    """Open the traffic and filter it."""
    person.page.get_by_role("link", name="Traffic").click()
    person.page.get_by_label("Show").select_option(source)
    person.page.get_by_label("Filter messages").fill(text)


def test_every_message_is_on_the_time_line_with_its_bytes(person: Person) -> None:
    person.run("test_simple_text")
    expect(person.call.locator(".badge").first).to_have_text("Done")
    frames(person, "tools/call")
    rows = person.page.locator(".frames li")
    expect(rows.last).to_contain_text("→")
    expect(rows.first).to_contain_text("response")
    rows.last.get_by_role("button").click()
    expect(rows.last.get_by_role("region", name="Raw bytes")).to_contain_text('"jsonrpc":"2.0"')
    expect(rows.last.get_by_role("region", name="HTTP")).to_contain_text("POST")
    person.page.get_by_label("Direction").select_option("From the server")
    expect(rows.filter(has_text="→")).to_have_count(0)
    person.press("Clear")
    expect(rows).to_have_count(0)


def test_the_traffic_of_other_clients_is_seen_with_watch(person: Person, served: Served) -> None:
    frames(person, "greet", "All clients")
    call = [sys.executable, "-m", "dovetail", "call", served.urls[0], "greet", "name=Somebody"]
    subprocess.run(call, check=True, capture_output=True)
    expect(person.page.locator(".frames li").filter(has_text="tools/call").first).to_be_visible()
    person.page.get_by_label("Filter messages").fill("Hello, Somebody")
    expect(person.page.locator(".frames li").first).to_be_visible()


def test_the_traffic_can_be_replayed_by_the_checker(person: Person, tmp_path: Path) -> None:
    person.run("test_simple_text")
    expect(person.call.locator(".badge").first).to_have_text("Done")
    frames(person, "")
    with person.page.expect_download() as waiting:
        person.press("Export")
    file = tmp_path / "evidence.zip"
    waiting.value.save_as(file)
    zipfile.ZipFile(file).extractall(tmp_path / "evidence")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "dovetail", "check", "--format", "json"),
            *("--fail-on", "never", "--replay", str(_find_folder(tmp_path / "evidence"))),
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b'"verdict"' in done.stdout


def _find_folder(folder: Path) -> Path:
    inner = [each for each in folder.iterdir() if each.is_dir()]
    return inner[0] if len(inner) == 1 and len(list(folder.iterdir())) == 1 else folder


def test_the_check_runs_in_the_page_and_shows_the_difference(
    browser: Browser, served: Served
) -> None:
    with visit(browser, served.console) as person:
        person.go("conformance", "check")
        person.page.locator(".toolbar").get_by_label("Revision").select_option(ERAS[0])
        person.press("Run the check")
        # Verdicts come rule by rule, before the report.
        so_far = person.page.get_by_role("list", name="Verdicts so far").locator("li")
        expect(so_far.filter(has_text="pass").first).to_be_visible()
        expect(person.page.get_by_text("Download the report")).to_be_visible()
        expect(so_far).to_have_count(0)
        expect(person.page.locator(".rules li").first).to_be_visible()
        person.page.get_by_label("Verdict").select_option("pass")
        person.page.get_by_label("Search rules").fill("base.core")
        expect(person.page.locator(".rules li")).to_have_count(1)
        person.page.locator(".toolbar").get_by_label("Revision").select_option(ERAS[1])
        person.press("Run again")
        difference = person.page.get_by_role("region", name="Difference")
        expect(difference).to_contain_text("not applicable → pass")


CHANGING_SERVER = """
from dovetail import Server

server = Server("changing")


@server.tool
async def first() -> str:
    return "one"
"""
MORE = """

@server.prompt
def greeting(name: str) -> str:
    return f"Greet {name}"
"""


@pytest.mark.parametrize("revision", ERAS)
def test_the_check_runs_again_after_a_reload_and_shows_the_difference(
    browser: Browser, tmp_path: Path, revision: str
) -> None:
    file = tmp_path / "changing.py"
    file.write_text(CHANGING_SERVER)
    with (
        serve_command(["dev", str(file), "--http", "0", "--no-open"]) as served,
        visit(browser, served.console, {"changing": revision}) as person,
    ):
        person.go("changing", "check")
        person.wait_until_connected()
        person.page.locator(".toolbar").get_by_label("Revision").select_option(revision)
        person.page.get_by_label("Run again when the server restarts").check()
        person.press("Run the check")
        expect(person.page.get_by_text("Download the report")).to_be_visible()
        difference = person.page.get_by_role("region", name="Difference")
        expect(difference).to_have_count(0)
        file.write_text(CHANGING_SERVER + MORE)
        expect(difference).to_contain_text("prompts.")
        expect(difference).to_contain_text("→ pass")
        # The lists were read again too.
        person.wait_until_connected()
        prompts = person.page.locator("nav.views").get_by_role("link", name="Prompts")
        expect(prompts).to_contain_text("1")


def test_a_check_can_be_stopped(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.go("conformance", "check")
        person.press("Run the check")
        person.press("Stop")
        expect(person.page.locator(".error-box")).to_contain_text("Stopped")


def test_the_overview_says_what_the_server_says(person: Person) -> None:
    person.go("conformance", "overview")
    expect(person.page.locator("main")).to_contain_text("For the conformance suite.")
    person.page.get_by_text("Use it in a client").click()
    expect(person.page.get_by_label("Settings for mcp.json")).to_contain_text("mcpServers")
    person.page.get_by_role("button", name="Copy for Claude Code").click()
    expect(person.page.locator(".notices")).to_contain_text("Copied")


def test_a_server_without_a_guard_says_so(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.go("conformance", "sign-in")
        expect(person.page.locator("main")).to_contain_text("needs no sign-in")


def test_the_theme_can_be_chosen(browser: Browser, served: Served) -> None:
    with visit(browser, served.console, color_scheme="light") as person:
        color = "getComputedStyle(document.documentElement).backgroundColor"
        assert person.page.evaluate(color) == "rgb(251, 251, 250)"
        person.page.get_by_label("Theme").select_option("Dark")
        assert person.page.evaluate(color) == "rgb(20, 23, 26)"
        person.page.reload()
        person.wait_until_connected()
        assert person.page.evaluate(color) == "rgb(20, 23, 26)"


@pytest.mark.parametrize("revision", ERAS)
def test_the_chosen_revision_is_kept_after_a_reload(
    browser: Browser, served: Served, revision: str
) -> None:
    with visit(browser, served.console) as person:
        person.use(revision)
        person.page.reload()
        person.wait_until_connected()
        expect(person.page.get_by_label("Protocol revision")).to_have_value(revision)
