"""The commands: their output and exit codes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from dovetail.cli import main
from dovetail.cli.app import app
from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.errors import UsageError
from dovetail.wire import codec
from tests.patience import CAP

FILE = str(Path(__file__).parents[2] / "peers" / "own_server.py")
SDK = [sys.executable, str(Path(__file__).parents[2] / "peers" / "sdk_server.py")]


@pytest.fixture(autouse=True)
def clean_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(Path.cwd())
    monkeypatch.setenv("CHATTER", "calm")
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("dovetail_file_"):
            del sys.modules[name]


def dovetail(*words: str, command: list[str] | None = None) -> Result:
    return CliRunner().invoke(app, list(words), obj=command or [])


def json_of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return codec.decode_json(result.stdout.encode())


def test_list_shows_all_kinds() -> None:
    result = dovetail("list", FILE)
    assert result.exit_code == 0
    for text in (
        "Tools (10)",
        "add(a: int, b: int = 1) -> int",
        "Add two numbers.",
        "Prompts (1)",
        "review(code, tone?)",
        "memo://days/{day}",
        "Capabilities  tools (listChanged)",
    ):
        assert text in result.stdout
    assert "no table shows" not in result.stdout
    listed = json_of(dovetail("list", FILE, "--json"))
    assert [tool["name"] for tool in listed["tools"]][:2] == ["add", "profile"]
    assert listed["templates"][0]["uriTemplate"] == "memo://days/{day}"


def test_call_prints_text_and_structured_content_once() -> None:
    assert dovetail("call", FILE, "add", "a=2", "b=40").stdout == "42\n"
    result = dovetail("call", FILE, "profile", "name=Ann", "tags=a", "tags=b", "age=7")
    assert codec.decode_json(result.stdout.encode()) == {
        "name": "Ann",
        "tags": ["a", "b"],
        "age": 7,
    }
    assert dovetail("call", FILE, "picture").stdout == "[image/png, 4.0 kB]\nthere\n"
    assert dovetail("call", FILE, "add", "--args", '{"a": 2, "b": 3}', "b=1").stdout == "3\n"


@pytest.mark.parametrize("mode", ["legacy", "2024-11-05", "modern"])
def test_call_supports_every_revision(mode: str) -> None:
    assert dovetail("call", FILE, "add", "a=1", "--mode", mode).stdout == "2\n"


def test_call_prints_the_raw_result_as_json() -> None:
    result = json_of(dovetail("call", FILE, "add", "a=1", "--json"))
    assert result["content"] == [{"type": "text", "text": "2"}]


def test_a_failed_tool_sets_exit_code_1() -> None:
    result = dovetail("call", FILE, "fail", "why=because")
    assert (result.exit_code, result.stdout) == (1, "because\n")
    assert dovetail("call", FILE, "fail", "why=because", "--json").exit_code == 1


def test_progress_goes_to_stderr() -> None:
    result = dovetail("call", FILE, "climb", "steps=2")
    assert result.stdout == "top\n"
    assert result.stderr == "[1/2] step 1\n[2/2] step 2\n"


def test_server_output_goes_to_stderr() -> None:
    result = dovetail("call", FILE, "chatter")
    assert result.stdout == f"calm in {Path.cwd()}\n"
    assert "a stray line" in result.stderr


@pytest.mark.parametrize("stdio", [[], ["--stdio"]])
def test_the_server_gets_environment_and_directory(tmp_path: Path, stdio: list[str]) -> None:
    options = ["--env", "CHATTER=loud", "--cwd", str(tmp_path), *stdio]
    result = dovetail("call", FILE, "chatter", *options)
    assert result.stdout == f"loud in {tmp_path.resolve()}\n"


def test_inspect_shows_the_server_and_its_revisions() -> None:
    result = dovetail("inspect", FILE)
    assert result.exit_code == 0
    for text in (
        "own 1.0",
        "Our own",
        "2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28",
        "10 tools, 1 prompt, 1 resource, 1 template",
        "Use add for sums.",
    ):
        assert text in result.stdout
    facts = json_of(dovetail("inspect", FILE, "--json"))
    assert facts["server"]["name"] == "own"
    assert len(facts["revisions"]) == 5


@pytest.mark.slow
def test_a_command_after_two_dashes_is_a_target() -> None:
    assert dovetail("call", "add", "a=1", command=SDK).stdout == "2\n"
    assert dovetail("call", " ".join(SDK), "add", "a=1").stdout == "2\n"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["list"], 2, "Missing target; expected FILE.py"),
        (["list", "nope.py"], 2, "There is no file 'nope.py'"),
        (["list", f"{FILE}:nope"], 2, "has no Server named 'nope'"),
        (["list", "http://127.0.0.1:9/mcp"], 4, "Could not connect"),
        (["list", "no-such-command-anywhere"], 4, "Could not start"),
        (["list", FILE, "--mode", "old"], 2, "Unknown mode 'old'; allowed: auto"),
        (["list", FILE, "--timeout", "0"], 2, "--timeout"),
        (["list", FILE, "--env", "X"], 2, "expected NAME=VALUE"),
        (["call", FILE], 2, "usage: dovetail call TARGET TOOL"),
        (["call", FILE, "ad"], 2, "no tool 'ad'; did you mean 'add'?"),
        (["call", FILE, "zzz"], 2, "no tool 'zzz'. Available tools: add,"),
        (["call", FILE, "add", "a=x"], 2, "a: expected integer, got 'x'"),
        (["call", FILE, "add", "--args", "["], 2, "--args"),
        (["run"], 2, "FILE[:NAME]"),
        (["frobnicate"], 2, "No such command"),
    ],
)
def test_errors_are_one_line_without_a_traceback(words: list[str], code: int, told: str) -> None:
    result = dovetail(*words)
    assert result.exit_code == code
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_a_file_that_fails_to_load_sets_exit_code_4(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("raise LookupError('lost')\n")
    assert dovetail("list", str(file)).exit_code == 4
    assert main(["run", str(file)]) == 4
    assert main(["run", "nope.py"]) == 2


def test_two_dashes_are_cut_off_before_click_sees_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["list", "--", "no-such-command-anywhere", "--mode", "x"])
    assert ended.value.code == 4
    assert "'no-such-command-anywhere --mode x'" in capsys.readouterr().err


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("dovetail, version ")


RUN = [sys.executable, "-X", "importtime", "-m", "dovetail", "run", FILE]


def test_run_serves_without_importing_what_it_does_not_need() -> None:
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(RUN, input=ping, capture_output=True, text=True, timeout=CAP, check=True)
    assert codec.decode_json(done.stdout.encode())["id"] == 1
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "dovetail.transports.stdio" in imported
    assert not imported & {"click", "rich", "dovetail.client", "importlib.metadata", "pydantic"}


def test_a_failure_ends_the_command_with_its_message_and_exit_code() -> None:
    @click.command()
    def command() -> None:
        raise Failure("the port is taken", COULD_NOT_START)

    said = CliRunner().invoke(command)
    assert said.exit_code == COULD_NOT_START
    assert said.output == "dovetail: the port is taken\n"


def test_the_text_of_a_server_cannot_rewrite_the_terminal() -> None:
    @click.command()
    def command() -> None:
        raise Failure("gone\x1b[2J\x9b1m\nbut\there", COULD_NOT_START)

    said = CliRunner().invoke(command, color=True)
    assert said.output == "dovetail: gone\\x1b[2J\\x9b1m\nbut\there\n"


def test_wrong_usage_is_a_failure_and_a_value_passes() -> None:
    def complain() -> None:
        raise UsageError("no such thing")

    assert or_fail(lambda: 5) == 5
    with pytest.raises(Failure, match="no such thing") as caught:
        or_fail(complain)
    assert caught.value.exit_code == WRONG_USAGE


def test_the_help_has_groups_and_whole_summaries() -> None:
    text = CliRunner().invoke(app, ["--help"], terminal_width=80).stdout
    titles = ["Serving:", "Using servers:", "Checking:", "Operations:"]
    places = [text.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    assert "..." not in text[places[0] :]
    for name in app.list_commands(click.Context(app)):
        assert text.count(f"\n  {name} ") == 1, name


def test_errors_of_options_look_like_all_others() -> None:
    result = CliRunner().invoke(app, ["run", "x.py", "--prot", "8000"], obj=[])
    assert result.exit_code == 2
    assert result.stderr.startswith("dovetail: No such option")
    assert "--port" in result.stderr
    assert result.stderr.endswith("run --help\n")
    unknown = CliRunner().invoke(app, ["rnu", "x.py"], obj=[])
    assert unknown.stderr.startswith("dovetail: No such command 'rnu'")
