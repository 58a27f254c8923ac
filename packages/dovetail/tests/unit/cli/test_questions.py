"""Questions of a server: in the terminal, and from --answer and --yes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.failures import Failure
from dovetail.cli.questions import Questions
from dovetail.client import ElicitRequest, ElicitResponse
from tests.terminal import open_terminal

FILE = str(Path(__file__).parents[2] / "peers" / "survey_server.py")


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_form_is_filled_in_and_wrong_answers_are_asked_again(mode: str) -> None:
    with open_terminal("call", FILE, "order", "--json", "--mode", mode) as terminal:
        asked = terminal.expect("value: ")
        assert "The server asks: What may it \\x1b[2Jbe?" in asked  # it cannot clear the screen
        assert "name: Your name" in asked
        terminal.type("")
        terminal.expect("name is required")
        terminal.type("A")
        terminal.expect("name: expected")
        terminal.type("Anna")
        terminal.expect("cups (optional)")
        terminal.expect("value [2]: ")
        terminal.type("many")
        terminal.expect("cups: expected integer, got 'many'")
        terminal.type("12")
        terminal.expect("cups: expected")
        terminal.type("3")
        terminal.expect("y/n [n]: ")
        terminal.type("y")
        terminal.expect("1. s  Small\n  2. l  Large")
        terminal.expect("choose 1-2: ")
        terminal.type("xl")
        terminal.expect("size: expected one of s, l, got 'xl'")
        terminal.type("2")
        terminal.expect("choose 1-3, separated by commas: ")
        terminal.type("1,2,3")
        terminal.expect("extras: expected")
        terminal.type("ice, 3")
        terminal.expect("For the receipt.")
        terminal.expect("value: ")
        terminal.type("not a mail address")
        terminal.expect("mail: expected")
        terminal.type("")
        terminal.expect("Send this?")
        terminal.type("y")
        assert terminal.wait() == 0
    shown = terminal.output[terminal.output.rindex("cancels: ") :].partition("\n")[2]
    assert json.loads(shown)["structuredContent"] == {
        "action": "accept",
        "data": {"name": "Anna", "cups": 3, "milk": True, "size": "l", "extras": ["ice", "mint"]},
    }


def test_a_question_is_edited_declined_and_cancelled() -> None:
    with open_terminal("call", FILE, "order", "--answer", "name=Bo", "--answer", "size=s") as one:
        for _ in range(2):
            # The fields of --answer are not asked; an empty answer takes the default.
            for prompt in ("value [2]: ", "y/n [n]: ", "choose 1-3", "value: "):
                one.expect(prompt)
                one.type("")
            one.expect("Send this?")
            one.type("e")
        one.expect("value [2]: ")
        one.press("D")
        assert one.wait() == 0
        assert '"action": "cancel"' in one.output
    with open_terminal("call", FILE, "confirm") as other:
        other.expect("Really?")
        other.expect("Send this?")
        other.type("what")
        other.expect("Type y, n or e")
        other.type("n")
        other.expect("decline")
        assert other.wait() == 0


def test_a_url_is_shown_and_opened_only_with_consent(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    url = "https://login.example.org/start?a=1"
    with open_terminal("call", FILE, "visit", f"url={url}", BROWSER=str(browser)) as terminal:
        terminal.expect("asks you to visit login.example.org: Sign in")
        terminal.expect(url)
        terminal.expect("Open it in your browser?")
        assert not opened.exists()
        terminal.type("n")
        terminal.expect("decline")
        assert terminal.wait() == 0
    assert not opened.exists()
    with open_terminal(
        "call", FILE, "visit", f"url={url}", "--yes", BROWSER=str(browser)
    ) as terminal:
        terminal.expect("accept")
        assert terminal.wait() == 0
    assert opened.read_text().strip() == url


def test_a_url_that_must_be_visited_first_is_opened() -> None:
    url = "https://pay.example.org/bill"
    with open_terminal("call", FILE, "locked", f"url={url}") as terminal:
        terminal.expect("asks you to visit pay.example.org: Pay first")
        terminal.expect("Open it in your browser?")
        terminal.type("y")
        terminal.expect("dovetail: Payment needed; call again when you have done that")
        assert terminal.wait() == 1


def test_ctrl_c_at_a_question_ends_the_command() -> None:
    with open_terminal("call", FILE, "confirm") as terminal:
        terminal.expect("Send this?")
        terminal.press("C")
        assert terminal.wait() == 130
    assert "Traceback" not in terminal.output
    assert "Aborted" not in terminal.output


def test_the_time_limit_does_not_count_the_time_of_the_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The user answers after the time limit has passed, as far as the event loop knows."""

    async def answer_late(_: Questions, request: ElicitRequest) -> ElicitResponse:
        clock = asyncio.get_running_loop()
        passed = clock.time() + 60
        clock.time = lambda: passed  # type: ignore[method-assign]
        await asyncio.sleep(0)
        return ElicitResponse.accept({})

    monkeypatch.setattr(Questions, "answer", answer_late)
    for mode in ("modern", "legacy"):
        result = dovetail("call", FILE, "confirm", "--yes", "--timeout", "30", "--mode", mode)
        assert (result.exit_code, result.stdout) == (0, "accept\n"), result.stderr


