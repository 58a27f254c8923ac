from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable
from textwrap import dedent

import pytest

from dovetail_check.connections.base import Outgoing, Recorder, UnreachableError
from dovetail_check.connections.stdio import StdioConnection
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame
from dovetail_check.recording import Recording
from tests.patience import CAP, pass_time

EXIT_TIMEOUT = 60.0
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
    work: Callable[[StdioConnection], Awaitable[None]] | None = None,
    *,
    skips: int = 0,
) -> list[Frame]:
    """Run a script at the end of a connection, and give back what was kept.

    When the connection closes, the first `skips` waits for the process pass at once.
    """
    recording = Recording()

    async def main() -> None:
        recorder = Recorder(recording, "stdio test", "main")
        connection = StdioConnection(
            recorder, [sys.executable, "-c", dedent(script)], exit_timeout=EXIT_TIMEOUT
        )
        async with asyncio.timeout(CAP):
            await connection.open()
            try:
                if work is not None:
                    await work(connection)
            finally:
                closing = asyncio.create_task(connection.close())
                for _ in range(skips):
                    # Enough turns for the next wait to begin.
                    for _ in range(20):
                        await asyncio.sleep(0)
                    pass_time(EXIT_TIMEOUT)
                await closing

    asyncio.run(main())
    # A transport that was left open says so when it is collected.
    gc.collect()
    return recording.frames


def lines_in(frames: list[Frame]) -> list[bytes]:
    return [frame.data for frame in frames if frame.kind == "received"]


def test_responses_are_matched_by_id() -> None:
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.extend(await asyncio.gather(*(connection.send(ask(id)) for id in (1, "1", 2))))

    drive(ECHO, work)
    assert [exchange.answer and exchange.answer.message["id"] for exchange in found] == [1, "1", 2]


def test_a_response_with_an_id_of_another_type_is_matched() -> None:
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(7)))

    drive(ECHO.replace('message["id"]', 'str(message["id"])'), work)
    assert found[0].answer is not None
    assert found[0].answer.message["id"] == "7"


def test_all_of_stdout_is_recorded() -> None:
    script = """
        import sys
        print("starting", flush=True)
        print(flush=True)
        sys.stdin.read()
        sys.stdout.write("over")
    """
    assert lines_in(drive(script)) == [b"starting", b"", b"over"]


def test_bytes_that_are_not_utf8_are_recorded_unchanged() -> None:
    script = r"""
        import sys
        sys.stdout.buffer.write(b'{"caf\xe9": 1}\r\n')
    """
    frames = drive(script)
    assert lines_in(frames) == [b'{"caf\xe9": 1}\r']
    assert [frame.base64 is not None for frame in frames if frame.kind == "received"] == [True]


def test_a_message_over_several_lines_is_recorded_line_by_line_and_matched() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}, indent=1), flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(1)))

    *lines, whole = lines_in(drive(script, work))
    assert lines[0] == b"{"
    assert len(lines) == 5
    assert whole == b"\n".join(lines)
    assert found[0].result == {}


def test_an_unfinished_message_does_not_hide_the_next_one() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        print("{")
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(1)))

    drive(script, work)
    assert found[0].result == {}


def test_a_long_line_is_read_completely() -> None:
    script = """
        import sys
        sys.stdin.readline()
        text = "x" * 3_000_000
        print('{"jsonrpc": "2.0", "id": 1, "result": {"text": "' + text + '"}}', flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(1)))

    drive(script, work)
    assert found[0].result is not None
    assert len(found[0].result["text"]) == 3_000_000


def test_stderr_is_recorded() -> None:
    frames = drive("import sys; print('a word', file=sys.stderr)")
    assert [frame.data for frame in frames if frame.kind == "stderr"] == [b"a word"]


def test_requests_to_an_exited_process_fail() -> None:
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(1)))
        assert not connection.is_open
        found.append(await connection.send(ask(2)))

    frames = drive("import sys; sys.stdin.readline(); sys.exit(3)", work)
    assert found[0].failure == "the process exited with status 3"
    assert found[1].failure == "the process has exited"
    assert [frame.status for frame in frames if frame.kind == "ended"] == [3]


def test_the_end_of_stdin_and_of_the_process_are_recorded() -> None:
    frames = drive(ECHO)
    assert [frame.kind for frame in frames] == ["started", "closed", "ended"]
    assert frames[-1].status == 0


def test_a_process_that_does_not_exit_is_terminated() -> None:
    async def work(connection: StdioConnection) -> None:
        await connection.send(ask(1))

    frames = drive(f"{dedent(ECHO)}\nimport time; time.sleep(600)", work, skips=1)
    kinds = [frame.kind for frame in frames]
    assert kinds == ["started", "sent", "received", "closed", "silence", "ended"]
    assert frames[-1].status == -signal.SIGTERM


@pytest.mark.slow
def test_a_process_that_ignores_sigterm_is_killed() -> None:
    async def work(connection: StdioConnection) -> None:
        # The signal is ignored before the first response.
        await connection.send(ask(1))

    ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    frames = drive(f"{ignore}\n{dedent(ECHO)}\ntime.sleep(600)", work, skips=2)
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
        recorder = Recorder(Recording(), "stdio test", "main")
        connection = StdioConnection(recorder, [sys.executable, "-c", script])
        async with asyncio.timeout(CAP):
            await connection.open()
            await connected.wait()
            await connection.close()
            await over.wait()
        listener.close()
        assert [frame.kind for frame in recorder.recording.frames][-1] == "ended"

    asyncio.run(main())
    gc.collect()


def test_requests_of_the_server_are_answered() -> None:
    script = """
        import json, sys
        sys.stdin.readline()
        print('{"jsonrpc": "2.0", "id": "q", "method": "roots/list"}', flush=True)
        got = json.loads(sys.stdin.readline())
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "result": got}), flush=True)
        sys.stdin.read()
    """
    found: list[Exchange] = []

    async def work(connection: StdioConnection) -> None:
        connection.on_request = lambda message: b'{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}'
        found.append(await connection.send(ask(1)))

    frames = drive(script, work)
    assert found[0].result == {"jsonrpc": "2.0", "id": "q", "result": {"roots": []}}
    assert [frame.tag for frame in frames if frame.kind == "sent"] == ["ping", "answer"]


def test_a_subscription_returns_after_its_first_notification_and_stays_open() -> None:
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

    async def work(connection: StdioConnection) -> None:
        found.append(await connection.send(ask(1, "subscriptions/listen", keep_open=True)))
        assert len(found[0].incoming) == 1
        await connection.send(ask(2))

    drive(script, work)
    assert [incoming.method for incoming in found[0].incoming] == ["notifications/x"] * 2


def test_a_missing_command_is_unreachable() -> None:
    async def main() -> None:
        recorder = Recorder(Recording(), "stdio test", "main")
        with pytest.raises(UnreachableError, match="did not start: No such file"):
            await StdioConnection(recorder, ["/no/such/command"]).open()

    asyncio.run(main())
    gc.collect()
