"""A healthy server gets no finding because it is slow, or because it dies.

By default a few delays and moments of death are tried. `CHECK_DELAYS=all` runs the whole grid:
every delay at every revision over every transport, and a death after each of many requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail_check.audit import Audit, AuditOptions
from dovetail_check.connections.base import UnreachableError
from dovetail_check.crashes import find_crashes
from dovetail_check.judging import judge_recording
from dovetail_check.recording import Recording
from dovetail_check.targets import CheckTarget
from dovetail_check.verdicts import Verdict
from tests.deep.check.test_matrix import show

ALL = os.environ.get("CHECK_DELAYS") == "all"
DEVIATIONS = (Verdict.FAIL, Verdict.WARN)
# Seconds to wait for a response. The machine may be busy, and no request here goes unanswered.
PATIENT = 60.0
# mood of the server, revision, transport
GRID = [
    (f"{mood}={delay}", revision, transport)
    for mood in ("slow", "late-errors")
    for delay in ("0", "0.3", "0.6", "1.5", "2")
    for revision in REVISIONS
    for transport in ("stdio", "http", "sse")
    if transport != "sse" or revision.old_sse
]
FEW = [
    ("slow=0.3", REVISIONS[-1], "http"),
    ("slow=0.6", REVISIONS[-2], "stdio"),
    ("late-errors=0.6", REVISIONS[-1], "stdio"),
    ("late-errors=0.6", REVISIONS[1], "http"),
    ("late-errors=0.6", REVISIONS[0], "sse"),
]


def target_for(transport: str, name: str, url: str) -> CheckTarget:
    if transport == "stdio":
        command = (sys.executable, "-m", "tests.check.saboteur.over_stdio", name)
        return CheckTarget(transport="stdio", command=command)
    path = "sse" if transport == "sse" else "mcp"
    return CheckTarget(transport=transport, url=f"{url}/{name}/{path}")


def deviations(recording: Recording) -> list[str]:
    reports = judge_recording(recording)
    return [show(report) for report in reports if report.verdict in DEVIATIONS]


@pytest.mark.parametrize(
    ("mood", "revision", "transport"), GRID if ALL else FEW, ids=lambda value: str(value)
)
def test_a_slow_server_is_clean(
    mood: str, revision: Revision, transport: str, saboteur_url: str
) -> None:
    target = target_for(transport, mood, saboteur_url)
    options = AuditOptions(revisions=(revision,), timeout=PATIENT)
    recording = asyncio.run(Audit(target, options).run())
    assert deviations(recording) == []
    assert find_crashes(recording.frames) == ()


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("revision", REVISIONS[:-1] if ALL else REVISIONS[3:4], ids=str)
def test_an_unstable_order_is_clean_where_no_rule_is_on_order(
    revision: Revision, transport: str, saboteur_url: str
) -> None:
    target = target_for(transport, "tools.list-order~reversed", saboteur_url)
    options = AuditOptions(revisions=(revision,), timeout=PATIENT)
    recording = asyncio.run(Audit(target, options).run())
    assert deviations(recording) == []


# -- death -----------------------------------------------------------------------------------------


class Front:
    """A TCP proxy that is gone after so many connections, with all that is in flight.

    With `texts` it is gone when requests have contained all of them, in this order.

    It accepts in a callback of the loop, not in a task, and closes the sockets of a connection when
    its task is done, also if that never started. So none is left open, whenever it stops.
    """

    def __init__(self, url: str, connections: int, texts: Sequence[bytes] = ()) -> None:
        behind = urlsplit(url)
        self._behind = (behind.hostname, behind.port)
        self._left = connections
        self._texts = deque(texts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._forwarding: set[asyncio.Task[None]] = set()

    def start(self) -> str:
        asyncio.get_running_loop().add_reader(self._listener, self._accept)
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    async def stop(self) -> None:
        self._close()
        await asyncio.gather(*self._forwarding, return_exceptions=True)

    def _close(self) -> None:
        if self._listener.fileno() != -1:
            asyncio.get_running_loop().remove_reader(self._listener)
            self._listener.close()
        for task in self._forwarding:
            task.cancel()

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # The client has gone.
        self._left -= 1
        if self._left < 0:
            client.close()
            self._close()
            return
        client.setblocking(False)
        task = asyncio.create_task(self._forward(client))
        self._forwarding.add(task)
        task.add_done_callback(lambda _: client.close())

    async def _forward(self, client: socket.socket) -> None:
        with socket.socket() as behind:
            behind.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(behind, self._behind)
            except OSError:
                return
            pumps = [
                asyncio.create_task(_pump(client, behind, self._see)),
                asyncio.create_task(_pump(behind, client)),
            ]
            try:
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for pump in pumps:
                    pump.cancel()
                await asyncio.wait(pumps)

    def _see(self, data: bytes) -> None:
        if self._texts and self._texts[0] in data:
            self._texts.popleft()
            if not self._texts:
                self._close()


async def _pump(
    reader: socket.socket, writer: socket.socket, see: Callable[[bytes], None] = lambda _: None
) -> None:
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError):
        while data := await loop.sock_recv(reader, 65536):
            see(data)
            await loop.sock_sendall(writer, data)


async def check_behind(
    front: Front, path: str, revisions: tuple[Revision, ...], probes: Collection[str] | None = None
) -> Recording:
    recording = Recording()
    target = CheckTarget(transport="http", url=f"{front.start()}{path}")
    options = AuditOptions(revisions=revisions, timeout=PATIENT, probes=probes)
    try:
        await Audit(target, options, recording).run()
    except UnreachableError:
        pass
    finally:
        await front.stop()
    return recording


DEATHS = range(1, 400) if ALL else (3, 95)


@pytest.mark.parametrize("after", DEATHS)
@pytest.mark.parametrize("revision", REVISIONS[1:] if ALL else REVISIONS[-2:], ids=str)
def test_a_server_that_dies_over_http_fails_no_row(
    after: int, revision: Revision, saboteur_url: str
) -> None:
    front = Front(saboteur_url, after)
    recording = asyncio.run(check_behind(front, "/healthy/mcp", (revision,)))
    assert deviations(recording) == []


def test_a_server_that_dies_at_the_last_request_fails_no_row(saboteur_url: str) -> None:
    # Nothing is sent after the request that shows whether the server responds to this change.
    front = Front(saboteur_url, 10_000, (b"roots/list_changed", b'"ping"'))
    revisions, probes = (REVISIONS[1],), ("roots-changed",)
    recording = asyncio.run(check_behind(front, "/healthy/mcp", revisions, probes))
    assert any(frame.kind == "failed" for frame in recording.frames)
    assert deviations(recording) == []


# Exits once, after so many lines; later processes live on.
DIES = """
import asyncio, os, sys
from pathlib import Path
from tests.check.saboteur import over_stdio

done, after = Path(sys.argv[1]), int(sys.argv[2])
real = asyncio.StreamReader.readline
seen = 0

async def readline(self):
    global seen
    line = await real(self)
    seen += 1
    if seen == after and not done.exists():
        done.touch()
        os._exit(3)
    return line

asyncio.StreamReader.readline = readline
asyncio.run(over_stdio.main(None))
"""
LINES = range(1, 300) if ALL else (9, 60)


@pytest.mark.parametrize("after", LINES)
@pytest.mark.parametrize("revision", REVISIONS if ALL else REVISIONS[-2:], ids=str)
def test_a_process_that_dies_once_fails_no_row(
    after: int, revision: Revision, tmp_path: Path
) -> None:
    command = (sys.executable, "-c", DIES, str(tmp_path / "died"), str(after))
    target = CheckTarget(transport="stdio", command=command)
    options = AuditOptions(revisions=(revision,), timeout=PATIENT)
    recording = asyncio.run(Audit(target, options).run())
    assert deviations(recording) == []
