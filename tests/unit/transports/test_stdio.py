"""stdio with real processes: only messages on stdout, whole lines, and a clean end."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from tests.unit.talk import MODERN, Json, request, text_of

SERVER = str(Path(__file__).with_name("stdio_server.py"))
TIME = 10


@contextlib.contextmanager
def started(stdin: Any = -1, stdout: Any = -1, **options: Any) -> Iterator[Process]:
    popen = subprocess.Popen(
        [sys.executable, SERVER, json.dumps(options)],
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.PIPE,
        bufsize=0,
    )
    process = Process(popen)
    try:
        yield process
    finally:
        popen.kill()
        popen.wait()
        for stream in (popen.stdin, popen.stdout, popen.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class Process:
    """A server process, and what a client does with it."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self.popen = popen
        self._held = b""

    def send(self, *messages: bytes) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(b"".join(message + b"\n" for message in messages))

    def line(self) -> bytes:
        assert self.popen.stdout is not None
        return self._line_of(self.popen.stdout)

    def _line_of(self, stream: IO[bytes]) -> bytes:
        while b"\n" not in self._held:
            ready, _, _ = select.select([stream], [], [], TIME)
            assert ready, "the server says nothing"
            piece = os.read(stream.fileno(), 1 << 20)
            assert piece, "the server has closed stdout"
            self._held += piece
        line, _, self._held = self._held.partition(b"\n")
        return line

    def answer(self) -> Json:
        message: Json = json.loads(self.line())
        return message

    def answers(self, count: int) -> dict[Any, Json]:
        found = [self.answer() for _ in range(count)]
        return {message["id"]: message for message in found}

    def wait_until_napping(self) -> None:
        assert self.popen.stderr is not None
        ready, _, _ = select.select([self.popen.stderr], [], [], TIME)
        assert ready
        assert b"napping" in self.popen.stderr.readline()

    def close_stdin(self) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.close()

    def rest(self) -> tuple[list[Json], str]:
        """Everything else it says on both streams, and the end."""
        assert self.popen.stdout is not None
        assert self.popen.stderr is not None
        out = self._held + self.popen.stdout.read()
        assert out == b"" or out.endswith(b"\n")
        return [json.loads(line) for line in out.splitlines()], self.popen.stderr.read().decode()


def tool(name: str, id: int | str = 1, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments}
    return request("tools/call", params, id=id, revision=MODERN)


def ended(process: Process) -> int:
    return process.popen.wait(TIME)


# -- lines ------------------------------------------------------------------------------------


def test_messages_are_lines_of_utf8_and_the_last_needs_no_newline() -> None:
    with started() as process:
        process.send(tool("echo", text="Grüße, 世界 🎉\n"))
        line = process.line()
        assert "Grüße, 世界 🎉\\n".encode() in line
        assert text_of(json.loads(line)["result"]) == "Grüße, 世界 🎉\n"
        escaped = tool("echo", 2, text="ü").decode().replace("ü", "\\u00fc").encode()
        process.send(b"", b"  \t", escaped + b"\r")
        assert text_of(process.answer()["result"]) == "ü"
        assert process.popen.stdin is not None
        process.popen.stdin.write(tool("echo", 3, text="end"))
        process.close_stdin()
        answers, errors = process.rest()
        assert [answer["id"] for answer in answers] == [3]
        assert ended(process) == 0
        assert errors == ""