def test_answers_for_scripts() -> None:
    pairs = ["name=Anna", "size=l", "cups=4", "milk=yes", "extras=ice", "extras=mint"]
    words = [word for pair in pairs for word in ("--answer", pair)]
    result = dovetail("call", FILE, "order", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"] == {
        "name": "Anna",
        "cups": 4,
        "milk": True,
        "size": "l",
        "extras": ["ice", "mint"],
    }
    with_defaults = dovetail("call", FILE, "order", "--answer", "name=Bo", "--answer", "size=s")
    assert json.loads(with_defaults.stdout)["data"] == {
        "name": "Bo",
        "size": "s",
        "cups": 2,
        "milk": False,
    }
    assert dovetail("call", FILE, "confirm", "--yes").stdout == "accept\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["order"], 1, "run the command in a terminal, or add --answer KEY=VALUE or --yes"),
        (["order", "--yes"], 2, "it needs name, size; add --answer name=VALUE --answer size=VALUE"),
        (["order", "--answer", "cups=12"], 2, "cups: expected"),
        (["order", "--answer", "size="], 2, "size: expected one of s, l, got ''"),
        (["order", "--answer", "cups"], 2, "--answer: expected KEY=VALUE, got 'cups'"),
        (["locked", "url=https://a.example"], 2, "asks to visit https://a.example; add --yes"),
        (["visit", "url=https://a.example", "--answer", "a=b"], 2, "add --yes to open it"),
        (["visit", "url=file:///etc/passwd", "--yes"], 1, "not an http:// or https:// URL"),
    ],
)
def test_a_question_without_an_answer_is_explained(words: list[str], code: int, told: str) -> None:
    result = dovetail("call", FILE, *words)
    assert result.exit_code == code
    assert told in result.stderr
    assert len(result.stderr.splitlines()) <= 1


def test_only_web_addresses_are_opened() -> None:
    async def ask(url: str) -> tuple[Any, Failure | None]:
        questions = Questions(accepts=True)
        request = ElicitRequest(message="Look", mode="url", url=url)
        return (await questions.answer(request)).action, questions.problem

    for url in ("file:///etc/passwd", "javascript:alert(1)", "https://", "http://[::1"):
        action, problem = asyncio.run(ask(url))
        assert action == "cancel"
        assert problem is not None
        assert "not an http:// or https:// URL" in problem.message


def test_an_invalid_form_is_the_fault_of_the_server() -> None:
    form = {"type": "object", "properties": {"word": {"type": "string", "pattern": "("}}}

    async def ask() -> Failure | None:
        questions = Questions(["word=a"])
        await questions.answer(ElicitRequest(message="Which word?", schema=form))
        return questions.problem

    problem = asyncio.run(ask())
    assert problem is not None
    assert problem.exit_code == 1
    assert "the form: the JSON Schema is invalid" in problem.message


def test_an_answer_that_was_not_asked_for_is_reported() -> None:
    result = dovetail("call", FILE, "confirm", "--yes", "--answer", "colour=red")
    assert result.exit_code == 0
    assert "the server did not ask for --answer colour" in result.stderr


def test_roots_are_given_and_a_model_is_refused(tmp_path: Path) -> None:
    own = str(Path(FILE).with_name("own_server.py"))
    for mode in ("modern", "legacy"):
        found = dovetail("call", own, "folders", "--root", str(tmp_path), "--mode", mode)
        assert found.stdout == f"{tmp_path.as_uri()}\n"
    without = dovetail("call", own, "folders")
    assert (without.exit_code, without.stderr.endswith("; add --root FOLDER\n")) == (1, True)
    model = dovetail("call", own, "capital")
    assert model.exit_code == 1
    assert "this command has no model; use a client that has one" in model.stderr
    missing = dovetail("call", own, "folders", "--root", str(tmp_path / "nowhere"))
    assert missing.exit_code == 2
