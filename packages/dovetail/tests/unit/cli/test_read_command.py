"""`dovetail read`, `prompt` and `complete`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from tests.terminal import open_terminal

PEERS = Path(__file__).parents[2] / "peers"
FILE, SURVEY = str(PEERS / "own_server.py"), str(PEERS / "survey_server.py")


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


@pytest.mark.parametrize("mode", ["modern", "legacy"])
def test_a_resource_is_written_as_it_is(mode: str) -> None:
    assert dovetail("read", FILE, "memo://days/mon", "--mode", mode).stdout == "sun on mon"
    assert dovetail("read", SURVEY, "pictures://dot").stdout_bytes == b"\x89PNG\x00\xff"
    read = json.loads(dovetail("read", FILE, "memo://today", "--json").stdout)
    assert read["contents"][0]["text"] == "rain"


def test_a_terminal_shows_the_size_of_binary_data() -> None:
    with open_terminal("read", SURVEY, "pictures://dot") as terminal:
        assert terminal.wait() == 0
    assert terminal.output == "[image/png, 6 B, pictures://dot]\n"


def test_a_prompt_shows_its_messages(tmp_path: Path) -> None:
    code = tmp_path / "code.py"
    code.write_text("x = 1")
    result = dovetail("prompt", FILE, "review", f"code=@{code}", "tone=harsh")
    assert result.stdout == "[user] Review x = 1, be harsh\n"
    got = json.loads(dovetail("prompt", FILE, "review", "code=x", "--json").stdout)
    assert got["messages"][0]["content"]["text"] == "Review x, be kind"


def test_values_are_completed() -> None:
    assert dovetail("complete", SURVEY, "letter", "to=an").stdout == "Anna\nAnton\n"
    assert dovetail("complete", SURVEY, "letter", "to=", "from=x").stdout.count("\n") == 3
    completed = json.loads(dovetail("complete", SURVEY, "letter", "to=b", "--json").stdout)
    assert completed["values"] == ["Bert"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["read", FILE], 2, "usage: dovetail read TARGET URI"),
        (["read", FILE, "a:b", "c:d"], 2, "Unexpected arguments: c:d; usage: dovetail read"),
        (["read", FILE, "memo://nope"], 1, "Resource not found: 'memo://nope'"),
        (["prompt", FILE], 2, "usage: dovetail prompt TARGET PROMPT"),
        (["prompt", FILE, "reveiw"], 2, "no prompt 'reveiw'; did you mean 'review'?"),
        (["prompt", FILE, "review"], 2, "needs code; add code=VALUE"),
        (["prompt", FILE, "review", "cod=1"], 2, "The prompt has no argument 'cod'; did you mean"),
        (["complete", SURVEY, "letter"], 2, "usage: dovetail complete TARGET"),
        (["complete", SURVEY, "letter", "to"], 2, "argument: expected KEY=VALUE, got 'to'"),
        (["complete", FILE, "review", "code=x"], 1, "The server does not offer completion"),
        (["complete", SURVEY, "nope", "to=x"], 1, "nope"),
    ],
)
def test_errors_say_what_was_wrong(words: list[str], code: int, told: str) -> None:
    result = dovetail(*words)
    assert result.exit_code == code, result.output
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
