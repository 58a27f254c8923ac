"""Resources, prompts and tasks on the page, in both eras."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_source
from tests.deep.console.browsing import Person, visit

ERAS = ["2026-07-28", "2025-11-25"]

LIVE_SERVER = """
from dovetail import Server, ToolAnnotations

server = Server("live")
words = ["first"]


@server.resource("test://words", mime_type="text/plain")
async def all_words() -> str:
    return " ".join(words)


@server.resource("test://cities/{city}", mime_type="text/plain")
async def one_city(city: str) -> str:
    return f"This is {city}"


@server.complete(one_city, "city")
async def find_city(typed: str) -> list[str]:
    return [name for name in ("Paris", "Parma", "Rome") if name.lower().startswith(typed.lower())]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def add_word(word: str) -> str:
    words.append(word)
    server.resource_updated("test://words")
    return "added"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def cities() -> list[dict[str, int | str]]:
    return [{"name": "Paris", "people": 2102650}, {"name": "Rome", "people": 2748109}]


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def guide() -> str:
    return "# Guide\\n\\n- go to **Paris**\\n- see [Rome](https://example.com/rome)"
"""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(LIVE_SERVER, tmp_path_factory.mktemp("live")) as running:
        yield running


# -- resources --------------------------------------------------------------------------


def test_a_text_and_a_picture_are_read(person: Person) -> None:
    person.go("conformance", "resources")
    person.choose("static_text")
    expect(person.page.locator(".resource pre")).to_contain_text("static text resource")
    person.choose("static_binary")
    expect(person.page.locator(".resource img")).to_be_visible()


def test_a_template_is_filled_in_and_read(person: Person) -> None:
    person.go("conformance", "resources")
    person.choose("template_data")
    person.page.get_by_label("id", exact=True).fill("a b")
    expect(person.page.locator("form code")).to_have_text("test://template/a%20b/data")
    person.press("Read")
    expect(person.page.locator(".resource")).to_contain_text("templateTest")


@pytest.mark.parametrize("revision", ERAS)
def test_the_values_of_a_template_are_completed(
    browser: Browser, live: Served, revision: str
) -> None:
    with visit(browser, live.console, {"live": revision}) as person:
        person.go("live", "resources", "test://cities/{city}")
        person.page.get_by_role("textbox", name="city").press_sequentially("Par")
        suggestions = person.page.get_by_role("group", name="Suggestions for city")
        expect(suggestions.get_by_role("button")).to_have_text(["Paris", "Parma"])
        suggestions.get_by_text("Parma").click()
        person.press("Read")
        expect(person.page.locator(".resource pre")).to_have_text("This is Parma")


@pytest.mark.parametrize("revision", ERAS)
def test_a_subscribed_resource_is_read_again_when_it_changes(
    browser: Browser, live: Served, revision: str
) -> None:
    with visit(browser, live.console, {"live": revision}) as person:
        person.go("live", "resources", "test://words")
        expect(person.page.locator(".resource pre")).to_contain_text("first")
        person.press("Subscribe")
        expect(person.page.get_by_text("Live, 0 updates")).to_be_visible()
        _wait_for_frame(person, "live", revision)
        word = f"word-of-{revision}"
        person.go("live", "tools", "add_word")
        person.field("word").fill(word)
        person.press_run()
        expect(person.call.locator(".badge").first).to_have_text("Done")
        person.go("live", "resources", "test://words")
        expect(person.page.get_by_text("Live, 1 update")).to_be_visible()
        expect(person.page.locator(".resource pre")).to_contain_text(word)
        person.press("Unsubscribe")
        expect(person.page.get_by_role("button", name="Subscribe", exact=True)).to_be_visible()


def _wait_for_frame(person: Person, name: str, revision: str) -> None:
    """Wait until the server has acknowledged the subscription."""
    modern = revision == ERAS[0]
    person.go(name, "traffic")
    text = "resourceSubscriptions acknowledged" if modern else "resources/subscribe response"
    person.page.get_by_label("Filter messages").fill(text)
    expect(person.page.locator(".frames li").first).to_be_visible()


def test_a_resource_that_does_not_exist_is_an_error(person: Person) -> None:
    person.go("conformance", "resources", "test://nowhere")
    expect(person.page.locator(".error-box")).to_contain_text("Error -32")


# -- kinds of results --------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_records_are_a_table_and_markdown_is_rendered(
    browser: Browser, live: Served, revision: str
) -> None:
    with visit(browser, live.console, {"live": revision}) as person:
        call = person.run("cities")
        expect(call.locator("table th")).to_have_text(["name", "people"])
        expect(call.locator("table tbody tr").last).to_contain_text("Rome")
        call = person.run("guide")
        expect(call.locator(".markdown li")).to_have_count(2)
        expect(call.locator(".markdown strong").last).to_have_text("Paris")
        link = call.locator(".markdown a")
        expect(link).to_have_attribute("href", "https://example.com/rome")
        expect(link).to_have_attribute("rel", "noopener noreferrer")
        call.get_by_role("tab", name="Text").click()
        expect(call.locator("pre")).to_contain_text("# Guide")


# -- prompts ----------------------------------------------------------------------------


def test_a_prompt_shows_its_messages(person: Person) -> None:
    person.go("conformance", "prompts")
    person.choose("test_prompt_with_image")
    person.press("Get prompt")
    messages = person.page.locator(".messages li")
    expect(messages).to_have_count(2)
    expect(messages.first.locator("img")).to_be_visible()
    expect(messages.last).to_contain_text("Please analyze the image above.")


def test_arguments_of_a_prompt_are_completed_as_you_type(person: Person) -> None:
    person.go("conformance", "prompts", "test_prompt_with_arguments")
    person.page.get_by_role("textbox", name="arg1").press_sequentially("par")
    suggestions = person.page.get_by_role("group", name="Suggestions for arg1")
    expect(suggestions.get_by_role("button")).to_have_text(["paris", "park", "party"])
    person.page.get_by_role("textbox", name="arg1").press_sequentially("i")
    expect(suggestions.get_by_role("button")).to_have_text(["paris"])
    suggestions.get_by_role("button").click()
    person.page.get_by_label("arg2").fill("two")
    person.press("Get prompt")
    expect(person.page.locator(".messages")).to_contain_text("arg1='paris', arg2='two'")


# -- tasks ------------------------------------------------------------------------------


def start_task(person: Person, tool: str, **fields: str) -> None:
    person.go("conformance", "tools", tool)
    for name, value in fields.items():
        person.field(name).fill(value)
    # At newer revisions the server decides.
    box = person.page.get_by_label("as a task")
    old = person.page.get_by_label("Protocol revision").input_value() == "2025-11-25"
    if old and box.is_enabled():
        box.check()
    person.press_run()


def test_a_task_is_followed_to_its_result(person: Person) -> None:
    start_task(person, "slow_compute", seconds="0.3", label="pi")
    expect(person.call.locator("pre")).to_have_text("Computed pi in 0.3 s")
    person.call.get_by_role("link", name="Task").click()
    expect(person.page.locator("article .badge").first).to_have_text("completed")
    expect(person.page.locator("article pre")).to_contain_text("Computed pi")


def test_a_task_can_be_cancelled(person: Person) -> None:
    start_task(person, "slow_compute", seconds="600")
    person.call.get_by_role("link", name="Task").click()
    expect(person.page.locator("article .badge").first).to_have_text("working")
    person.press("Cancel task")
    expect(person.page.locator("article .badge").first).to_have_text("cancelled")


def test_a_task_that_needs_input_asks(person: Person) -> None:
    start_task(person, "confirm_delete", filename="a.txt")
    expect(person.dialog).to_contain_text("Delete a.txt?")
    person.dialog.get_by_label("confirm", exact=True).select_option(label="true")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(person.call.locator("pre")).to_have_text("Deleted a.txt")


def test_a_task_that_fails_says_why(person: Person) -> None:
    start_task(person, "failing_job")
    expect(person.call).to_contain_text("This job always fails")
    start_task(person, "protocol_error_job")
    expect(person.call.locator(".error-box")).to_contain_text("This job breaks the protocol")


def test_tasks_are_known_after_a_reload(person: Person) -> None:
    start_task(person, "slow_compute", seconds="600", label="long")
    expect(person.call.get_by_role("link", name="Task")).to_be_visible()
    person.page.reload()
    person.wait_until_connected()
    person.page.get_by_role("link", name="Tasks").click()
    person.page.locator(".list-pane li a").first.click()
    expect(person.page.locator("article .badge").first).to_have_text("working")
    person.press("Follow")
    person.press("Cancel task")
    expect(person.page.locator("article .badge").first).to_have_text("cancelled")
