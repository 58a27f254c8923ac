"""`dovetail list`: the overview, and the page of one tool."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from tests.patience import CAP
from tests.terminal import open_terminal

PEERS = Path(__file__).parents[2] / "peers"
FILE, SURVEY = str(PEERS / "own_server.py"), str(PEERS / "survey_server.py")
SHOP = '''
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from dovetail import Server, ToolAnnotations

server = Server("shop")


@dataclass
class Line:
    article: str
    count: Annotated[int, msgspec.Meta(ge=1, le=99)] = 1


@dataclass
class Address:
    """Where to send it."""

    street: str
    country: Literal["NO", "SE"] = "NO"


@server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=False))
def send(lines: list[Line], to: Address, note: str | None = None, express: bool = False) -> int:
    """Send some articles.

    Express costs more than the usual way, which takes three to five days, unless it is Sunday.

    Args:
        lines: The articles.
        note: A text for the parcel.
    """
    return len(lines)
'''


def dovetail(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), obj=[])


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("shop") / "shop.py"
    file.write_text(SHOP)
    return str(file)


def test_the_page_of_a_tool_has_every_argument(shop: str) -> None:
    result = dovetail("list", shop, "send")
    assert result.exit_code == 0, result.output
    for text in (
        "Send some articles.\n\nExpress costs more",
        "\nArguments\n  lines: list[dict]  (required)\n      The articles.\n",
        "\n    lines[].article: str  (required)\n",
        "\n    lines[].count: int  (default 1, 1 to 99)\n",
        '\n    to.country: "NO" | "SE"  (default "NO")\n',
        "\n  note: str\n      A text for the parcel.\n",
        "\nResult\n  int\n",
        "\nHints of the server\n  changes something, destroys nothing\n",
    ):
        assert text in result.stdout, result.stdout
    assert json.loads(dovetail("list", shop, "send", "--json").stdout)["name"] == "send"


def test_the_page_of_a_prompt_has_its_arguments() -> None:
    result = dovetail("list", FILE, "review")
    assert result.stdout.startswith("review(code, tone?)\n\nReview some code.\n")
    assert "Arguments\n  code: str  (required)\n  tone: str\n" in result.stdout


def test_an_unknown_name_is_explained() -> None:
    result = dovetail("list", FILE, "reviw")
    assert result.exit_code == 2
    assert "no tool or prompt 'reviw'; did you mean 'review'? Available tools and" in result.stderr


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(shop: str, columns: int) -> None:
    for words in (["list", shop], ["list", shop, "send"], ["list", FILE]):
        with open_terminal(*words, columns=columns) as terminal:
            assert terminal.wait() == 0
        plain = terminal.output.replace("\x1b[1m", "").replace("\x1b[0m", "")
        assert max(len(line.rstrip()) for line in plain.splitlines()) <= columns
    # The names of the arguments remain if the types do not fit.
    assert ("profile(name: str" in plain) == (columns == 120)
    assert "profile(name" in plain


def test_a_reader_that_closes_the_pipe_gets_no_traceback() -> None:
    command = f"{sys.executable} -m dovetail list {FILE} | head -n 1"
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, timeout=CAP, check=True
    )
    assert (done.stdout, done.stderr) == ("Tools (10)\n", "")


def test_tools_with_scopes_are_called_as_a_principal() -> None:
    words = ["--as", "anna", "--scope", "notes:write"]
    assert dovetail("call", SURVEY, "write", *words).stdout == "anna\n"
    assert "write()" in dovetail("list", SURVEY, *words).stdout
    assert "write()" not in dovetail("list", SURVEY).stdout
    hidden = dovetail("call", SURVEY, "write", "--as", "bert")
    assert hidden.exit_code == 2
    assert "'write' needs scopes: --as NAME --scope notes:write" in hidden.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([SURVEY, "--scope", "a"], "--scope needs --as NAME"),
        ([SURVEY, "--as", "anna", "--stdio"], "--as needs a FILE.py without --stdio"),
        (["http://127.0.0.1:9/mcp", "--as", "anna"], "--as needs a FILE.py without --stdio"),
        ([SURVEY, "--as", "", "--scope", "a"], "a principal needs an id"),
        ([SURVEY, "--as", "anna", "--scope", "a b"], "--scope: a scope is printable ASCII"),
    ],
)
def test_a_principal_that_cannot_be_used_is_refused(words: list[str], told: str) -> None:
    result = dovetail("list", *words)
    assert result.exit_code == 2
    assert told in result.stderr
