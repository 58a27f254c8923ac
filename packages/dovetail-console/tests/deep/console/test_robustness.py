"""Bad input: large and odd servers, servers that end, stall or forget, two tabs."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_file, serve_source
from tests.deep.console.browsing import Person, visit

ERAS = ["2026-07-28", "2025-11-25"]

ODD_SERVER = """
import asyncio, json
from dovetail import Server, ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
server = Server("odd")


def deep(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


CYCLE = {
    "type": "object",
    "properties": {"node": {"$ref": "#/$defs/node"}},
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
}


@server.tool(annotations=READS)
async def big_text(megabytes: int = 10) -> str:
    return "0123456789abcdef" * (megabytes * 62500)


@server.tool(annotations=READS)
async def stalls() -> str:
    await asyncio.sleep(1e6)
    return "never"


@server.tool(annotations=READS, input_schema=deep(60))
async def deep_tool(**arguments: object) -> str:
    return json.dumps(arguments)


@server.tool(annotations=READS, input_schema=CYCLE)
async def cyclic_tool(**arguments: object) -> str:
    return json.dumps(arguments)


@server.tool(annotations=READS)
async def markup() -> str:
    return (
        "<script>document.title = 'owned'</script><img src=x onerror=alert(1)> "
        "**bold** [x](javascript:alert(1))"
    )


def plain(number):
    async def answer() -> str:
        return f"number {number}"

    return answer


def add(count):
    for number in range(count):
        name, title = f"tool_{number:04}", f"<b>Tool</b> {number}"
        server.tools.add(plain(number), name=name, title=title, annotations=READS)


"""
FEW, CROWD = "add(10)", "add(1000)"


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(ODD_SERVER + FEW, tmp_path_factory.mktemp("odd")) as running:
        yield running


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(ODD_SERVER + CROWD, tmp_path_factory.mktemp("crowd")) as running:
        yield running


@pytest.fixture(params=ERAS)
def person(request: pytest.FixtureRequest, browser: Browser, odd: Served) -> Iterator[Person]:
    with visit(browser, odd.console, {"odd": request.param}) as visitor:
        visitor.wait_until_connected()
        yield visitor


@pytest.mark.parametrize("revision", ERAS)
def test_a_thousand_tools_are_listed_and_searched(
    browser: Browser, crowd: Served, revision: str
) -> None:
    with visit(browser, crowd.console, {"odd": revision}) as person:
        expect(person.page.locator(".count")).to_have_text("1005 tools")
        expect(person.page.locator(".list-pane li")).to_have_count(1005)
        person.page.keyboard.press("/")
        person.page.keyboard.type("tool_0777")
        expect(person.page.locator(".list-pane li")).to_have_count(1)
        person.page.locator(".list-pane li a").click()
        person.press_run()
        expect(person.call.locator("pre")).to_have_text("number 777")


def test_ten_megabytes_are_shown_in_part(person: Person) -> None:
    person.run("big_text")
    expect(person.call.locator("pre")).to_be_visible()
    assert len(str(person.call.locator("pre").text_content())) == 200_000
    expect(person.call).to_contain_text("of 10.0 MB")
    with person.page.expect_download() as waiting:
        person.call.get_by_role("button", name="Download").click()
    assert Path(waiting.value.path()).stat().st_size == 10_000_000
    person.call.get_by_role("button", name="Show all").click()
    expect(person.call.get_by_role("button", name="Show all")).to_have_count(0)


@pytest.mark.parametrize("tool", ["deep_tool", "cyclic_tool"])
def test_deep_and_cyclic_schemas_are_usable(person: Person, tool: str) -> None:
    person.choose(tool)
    person.page.get_by_text("Input schema").click()
    for _ in range(6):
        person.page.locator(".schema").get_by_role("button", name="Show the parts").last.click()
    person.press_run()
    expect(person.call.locator(".badge").first).to_have_text("Done")


def test_markup_stays_text(person: Person) -> None:
    person.page.get_by_role("searchbox").fill("tool_0001")
    expect(person.page.locator(".list-pane strong").first).to_have_text("<b>Tool</b> 1")
    call = person.run("markup")
    expect(call).to_contain_text("<script>")
    assert call.locator("script, img").count() == 0
    assert call.locator("a[href^=javascript]").count() == 0
    assert "owned" not in person.page.title()


def test_a_stalled_call_can_be_cancelled_and_others_work(person: Person) -> None:
    person.run("stalls")
    expect(person.call.locator(".badge").first).to_have_text("Running")
    person.choose("tool_0003")
    person.press_run()
    expect(person.call.locator("pre")).to_have_text("number 3")
    person.choose("stalls")
    person.press("Cancel")
    expect(person.call.locator(".badge").first).to_have_text("Cancelled")


def test_two_tabs_do_not_disturb_each_other(person: Person, odd: Served) -> None:
    other = Person(person.page.context.new_page(), odd.console)
    other.page.goto(odd.console)
    other.wait_until_connected()
    for visitor, number in ((person, 1), (other, 2), (person, 3)):
        visitor.choose(f"tool_{number:04}")
        visitor.press_run()
        expect(visitor.call.locator("pre")).to_have_text(f"number {number}")


PORT_SERVER = """
from dovetail import Server, ToolAnnotations

server = Server("phoenix")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def NAME(word: str = "x") -> str:
    return word
"""


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.mark.parametrize("revision", ERAS)
def test_a_server_that_restarts_is_found_again(
    browser: Browser, tmp_path: Path, revision: str
) -> None:
    port = _free_port()
    file = tmp_path / "phoenix.py"
    file.write_text(PORT_SERVER.replace("NAME", "before"))
    with contextlib.ExitStack() as stack:
        with serve_file(file, port=port) as served:
            person = stack.enter_context(visit(browser, served.console))
            person.use(revision)
            person.choose("before")
            person.field("word").fill("typed before")
            served.process.kill()
            expect(person.page.locator("main .error-box")).to_contain_text("cannot be reached")
        file.write_text(PORT_SERVER.replace("NAME", "after"))
        with serve_file(file, port=port):
            expect(person.page.locator(".notices")).to_contain_text("The server is back")
            person.choose("after")
            person.press_run()
            expect(person.call.locator("pre")).to_have_text("x")
            # The token of the page has changed with the process.
            with person.page.expect_download():
                person.press("Save as test")


def test_a_call_during_which_the_server_ends_says_so(browser: Browser, tmp_path: Path) -> None:
    with (
        serve_source(ODD_SERVER + FEW, tmp_path) as served,
        visit(browser, served.console) as person,
    ):
        person.run("stalls")
        expect(person.call.locator(".badge").first).to_have_text("Running")
        served.process.kill()
        expect(person.call.locator(".badge").first).to_have_text("Error")
        expect(person.call.locator(".error-box")).to_contain_text("No connection")
        expect(person.page.locator("header .status")).to_have_text("Not reachable")


def test_an_expired_session_is_replaced(browser: Browser, odd: Served) -> None:
    with visit(browser, odd.console) as person:
        person.use(ERAS[1])
        person.choose("tool_0005")
        # Another client ends the session, as a server does after its time limit.
        person.page.evaluate(
            """async () => {
                const send = window.fetch;
                window.fetch = (url, options) => {
                    window.lastSession = options?.headers?.["Mcp-Session-Id"] ?? window.lastSession;
                    return send(url, options);
                };
            }"""
        )
        person.press_run()
        expect(person.call.locator("pre")).to_have_text("number 5")
        person.page.evaluate(
            "fetch('/mcp', {method: 'DELETE', headers: {'Mcp-Session-Id': window.lastSession}})"
        )
        person.page.locator(".call-form").get_by_role("button", name="Run", exact=True).click()
        expect(person.page.locator(".notices")).to_contain_text("session had expired")
        expect(person.page.locator(".history li").first).to_contain_text("Done")
