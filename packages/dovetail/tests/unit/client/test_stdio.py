"""Servers as child processes: start, exit and shutdown."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from dovetail.client import Client, stdio
from dovetail.client.stdio import Command, StdioChannel
from dovetail.errors import TransportError
from tests.patience import CAP, pass_time
from tests.peers.scripted import run

# Answers discover, then does what its argument says when it is asked anything else.
SERVER = """
import json, os, signal, subprocess, sys, time
what = sys.argv[1]
if what == "dies-at-once":
    sys.exit("cannot find my configuration")
def say(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
def answer(id, result):
    say(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}))
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        info = {"name": "s", "version": os.environ.get("SERVER_VERSION", "1")}
        caps = {"tools": {}}
        answer(message["id"], {"protocolVersion": "2025-11-25", "capabilities": caps,
                               "serverInfo": info})
    elif message["method"] == "server/discover":
        if what == "hangs-up":
            sys.exit(0)
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        found["_meta"] = {"cwd": os.getcwd()}
        answer(message["id"], found)
    elif message["method"] == "tools/call":
        if what == "exits":
            print("first\\nlast words", file=sys.stderr)
            os._exit(3)
        if what == "is-killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "closes-output":
            sys.stdout.flush()
            os.close(1)
        if what == "chatters":
            say("Hello there")
            say("")
            say('{"jsonrpc": "2.0"')
            answer(message["id"], {"content": [{"type": "text", "text": "\\u2028 ok"}]})
"""
STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    time.sleep(3600)
"""
DEAF = """
import os, signal, time
def leave(number, frame):
    # Not printed: the signal may arrive while "ready" is printed.
    os.write(1, b"told to leave\\n")
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
print("ready", flush=True)
while True:
    time.sleep(3600)
"""
POLITE = """
import signal, sys
signal.signal(signal.SIGTERM, lambda number, frame: print("told to leave", flush=True))
print("ready", flush=True)
sys.stdin.read()
print("bye", flush=True)
"""
LEAVES_A_CHILD_BEHIND = """
import subprocess, sys
print(subprocess.Popen(["sleep", "3600"]).pid, flush=True)
sys.stdin.read()
"""


def command(what: str) -> list[str]:
    return [sys.executable, "-c", SERVER, what]


async def call(what: str) -> str:
    async with Client(command(what), timeout=CAP) as client:
        return (await client.call("t")).text


def test_lines_that_are_not_messages_are_ignored() -> None:
    assert run(call("chatters")) == "\u2028 ok"


def test_the_error_for_an_exited_process_has_its_code_and_stderr() -> None:
    with pytest.raises(TransportError, match=r"exited with code 3(?s:.*)first\nlast words"):
        run(call("exits"))


def test_the_error_for_a_killed_process_names_the_signal() -> None:
    with pytest.raises(TransportError, match="was killed by SIGKILL"):
        run(call("is-killed"))


def test_a_process_that_closes_its_output_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "_EXIT_SECONDS", 0.01)
    with pytest.raises(TransportError, match="closed its output"):
        run(call("closes-output"))


def test_the_error_for_a_server_that_exits_at_once_has_its_stderr() -> None:
    with pytest.raises(
        TransportError, match=r"exited with code 1(?s:.*)cannot find my configuration"
    ):
        run(call("dies-at-once"))


def test_all_pending_requests_fail_when_the_process_ends() -> None:
    async def call_twice() -> list[BaseException | object]:
        async with Client(command("exits"), timeout=CAP) as client:
            calls = (client.call("t"), client.call("t"))
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            with pytest.raises(TransportError, match="exited with code 3"):
                await client.call("t")
            return list(outcomes)

    assert [type(outcome) for outcome in run(call_twice())] == [TransportError, TransportError]


def test_a_legacy_server_that_exits_on_the_probe_is_restarted() -> None:
    async def open_it() -> str:
        async with Client(command("hangs-up"), timeout=CAP) as client:
            return client.revision

    assert run(open_it()) == "2025-11-25"


def test_the_process_gets_environment_and_directory(tmp_path: Path) -> None:
    async def look() -> tuple[str, str]:
        env = {"SERVER_VERSION": "7"}
        async with Client(command(""), mode="legacy", timeout=CAP, env=env) as client:
            assert client.server_info is not None
            version = client.server_info.version
        async with Client(command(""), cwd=tmp_path, timeout=CAP) as client:
            found = await client.request("server/discover")
            return version, found["_meta"]["cwd"]

    version, folder = run(look())
    assert (version, Path(folder)) == ("7", tmp_path.resolve())


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["no-such-command-anywhere"], "does not exist or is not on the PATH"),
        (["/etc/passwd"], "is not executable"),
        (["a\0b"], "null byte"),
    ],
)
def test_a_command_that_cannot_be_started_is_explained(argv: list[str], why: str) -> None:
    async def start() -> None:
        async with Client(argv):
            pytest.fail("was started")

    with pytest.raises(TransportError, match=f"Could not start(?s:.*){why}"):
        run(start())


def is_running(pid: int) -> bool:
    """Whether it runs; one that nobody has buried yet does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        status = Path(f"/proc/{pid}/stat").read_bytes()
    except FileNotFoundError:
        # Not Linux, or it has ended meanwhile.
        return not Path("/proc").exists()
    return status.rpartition(b") ")[2][:1] != b"Z"


async def until_gone(pid: int) -> None:
    """A process that was killed takes its time to die, on a machine that is busy."""
    while is_running(pid):
        await asyncio.sleep(0.01)


async def start_and_close(code: str, grace: float, *, skip_first: bool = False) -> list[bytes]:
    """Start a process, wait until it says something, close; all that it said.

    `skip_first` lets the first grace period, before SIGTERM, pass at once.
    """
    ready = asyncio.Event()
    said: list[bytes] = []

    def hear(line: bytes, message: object = None) -> None:
        said.append(line)
        ready.set()

    channel = StdioChannel(Command([sys.executable, "-c", code]), grace=grace)
    await channel.open(hear, lambda _: None)
    await ready.wait()
    closing = asyncio.create_task(channel.close())
    await asyncio.sleep(0)
    if skip_first:
        pass_time(grace)
    await closing
    await channel.close()
    with pytest.raises(TransportError, match="closed"):
        await channel.send(b"{}")
    return said


def test_a_process_that_ignores_everything_is_killed() -> None:
    (pid,) = run(start_and_close(STUBBORN, grace=0))
    # Not even a zombie is left.
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_a_process_that_ignores_eof_gets_sigterm() -> None:
    assert run(start_and_close(DEAF, 60, skip_first=True)) == [b"ready", b"told to leave"]


def test_a_grandchild_that_holds_the_pipes_is_stopped() -> None:
    (pid,) = run(start_and_close(LEAVES_A_CHILD_BEHIND, 0.1))
    run(until_gone(int(pid)))


def test_a_process_that_exits_on_eof_gets_no_signal() -> None:
    # More time than a test has: a signal, if one comes, comes before the input is closed.
    assert run(start_and_close(POLITE, CAP)) == [b"ready", b"bye"]


def test_stderr_can_be_echoed(capfd: pytest.CaptureFixture[str]) -> None:
    async def chat() -> None:
        with pytest.raises(TransportError):
            async with Client(command("exits"), timeout=CAP, echo_stderr=True) as client:
                await client.call("t")

    run(chat())
    assert "last words" in capfd.readouterr().err
