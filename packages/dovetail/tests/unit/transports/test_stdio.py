"""stdio with real processes: only messages on stdout, whole lines, and a clean end."""

from __future__ import annotations

import asyncio
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

from dovetail import Server
from dovetail.transports.stdio import LineReader, LineWriter, _signals
from tests.patience import CAP
from tests.unit.talk import MODERN, Json, request, run, text_of, turn

SERVER = str(Path(__file__).with_name("stdio_server.py"))


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
        if popen.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                popen.stdin.close()
            popen.wait(CAP)
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
            ready, _, _ = select.select([stream], [], [], CAP)
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
        ready, _, _ = select.select([self.popen.stderr], [], [], CAP)
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
    return process.popen.wait(CAP)


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
        assert "is over the limit of 1,000 bytes" in refused["error"]["message"]
        assert text_of(process.answer()["result"]) == "on"
        assert process.popen.stdin is not None
        process.popen.stdin.write(b"y" * 2000)
        process.close_stdin()
        [last], _ = process.rest()
        assert "is over the limit of 1,000 bytes" in last["error"]["message"]
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
        sender.join(CAP)
        assert answers.keys() == set(range(count))
        for id, answer in answers.items():
            assert text_of(answer["result"]) == f"{id:04}" * (size // 4)


def test_a_client_that_does_not_read_is_not_listened_to_and_gets_everything_later() -> None:
    # 4,000 answers of 64 KB are 256 MB; what waits in the server must stay a part of it.
    count = 4000
    with started() as process:
        process.send(tool("echo", "first", text="hi"))
        process.line()
        before = peak_memory(process.popen.pid)
        calls = [tool("echo", id, text="x" * 16, times=4096) + b"\n" for id in range(count)]
        left = send_until_held_up(process, b"".join(calls))
        assert left, "everything was taken from a client that reads nothing"
        sender = threading.Thread(target=process.send, args=[left.removesuffix(b"\n")])
        sender.start()
        assert process.answers(count).keys() == set(range(count))
        sender.join(CAP)
        assert peak_memory(process.popen.pid) - before < 100_000_000


def send_until_held_up(process: Process, data: bytes) -> bytes:
    """Write until the server takes no more for a while; what is left."""
    assert process.popen.stdin is not None
    descriptor = process.popen.stdin.fileno()
    os.set_blocking(descriptor, False)
    while data:
        _, ready, _ = select.select([], [descriptor], [], 0.5)
        if not ready:
            break
        data = data[os.write(descriptor, data) :]
    os.set_blocking(descriptor, True)
    return data


def peak_memory(pid: int) -> int:
    """The most memory that a process ever had."""
    [line] = [
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) * 1024


# -- the end ----------------------------------------------------------------------------------


def test_at_the_end_of_input_calls_in_flight_are_answered_within_the_grace() -> None:
    with started(grace=CAP) as process:
        process.send(tool("nap", seconds=0.05))
        process.wait_until_napping()
        process.close_stdin()
        [answer], _ = process.rest()
        assert text_of(answer["result"]) == "rested"
        assert ended(process) == 0


def test_calls_that_take_longer_than_the_grace_are_dropped() -> None:
    with started(grace=0.05) as process:
        process.send(tool("nap", seconds=3600))
        process.wait_until_napping()
        process.close_stdin()
        assert process.rest()[0] == []
        assert ended(process) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_like_the_end_of_input(number: signal.Signals) -> None:
    with started(grace=CAP) as process:
        process.send(tool("nap", seconds=0.05))
        process.wait_until_napping()
        process.popen.send_signal(number)
        [answer], errors = process.rest()
        assert text_of(answer["result"]) == "rested"
        assert errors == ""
        assert ended(process) == 0


def test_calls_that_outlast_a_signal_are_refused() -> None:
    with started(grace=0.05) as process:
        process.send(tool("nap", seconds=3600))
        process.wait_until_napping()
        process.popen.send_signal(signal.SIGTERM)
        [refused], errors = process.rest()
        assert refused["error"]["code"] == -32603
        assert "shutting down" in refused["error"]["message"]
        assert errors == ""
        assert ended(process) == 0


def test_a_second_signal_ends_it_at_once() -> None:
    with started(grace=3600.0) as process:
        process.send(tool("nap", 1, seconds=3600))
        process.wait_until_napping()
        process.popen.send_signal(signal.SIGTERM)
        # Two signals that come at once may be one: nobody but the process knows when it saw one.
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
    with (
        (tmp_path / "in").open("rb") as stdin,
        (tmp_path / "out").open("wb") as stdout,
        started(stdin, stdout) as process,
    ):
        assert ended(process) == 0
    answers = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert {answer["id"] for answer in answers} == set(range(500))


def test_a_file_may_be_read_into_a_slow_pipe(tmp_path: Path) -> None:
    calls = [tool("echo", id, text="x" * 100, times=1000) for id in range(100)]
    (tmp_path / "in").write_bytes(b"\n".join(calls))
    with (tmp_path / "in").open("rb") as stdin, started(stdin, grace=CAP) as process:
        assert process.answers(100).keys() == set(range(100))
        assert ended(process) == 0


def test_devnull_is_an_empty_file() -> None:
    with started(subprocess.DEVNULL, subprocess.DEVNULL) as process:
        assert ended(process) == 0


def test_a_closed_stderr_is_no_obstacle() -> None:
    command = ["sh", "-c", 'exec "$0" "$1" "{}" 2>&-', sys.executable, SERVER]
    done = subprocess.run(
        command, input=tool("echo", text="hi") + b"\n", stdout=subprocess.PIPE, timeout=CAP
    )
    assert done.returncode == 0
    assert text_of(json.loads(done.stdout)["result"]) == "hi"


def test_one_socket_may_be_both_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(CAP)
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


# -- the two ends, without a process ------------------------------------------------------------


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                os.close(end)


def fill(descriptor: int) -> None:
    """Write until the pipe takes no more."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(descriptor, b"x" * 4096)


def test_a_full_pipe_is_waited_for() -> None:
    async def scenario() -> None:
        with pipe() as (ours, theirs):
            writer = LineWriter(theirs, asyncio.Event())
            fill(theirs)
            writer.send(b"late")
            await turn()
            flushed = asyncio.create_task(writer.flush(5))
            await turn()
            assert not flushed.done()
            held = b""
            while not held.endswith(b"late\n"):
                held += os.read(ours, 1 << 20)
                await turn()
            await flushed
            assert os.get_blocking(theirs)

    run(scenario())


def test_a_message_alone_is_written_at_once_and_one_behind_others_keeps_its_place() -> None:
    async def scenario() -> None:
        with pipe() as (ours, theirs):
            writer = LineWriter(theirs, asyncio.Event())
            writer.send_now(b"alone")
            assert os.read(ours, 100) == b"alone\n"
            writer.send(b"first")
            writer.send_now(b"second")
            await turn()
            assert os.read(ours, 100) == b"first\nsecond\n"
            await writer.flush(5)

    run(scenario())


def test_a_pipe_that_stays_full_is_given_up_in_the_end() -> None:
    async def scenario() -> None:
        with pipe() as (_, theirs):
            writer = LineWriter(theirs, asyncio.Event())
            fill(theirs)
            writer.send(b"never")
            await turn()
            await writer.flush(0)
            assert os.get_blocking(theirs)

    run(scenario())


def test_a_client_that_closed_its_end_ends_the_stream_and_nothing_more_is_kept() -> None:
    async def scenario() -> None:
        with pipe() as (ours, theirs):
            ended = asyncio.Event()
            writer = LineWriter(theirs, ended)
            os.close(ours)
            writer.send(b"anyone?")
            await ended.wait()
            writer.send(b"x" * 10_000_000)
            assert not writer.is_full
            await writer.drain()
            await writer.flush(5)

    run(scenario())


def test_reading_nothing_yet_is_no_end_and_a_broken_descriptor_is_one() -> None:
    async def scenario() -> None:
        with pipe() as (ours, theirs):
            connection = Server("s").connect(lambda message: None)
            writer, ended = LineWriter(theirs, asyncio.Event()), asyncio.Event()
            os.set_blocking(ours, False)
            LineReader(ours, connection, writer, 1000, ended)._read()
            assert not ended.is_set()
            LineReader(theirs, connection, writer, 1000, ended)._read()  # an end to write to
            assert ended.is_set()
            await connection.close()

    run(scenario())


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    entered: list[bool] = []

    async def scenario() -> None:
        stop = asyncio.Event()
        with _signals(asyncio.get_running_loop(), stop.set):
            entered.append(not stop.is_set())

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=asyncio.run, args=[scenario()])
    thread.start()
    thread.join(CAP)
    assert entered == [True]
    assert signal.getsignal(signal.SIGTERM) is before
