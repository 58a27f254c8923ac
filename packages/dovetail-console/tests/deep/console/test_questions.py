"""Elicitation, sampling and roots as dialogs that a person answers, in both eras."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.console.serving import Served, serve_source
from tests.deep.console.browsing import Person, visit

ERAS = ["2026-07-28", "2025-11-25"]

URL_SERVER = """
from dovetail import Context, Server

server = Server("links")


@server.tool
async def connect_account(ctx: Context) -> str:
    answer = await ctx.elicit("Please sign in there", url="https://example.com/sign-in?x=1")
    return f"answered {answer.action}"


@server.tool
async def odd_address(ctx: Context) -> str:
    answer = await ctx.elicit("Please run this", url="javascript:alert(1)")
    return f"answered {answer.action}"
"""


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_source(URL_SERVER, tmp_path_factory.mktemp("links")) as running:
        yield running


def test_a_form_is_filled_in(person: Person) -> None:
    call = person.run("test_elicitation", {"message": "Who are you?"})
    asked = person.page.get_by_role("dialog", name="conformance asks")
    expect(asked).to_contain_text("Who are you?")
    # A gateway relays questions of its upstreams; the tool says whose they are.
    expect(asked).to_contain_text("For a call of test_elicitation")
    person.dialog.locator('[data-path="/username"] input').fill("ada")
    person.dialog.locator('[data-path="/email"] input').fill("ada@example.com")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call.locator("pre")).to_contain_text("accept")
    expect(call.locator("pre")).to_contain_text("ada@example.com")


def test_the_focus_is_in_the_dialog_and_returns(person: Person) -> None:
    person.run("test_elicitation", {"message": "Who are you?"})
    expect(person.dialog.locator('[data-path="/username"] input')).to_be_focused()
    person.page.keyboard.press("Escape")
    expect(person.dialog).to_have_count(0)
    assert person.page.evaluate("document.activeElement !== document.body")


def test_a_form_can_be_declined_and_cancelled(person: Person) -> None:
    asked = person.page.get_by_role("dialog", name="conformance asks")
    for button, action in (("Decline", "decline"), ("Cancel", "cancel"), ("Escape", "cancel")):
        call = person.run("test_elicitation", {"message": "Who are you?"})
        expect(asked).to_be_visible()
        if button == "Escape":
            person.page.keyboard.press(button)
        else:
            asked.get_by_role("button", name=button).click()
        expect(call.locator("pre")).to_contain_text(f"User response: {action}")


def test_a_form_starts_with_its_defaults(person: Person) -> None:
    call = person.run("test_elicitation_sep1034_defaults")
    name = person.dialog.locator('[data-path="/name"] input')
    expect(name).to_have_value("John Doe")
    name.fill("Grace")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call.locator("pre")).to_contain_text("name='Grace', age=30, score=95.5")


def test_what_the_form_does_not_allow_is_said_before_it_is_sent(person: Person) -> None:
    person.run("test_elicitation", {"message": "Who are you?"})
    asked = person.page.get_by_role("dialog", name="conformance asks")
    asked.get_by_role("button", name="Send", exact=True).click()
    expect(asked.get_by_role("alert")).to_contain_text("username")


def test_a_person_answers_for_the_model(person: Person) -> None:
    call = person.run("test_sampling", {"prompt": "What is 1 + 1?"})
    expect(person.dialog).to_contain_text("What is 1 + 1?")
    person.dialog.get_by_label("Your answer as the model").fill("Two")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call.locator("pre")).to_have_text("LLM response: Two")


def test_sampling_can_be_declined(person: Person) -> None:
    call = person.run("test_sampling", {"prompt": "What is 1 + 1?"})
    asked = person.page.get_by_role("dialog", name="conformance asks")
    asked.get_by_role("button", name="Decline").click()
    expect(call.locator(".badge").first).to_have_text("Error")


def test_roots_are_given_and_remembered(person: Person) -> None:
    call = person.run("test_input_required_result_list_roots")
    person.dialog.get_by_label("Folders").fill("/work\nfile:///other")
    person.dialog.get_by_label("Answer the same from now on").check()
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call.locator(".result")).to_contain_text("file:///work")
    person.press("Run again")
    person.dialog.get_by_role("button", name="Run", exact=True).click()
    expect(person.page.locator(".history li")).to_have_count(2)
    expect(call.locator(".badge").first).to_have_text("Done")
    expect(call.locator(".result")).to_contain_text("file:///other")


def test_several_questions_are_asked_one_after_the_other(person: Person) -> None:
    call = person.run("test_input_required_result_multiple_inputs")
    for _ in range(3):
        form = person.page.get_by_role("dialog", name="conformance asks", exact=True)
        model = person.page.get_by_label("Your answer as the model")
        roots = person.page.get_by_label("Folders")
        expect(form.or_(model).or_(roots).first).to_be_visible()
        if model.is_visible():
            model.fill("Good day")
        elif not roots.is_visible():
            person.dialog.locator('[data-path="/name"] input').fill("Ada")
        title = person.dialog.locator("h2").text_content()
        person.dialog.get_by_role("button", name="Send", exact=True).click()
        expect(person.page.get_by_role("heading", name=str(title), exact=True)).to_have_count(0)
    expect(call.locator("pre")).to_contain_text("Ada")
    expect(call.locator("pre")).to_contain_text("Good day 0")


def test_questions_of_several_rounds(person: Person) -> None:
    call = person.run("test_input_required_result_multi_round")
    expect(person.dialog).to_contain_text("Step 1")
    person.dialog.locator('[data-path="/name"] input').fill("Ada")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(person.dialog).to_contain_text("Step 2")
    person.dialog.locator('[data-path="/color"] input').fill("teal")
    person.dialog.get_by_role("button", name="Send", exact=True).click()
    expect(call.locator("pre")).to_contain_text("teal")


def test_a_prompt_may_ask_too(browser: Browser, served: Served) -> None:
    with visit(browser, served.console) as person:
        person.go("conformance", "prompts", "test_input_required_result_prompt")
        person.press("Get prompt")
        person.dialog.locator('[data-path="/context"] input').fill("a shop")
        person.dialog.get_by_role("button", name="Send", exact=True).click()
        expect(person.page.locator(".messages")).to_contain_text("Context: a shop")


@pytest.mark.parametrize("revision", ERAS)
def test_a_page_is_opened_only_with_consent(browser: Browser, links: Served, revision: str) -> None:
    with visit(browser, links.console, {"links": revision}, locale="en-US") as person:
        context = person.page.context
        context.route("https://example.com/**", lambda route: route.fulfill(body="here"))
        call = person.run("connect_account")
        expect(person.dialog).to_contain_text("example.com")
        expect(person.dialog).to_contain_text("https://example.com/sign-in?x=1")
        assert len(context.pages) == 1
        with context.expect_page() as opened:
            person.dialog.get_by_role("button", name="Open the page").click()
        assert opened.value.url.startswith("https://example.com/sign-in")
        expect(call.locator("pre")).to_have_text("answered accept")
        person.page.get_by_role("link", name="Tools").click()
        call = person.run("odd_address")
        expect(call.locator(".badge").first).not_to_have_text("Done")
        if person.dialog.is_visible():
            expect(person.dialog.get_by_role("button", name="Open the page")).to_have_count(0)
