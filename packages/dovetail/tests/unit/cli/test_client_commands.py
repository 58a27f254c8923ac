"""`dovetail call`, `read` and `subscribe`, with messages and progress."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dovetail.cli.app import app
from dovetail.cli.client_runs import Conversation
from dovetail.client import Client
from dovetail.spec.models import ProgressParams
from tests.driving import serving_http
from tests.patience import CAP, pass_time
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


DOVETAIL = [sys.executable, "-m", "dovetail"]
URI = "pictures://dot"


def test_changes_are_printed_as_they_come() -> None:
    async def use() -> tuple[list[str], int | None]:
        async with (
            asyncio.timeout(CAP),
            serving_http([*DOVETAIL, "run", SURVEY, "--http", "0"]) as [url],
            Client(url) as client,
        ):
            words = [*DOVETAIL, "subscribe", url, URI, "--json", "--count", "2"]
            process = await asyncio.create_subprocess_exec(
                *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout is not None
            assert process.stderr is not None
            waiting = await process.stderr.readline()
            assert waiting == f"Waiting for changes of {URI}; press Ctrl-C to stop\n".encode()
            lines = []
            for _ in range(2):
                await client.call("touch", {"uri": URI})
                lines.append((await process.stdout.readline()).decode())
            return lines, await process.wait()

    lines, code = asyncio.run(use())
    assert [json.loads(line) for line in lines] == [{"kind": "resource", "uri": URI}] * 2
    assert code == 0


def test_ctrl_c_ends_the_command() -> None:
    with open_terminal("subscribe", SURVEY) as terminal:
        terminal.expect("Waiting for changes of tools, prompts, resources; press Ctrl-C to stop")
        terminal.press("C")
        assert terminal.wait() == 130
    assert terminal.output.count("\n") == 2


def test_a_terminal_shows_a_bar_and_log_messages_above_it() -> None:
    with open_terminal("call", SURVEY, "work") as terminal:
        assert terminal.wait() == 0
    first = terminal.output.index("1/4 first \\x1b[31mstep")
    log = terminal.output.index("[info] half\\x1bway")
    third = terminal.output.index("3/4 third step")
    assert first < log < third
    assert "━" in terminal.output
    assert terminal.output.rstrip().endswith("done")


def test_a_pipe_gets_lines_without_colours() -> None:
    result = CliRunner().invoke(app, ["call", SURVEY, "work"], obj=[])
    assert result.stdout == "done\n"
    assert result.stderr == "[1/4] first step\n[info] half\x1bway\n[3/4] third step\n"


def test_ctrl_c_during_a_call_ends_the_command() -> None:
    with open_terminal("call", SURVEY, "wait", "--stdio") as terminal:
        terminal.expect("[info] waiting")
        terminal.press("C")
        assert terminal.wait() == 130
    assert "Traceback" not in terminal.output


def test_the_time_limit_of_a_call_is_named_with_its_option() -> None:
    result = dovetail("call", SURVEY, "wait", "--timeout", "0.5")
    assert result.exit_code == 1
    assert result.stderr.endswith(
        "The server did not answer tools/call within 0.5 s; to wait longer: --timeout SECONDS\n"
    )


def test_progress_starts_the_time_limit_of_a_call_again() -> None:
    async def use() -> None:
        conversation = Conversation()

        async def request(*, timeout: float) -> str:
            for number in range(3):
                pass_time(900)
                conversation.show_progress(ProgressParams(progress_token=1, progress=number))
                await asyncio.sleep(0)
            pass_time(1100)
            await asyncio.Event().wait()
            return ""

        await conversation.wait("tools/call", 1000, request)

    with pytest.raises(TimeoutError, match="within 1000 s of its last progress"):
        asyncio.run(use())


PHOTOS = """
from dovetail import Context, Image, Server

server = Server("photos")


@server.tool
async def upload(data: bytes, ctx: Context) -> str:
    ctx.log.info({"message": "working", "step": 0, "tags": ["a"]})
    return str(len(data))


@server.tool
def picture(text: str = "") -> list[str | Image]:
    return ["a dot", Image(b"\\x89PNG\\xff", "image/png")]


@server.tool
def nothing() -> str:
    return "no picture"
"""


def test_binary_data_comes_from_a_file_and_goes_to_one(tmp_path: Path) -> None:
    server, data, saved = (tmp_path / name for name in ("photos.py", "a.bin", "b.png"))
    server.write_text(PHOTOS)
    data.write_bytes(b"\x89\xff\x00")
    uploaded = dovetail("call", str(server), "upload", f"data=@{data}")
    assert (uploaded.stdout, uploaded.exit_code) == ("3\n", 0)
    # A log message is text, not a Python object.
    assert uploaded.stderr == '[info] working step=0 tags=["a"]\n'
    got = dovetail("call", str(server), "picture", "-o", str(saved))
    assert got.stdout == "a dot\n"
    assert got.stderr == f"Saved 5 bytes in {saved}\n"
    assert saved.read_bytes() == b"\x89PNG\xff"
    missing = dovetail("call", str(server), "nothing", "-o", str(saved))
    assert missing.exit_code == 1
    assert "-o: the result has 0 images" in missing.stderr


def test_a_log_message_does_not_leave_a_copy_of_the_bar() -> None:
    with open_terminal("call", SURVEY, "work") as terminal:
        assert terminal.wait() == 0
    log = terminal.output.index("[info] half")
    # The line of the bar is erased before the message is written.
    line = terminal.output[:log].rpartition("\n")[2].rpartition("\r")[2]
    assert "━" not in line
