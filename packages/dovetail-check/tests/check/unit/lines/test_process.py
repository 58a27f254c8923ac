from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable
from textwrap import dedent

import pytest

from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.lines.line import LineError, Outgoing, Place
from dovetail_check.lines.process import ProcessLine
from dovetail_check.recording import Recording

ECHO = """
    import json, sys
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""


def ask(id: object, method: str = "ping", **more: object) -> Outgoing:
    text = f'{{"jsonrpc":"2.0","id":{id!r},"method":"{method}"}}'.replace("'", '"')
    return Outgoing(text.encode(), method, (id,), **more)  # type: ignore[arg-type]


def drive(
    script: str,
    work: Callable[[ProcessLine], Awaitable[None]] | None = None,
    *,
    patience: float = 5.0,
) -> list[Frame]:
    """Run a script at the end of a line, and give back what was kept."""
    recording = Recording()

    async def main() -> None:
        place = Place(recording, "stdio test", "main")
        line = ProcessLine(place, [sys.executable, "-c", dedent(script)], patience=patience)
        async with asyncio.timeout(15):
            await line.open()
            try:
                if work is not None:
                    await work(line)
            finally:
                await line.close()

    asyncio.run(main())
    # A transport that was left open says so when it is collected.
    gc.collect()
    return recording.frames


def lines_in(frames: list[Frame]) -> list[bytes]:
    return [frame.data for frame in frames if frame.kind == "received"]


def test_answers_are_found_by_their_ids() -> None:
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.extend(await asyncio.gather(*(line.send(ask(id)) for id in (1, "1", 2))))

    drive(ECHO, work)
    assert [exchange.answer and exchange.answer.message["id"] for exchange in found] == [1, "1", 2]


def test_an_answer_with_an_id_of_another_type_is_still_found() -> None:
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.append(await line.send(ask(7)))

    drive(ECHO.replace('message["id"]', 'str(message["id"])'), work)
    assert found[0].answer is not None
    assert found[0].answer.message["id"] == "7"


def test_everything_on_stdout_is_kept_from_start_to_end() -> None:
    script = """
        import sys
        print("starting", flush=True)
        print(flush=True)
        sys.stdin.read()
        sys.stdout.write("over")
    """
    assert lines_in(drive(script)) == [b"starting", b"", b"over"]


def test_bytes_that_are_no_utf8_are_kept_as_they_came() -> None:
    script = r"""
        import sys
        sys.stdout.buffer.write(b'{"caf\xe9": 1}\r\n')
    """
    frames = drive(script)
    assert lines_in(frames) == [b'{"caf\xe9": 1}\r']
    assert [frame.base64 is not None for frame in frames if frame.kind == "received"] == [True]


def test_a_message_over_several_lines_is_kept_line_by_line() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}, indent=1), flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.append(await line.send(ask(1, timeout=0.5)))

    frames = drive(script, work)
    assert lines_in(frames)[0] == b"{"
    assert len(lines_in(frames)) == 5
    assert found[0].is_silent


def test_a_long_line_comes_out_whole() -> None:
    script = """
        import sys
        sys.stdin.readline()
        text = "x" * 3_000_000
        print('{"jsonrpc": "2.0", "id": 1, "result": {"text": "' + text + '"}}', flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.append(await line.send(ask(1)))

    drive(script, work)
    assert found[0].result is not None
    assert len(found[0].result["text"]) == 3_000_000


def test_stderr_is_kept_beside() -> None:
    frames = drive("import sys; print('a word', file=sys.stderr)")
    assert [frame.data for frame in frames if frame.kind == "stderr"] == [b"a word"]


def test_a_process_that_ends_answers_nothing_any_more() -> None:
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.append(await line.send(ask(1)))
        assert not line.is_open
        found.append(await line.send(ask(2)))

    frames = drive("import sys; sys.stdin.readline(); sys.exit(3)", work)
    assert found[0].failure == "the process ended with status 3"
    assert found[1].failure == "the process has ended"
    assert [frame.status for frame in frames if frame.kind == "ended"] == [3]


def test_the_end_of_stdin_and_of_the_process_are_kept() -> None:
    frames = drive(ECHO)
    assert [frame.kind for frame in frames] == ["started", "closed", "ended"]
    assert frames[-1].status == 0


def test_a_process_that_does_not_end_is_ended() -> None:
    async def work(line: ProcessLine) -> None:
        await line.send(ask(1))

    frames = drive(f"{dedent(ECHO)}\nimport time; time.sleep(600)", work, patience=0.2)
    kinds = [frame.kind for frame in frames]
    assert kinds == ["started", "sent", "received", "closed", "silence", "ended"]
    assert frames[-1].status == -signal.SIGTERM


@pytest.mark.slow
def test_a_process_that_ignores_signals_is_ended_all_the_same() -> None:
    async def work(line: ProcessLine) -> None:
        # It ignores them before it answers.
        await line.send(ask(1))

    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    frames = drive(f"{deaf}\n{dedent(ECHO)}\ntime.sleep(600)", work, patience=0.1)
    assert frames[-1].kind == "ended"
    assert frames[-1].status == -signal.SIGKILL


@pytest.mark.slow
def test_children_that_hold_the_pipes_end_with_the_process() -> None:
    async def main() -> None:
        over = asyncio.Event()
        connected = asyncio.Event()

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connected.set()
            await reader.read()
            writer.close()
            over.set()

        listener = await asyncio.start_server(take, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        connect = f"s = socket.create_connection(('127.0.0.1', {port}))"
        child = f"import socket, time; {connect}; time.sleep(600)"
        start = f"subprocess.Popen([sys.executable, '-c', {child!r}])"
        script = f"import subprocess, sys; {start}; sys.stdin.read()"
        place = Place(Recording(), "stdio test", "main")
        line = ProcessLine(place, [sys.executable, "-c", script])
        async with asyncio.timeout(15):
            await line.open()
            await connected.wait()
            await line.close()
            await over.wait()
        listener.close()
        assert [frame.kind for frame in place.recording.frames][-1] == "ended"

    asyncio.run(main())
    gc.collect()


def test_what_the_server_asks_is_answered() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        print('{"jsonrpc": "2.0", "id": "q", "method": "roots/list"}', flush=True)
        got = json.loads(sys.stdin.readline())
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": got}), flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        line.asked = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        found.append(await line.send(ask(1)))

    frames = drive(script, work)
    assert found[0].result == {"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}
    assert [frame.tag for frame in frames if frame.kind == "sent"] == ["ping", "answer"]


def test_a_subscription_returns_with_its_first_notification_and_goes_on() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        def tell(n):
            meta = {"io.modelcontextprotocol/subscriptionId": 1, "n": n}
            message = {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": meta}}
            print(json.dumps(message), flush=True)
        tell(1)
        sys.stdin.readline()
        tell(2)
        print('{"jsonrpc": "2.0", "id": 2, "result": {}}', flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(line: ProcessLine) -> None:
        found.append(await line.send(ask(1, "subscriptions/listen", holds=True)))
        assert len(found[0].heard) == 1
        await line.send(ask(2))

    drive(script, work)
    assert [heard.method for heard in found[0].heard] == ["notifications/x"] * 2


def test_a_command_that_does_not_exist_is_no_line() -> None:
    async def main() -> None:
        place = Place(Recording(), "stdio test", "main")
        with pytest.raises(LineError, match="did not start: No such file"):
            await ProcessLine(place, ["/no/such/command"]).open()

    asyncio.run(main())
    gc.collect()
