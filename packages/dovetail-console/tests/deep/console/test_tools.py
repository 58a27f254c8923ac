"""Tools on the page, with the official test server in both eras."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.console.serving import Served
from tests.deep.console.browsing import Person, visit

MODERN, LEGACY = "2026-07-28", "2025-11-25"


def test_the_address_of_the_server_leads_to_its_tools(browser: Browser, served: Served) -> None:
    with visit(browser, served.base) as person:
        expect(person.page.get_by_role("link", name="test_simple_text")).to_be_visible()
        expect(person.page.get_by_label("Protocol revision")).to_have_value("auto")
        expect(person.page.get_by_role("option", name=f"Auto ({MODERN})")).to_be_attached()


def test_the_list_can_be_searched(person: Person) -> None:
    person.page.keyboard.press("/")
    person.page.keyboard.type("with_progress")
    expect(person.page.locator(".list-pane li")).to_have_count(1)
    person.page.keyboard.press("ArrowDown")
    person.page.keyboard.press("Enter")
    expect(person.page.locator("article h2")).to_have_text("test_tool_with_progress")


KINDS = {
    "test_simple_text": "pre",
    "test_image_content": "img",
    "test_audio_content": "audio",
    "test_embedded_resource": ".resource pre",
    "test_multiple_content_types": ".block:nth-child(3) .resource .tree",
    "test_error_handling": ".error-box pre",
}


def test_results_are_drawn_by_kind(person: Person) -> None:
    for tool, selector in KINDS.items():
        call = person.run(tool)
        expect(call.locator(selector).first).to_be_visible()
        call.get_by_role("tab", name="Raw").click()
        expect(call.locator("pre")).to_contain_text('"content"')


def test_arguments_are_sent_and_headers_are_mirrored(person: Person) -> None:
    call = person.run("test_x_mcp_header", {"region": "Köln 5"})
    expect(call.locator("pre")).to_have_text("Köln 5")


def test_log_messages_appear_with_the_call(person: Person) -> None:
    call = person.run("test_tool_with_logging")
    expect(call.locator(".badge").first).to_have_text("Done")
    expect(call.locator(".logs li")).to_have_count(3)
    expect(call.locator(".logs")).to_contain_text("Tool processing data")


def test_progress_is_shown(person: Person) -> None:
    call = person.run("test_tool_with_progress")
    expect(call).to_contain_text("100 of 100")
    expect(call.locator("progress")).to_be_visible()
    expect(call.locator(".badge").first).to_have_text("Done")


def test_a_running_call_can_be_cancelled(person: Person) -> None:
    person.choose("slow_compute")
    person.field("seconds").fill("600")
    # At newer revisions the server decides.
    if person.page.get_by_label("Protocol revision").input_value() == "2025-11-25":
        person.page.get_by_label("as a task").uncheck()
    person.press_run()
    expect(person.call.locator(".badge").first).to_have_text("Running")
    person.press("Cancel")
    expect(person.call.locator(".badge").first).to_have_text("Cancelled")


def test_a_tool_that_may_write_asks_once_if_told_so(person: Person) -> None:
    person.choose("greet")
    person.field("name").fill("Ada")
    form = person.page.locator(".call-form")
    form.get_by_role("button", name="Run").click()
    expect(person.dialog).to_be_visible()
    person.page.keyboard.press("Escape")
    expect(person.dialog).to_have_count(0)
    expect(person.page.locator("section.call")).to_have_count(0)
    form.get_by_role("button", name="Run").click()
    person.dialog.get_by_label("Do not ask again for this tool").check()
    person.dialog.get_by_role("button", name="Run", exact=True).click()
    expect(person.call.locator("pre")).to_have_text("Hello, Ada!")
    person.field("name").fill("Grace")
    form.get_by_role("button", name="Run").click()
    expect(person.call.locator("pre")).to_have_text("Hello, Grace!")


def test_arguments_that_do_not_match_are_named_and_can_be_sent_anyway(person: Person) -> None:
    person.choose("greet")
    person.page.locator(".call-form").get_by_role("button", name="Run").click()
    expect(person.page.locator(".call-form .error-box")).to_contain_text("name")
    person.press("Send anyway")
    person.dialog.get_by_role("button", name="Run", exact=True).click()
    expect(person.call.locator(".error-box")).to_be_visible()


def test_the_schema_is_shown_for_people(person: Person) -> None:
    person.choose("json_schema_2020_12_tool")
    person.page.get_by_text("Input schema").click()
    schema = person.page.locator(".schema").first
    expect(schema).to_contain_text("contactMethod")
    expect(schema).to_contain_text('["phone","email"]')
    schema.get_by_role("button", name="Show the parts of address").click()
    expect(schema).to_contain_text("street")


def test_a_call_can_be_run_again_and_copied(person: Person) -> None:
    person.run("greet", {"name": "Ada Lovelace's"})
    expect(person.call.locator("pre")).to_have_text("Hello, Ada Lovelace's!")
    person.press("Run again")
    person.dialog.get_by_role("button", name="Run", exact=True).click()
    expect(person.page.locator(".history li")).to_have_count(2)
    expect(person.call.locator(".badge").first).to_have_text("Done")
    for name, expected in (
        ("dovetail call", "dovetail call http"),
        ("Python", "from dovetail import Client"),
        ("curl", "curl -sN"),
    ):
        person.press(f"Copy as {name}")
        expect(person.page.get_by_text(f"Copied as {name}")).to_be_visible()
        text = person.page.evaluate("navigator.clipboard.readText()")
        assert expected in text
        assert "Hello, Ada Lovelace's!" in _execute(name, text)


def _execute(name: str, text: str) -> str:
    if name == "Python":
        words = [sys.executable, "-c", text]
    else:
        program = text.replace("dovetail call", f"{sys.executable} -m dovetail call")
        words = ["bash", "-c", program]
    done = subprocess.run(words, capture_output=True, check=True)
    return done.stdout.decode()


def test_a_call_can_be_saved_as_a_test_that_runs(person: Person, tmp_path: Path) -> None:
    person.run("greet", {"name": "Ada"})
    expect(person.call.locator("pre")).to_have_text("Hello, Ada!")
    with person.page.expect_download() as waiting:
        person.press("Save as test")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)],
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout.decode()


def test_the_history_survives_a_reload(person: Person) -> None:
    person.run("greet", {"name": "Ada"})
    expect(person.call.locator("pre")).to_have_text("Hello, Ada!")
    person.page.reload()
    person.wait_until_connected()
    expect(person.page.locator(".history li")).to_have_count(1)
    person.page.locator(".history .row-button").click()
    expect(person.page.locator(".history-detail")).to_contain_text(
        "until the page was loaded again"
    )


def test_a_stream_that_the_server_closes_is_resumed(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.use(LEGACY)
        call = person.run("test_reconnection")
        expect(call.locator("pre")).to_have_text("Reconnection test completed")


def test_a_changed_list_is_read_again(person: Person) -> None:
    person.page.get_by_role("link", name="Traffic").click()
    filter_ = person.page.get_by_label("Filter messages")
    filter_.fill("subscriptions/acknowledged" if _is_modern(person) else "GET")
    expect(person.page.locator(".frames li").first).to_be_visible()
    person.page.get_by_role("link", name="Tools").click()
    person.run("test_trigger_tool_change")
    expect(person.page.locator(".notices")).to_contain_text("The server changed its tools")


def _is_modern(person: Person) -> bool:
    return person.page.get_by_label("Protocol revision").input_value() == MODERN


def test_the_same_call_runs_at_all_five_revisions(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.run("greet", {"name": "Ada"})
        person.page.get_by_role("link", name="All revisions").click()
        person.press("Run at all revisions")
        person.dialog.get_by_role("button", name="Run", exact=True).click()
        columns = person.page.locator(".columns section")
        expect(columns).to_have_count(5)
        expect(columns.locator("pre")).to_have_text(["Hello, Ada!"] * 5)
        expect(columns.last.locator(".badge")).to_have_text("differs")


def test_requests_of_both_eras_have_the_right_headers(person: Person) -> None:
    seen: list[dict[str, str]] = []
    person.page.on(
        "request", lambda sent: seen.append({**sent.headers, "body": sent.post_data or ""})
    )
    person.run("greet", {"name": "Ada"})
    expect(person.call.locator("pre")).to_have_text("Hello, Ada!")
    sent = next(each for each in seen if '"tools/call"' in each["body"])
    assert sent["accept"] == "application/json, text/event-stream"
    if _is_modern(person):
        assert sent["mcp-protocol-version"] == MODERN
        assert (sent["mcp-method"], sent["mcp-name"]) == ("tools/call", "greet")
        meta = json.loads(sent["body"])["params"]["_meta"]
        assert meta["io.modelcontextprotocol/protocolVersion"] == MODERN
    else:
        assert sent["mcp-protocol-version"] == LEGACY
        assert sent["mcp-session-id"]
        assert "mcp-name" not in sent