def test_bytes_that_are_no_utf8_are_answered_and_the_stream_goes_on() -> None:
    with started() as process:
        process.send(b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', tool("echo", 2, text="on"))
        assert process.answer()["error"]["code"] == -32700
        assert text_of(process.answer()["result"]) == "on"


def test_a_line_over_the_limit_is_refused_with_the_limit_and_the_stream_goes_on() -> None:
    with started(max_message_bytes=1000) as process:
        process.send(tool("echo", 1, text="x" * 5000), tool("echo", 2, text="on"))
        refused = process.answer()
        assert refused["error"]["code"] == -32600
        assert "is over the limit of 1,000" in refused["error"]["message"]
        assert text_of(process.answer()["result"]) == "on"
        assert process.popen.stdin is not None
        process.popen.stdin.write(b"y" * 2000)
        process.close_stdin()
        [last], _ = process.rest()
        assert "a message of 2,000 bytes" in last["error"]["message"]
        assert ended(process) == 0


# -- the standard streams belong to the protocol ------------------------------------------------


def test_nothing_that_a_handler_writes_reaches_stdout() -> None:
    with started() as process:
        process.send(tool("print_everywhere"))
        assert text_of(process.answer()["result"]) == "printed"
        process.close_stdin()
        answers, errors = process.rest()
        assert answers == []
        for how in ("print", "write", "dunder", "descriptor", "child"):
            assert f"stray {how}" in errors
        assert ended(process) == 0


def test_a_handler_that_reads_stdin_gets_its_end_and_takes_no_message() -> None:
    with started() as process:
        process.send(tool("read_stdin", 1), tool("echo", 2, text="still here"))
        answers = process.answers(2)
        assert text_of(answers[1]["result"]) == "'' b'' b''"
        assert text_of(answers[2]["result"]) == "still here"


# -- many at once -----------------------------------------------------------------------------


def test_big_answers_of_many_calls_are_never_mixed() -> None:
    count, size = 200, 100_000
    with started() as process:
        calls = [tool("echo", id, text=f"{id:04}", times=size // 4) for id in range(count)]
        sender = threading.Thread(target=process.send, args=calls)
        sender.start()
        answers = process.answers(count)
        sender.join(TIME)
        assert answers.keys() == set(range(count))
        for id, answer in answers.items():
            assert text_of(answer["result"]) == f"{id:04}" * (size // 4)


def test_a_client_that_does_not_read_is_not_listened_to_and_gets_everything_later() -> None:
    # 10,000 answers of 64 KB are 640 MB; what waits in the server must stay a small part of it.
    count = 10_000
    with started() as process:
        process.send(tool("memory", "before"))
        before = int(text_of(process.answer()["result"]))
        calls = [tool("echo", id, text="x" * 16, times=4096) for id in range(count)]
        sender = threading.Thread(target=process.send, args=calls, daemon=True)
        sender.start()
        peak = before
        with contextlib.suppress(TimeoutError):
            # The sender is held up as soon as the server stops reading.
            peak = max(peak, settled_memory(process.popen.pid))
        assert sender.is_alive()
        assert peak - before < 200_000_000
        seen = set()
        for _ in range(count):
            seen.add(process.answer()["id"])
        assert seen == set(range(count))
        sender.join(TIME)
        assert not sender.is_alive()


def settled_memory(pid: int) -> int:
    """The memory of a process once it has stopped growing."""
    page = os.sysconf("SC_PAGE_SIZE")
    tick = threading.Event()
    last, quiet = -1, 0
    while quiet < 5:
        tick.wait(0.05)
        now = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        quiet = quiet + 1 if now == last else 0
        last = now
    return last


# -- the end ----------------------------------------------------------------------------------


def test_at_the_end_of_input_calls_in_flight_are_answered_within_the_grace() -> None:
    with started(grace=5.0) as process:
        process.send(tool("nap", seconds=0.05))
        process.wait_until_napping()
        process.close_stdin()
        [answer], _ = process.rest()
        assert text_of(answer["result"]) == "rested"
        assert ended(process) == 0


def test_calls_that_take_longer_than_the_grace_are_dropped() -> None:
    with started(grace=0.05) as process:
        process.send(tool("nap", seconds=60))
        process.wait_until_napping()
        process.close_stdin()
        assert process.rest()[0] == []
        assert ended(process) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_like_the_end_of_input(number: signal.Signals) -> None:
    with started(grace=5.0) as process:
        process.send(tool("nap", seconds=0.05))
        process.wait_until_napping()
        process.popen.send_signal(number)
        [answer], errors = process.rest()
        assert text_of(answer["result"]) == "rested"
        assert errors == ""
        assert ended(process) == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with started(grace=60.0) as process:
        process.send(tool("nap", 1, seconds=60))
        process.wait_until_napping()
        process.popen.send_signal(signal.SIGTERM)
        # A line that is answered shows that the first signal was seen: nothing is read after it.
        while process.popen.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.popen.wait(0.05)
            process.popen.send_signal(signal.SIGTERM)
        assert ended(process) == 128 + signal.SIGTERM


def test_a_handler_that_never_returns_does_not_keep_the_process() -> None:
    with started(grace=0.05) as process:
        process.send(tool("hang"))
        process.wait_until_napping()
        process.close_stdin()
        assert process.rest()[0] == []
        assert ended(process) == 0


def test_a_client_that_is_gone_ends_it_quietly() -> None:
    with started(grace=0.05) as process:
        process.send(tool("echo", 1, text="hi"))
        process.line()
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        process.send(tool("echo", 2, text="anyone?"))
        assert ended(process) == 0
        assert process.popen.stderr is not None
        assert process.popen.stderr.read() == b""


def test_a_client_that_goes_while_much_waits_for_it_ends_it_quietly() -> None:
    with started(grace=0.05) as process:
        process.send(*(tool("echo", id, text="x" * 100, times=10_000) for id in range(5)))
        process.line()
        process.close_stdin()
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        assert ended(process) == 0
        assert process.popen.stderr is not None
        assert process.popen.stderr.read() == b""


# -- what the streams may be ------------------------------------------------------------------


def test_files_may_be_both_ends(tmp_path: Path) -> None:
    calls = [tool("echo", id, text=str(id)) for id in range(500)]
    (tmp_path / "in").write_bytes(b"\n".join(calls))
    with (tmp_path / "in").open("rb") as stdin, (tmp_path / "out").open("wb") as stdout:
        with started(stdin, stdout) as process:
            assert ended(process) == 0
    answers = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert {answer["id"] for answer in answers} == set(range(500))


def test_a_file_may_be_read_into_a_slow_pipe(tmp_path: Path) -> None:
    calls = [tool("echo", id, text="x" * 100, times=1000) for id in range(100)]
    (tmp_path / "in").write_bytes(b"\n".join(calls))
    with (tmp_path / "in").open("rb") as stdin, started(stdin, grace=10.0) as process:
        assert process.answers(100).keys() == set(range(100))
        assert ended(process) == 0


def test_devnull_is_an_empty_file() -> None:
    with started(subprocess.DEVNULL, subprocess.DEVNULL) as process:
        assert ended(process) == 0


def test_one_socket_may_be_both_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(TIME)
        with theirs:
            process_of = started(theirs, theirs)
            process = process_of.__enter__()
        try:
            count = 50
            calls = [tool("echo", id, text="x" * 100, times=1000) for id in range(count)]
            ours.sendall(b"".join(call + b"\n" for call in calls))
            with ours.makefile("rb") as lines:
                found = {json.loads(lines.readline())["id"] for _ in range(count)}
            assert found == set(range(count))
            ours.shutdown(socket.SHUT_WR)
            assert ended(process) == 0
        finally:
            process_of.__exit__(None, None, None)
