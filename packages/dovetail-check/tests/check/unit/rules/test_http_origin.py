"""Rules about servers on and beyond this machine, which the local saboteur cannot break."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail_check.connections.base import Recorder
from dovetail_check.connections.http_connection import HttpConnection
from dovetail_check.judging import judge_recording
from dovetail_check.probe_client import AuditContext, ProbeClient
from dovetail_check.probes.http_origin import own_addresses, reach
from dovetail_check.recording import Recording
from dovetail_check.safety import SafetyPolicy
from dovetail_check.verdicts import Verdict
from tests.patience import CAP

OPENING = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'
OPENED = b'{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}'
SSE = next(revision for revision in REVISIONS if revision.old_sse)
NOW = REVISIONS[-1]
WHERE = [("http", NOW), ("sse", SSE)]


def verdict(recording: Recording, id: str, path: Path) -> Verdict:
    """The verdict from the recording as saved to disk."""
    recording.save(path / "frames.ndjson")
    [report] = judge_recording(Recording.read(path / "frames.ndjson"), only=[id])
    return report.verdict


# -- addresses ----------------------------------------------------------------------------------


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.read(65536):
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
    writer.close()


def reached(transport: str, revision: Revision, *, elsewhere: bool) -> Recording:
    """The recording of `reach` for a server at one local address, and perhaps at another."""
    recording = Recording()

    async def main() -> None:
        first = await asyncio.start_server(_serve, "127.0.0.1", 0)
        port = first.sockets[0].getsockname()[1]
        servers = [first]
        if elsewhere:
            servers.append(await asyncio.start_server(_serve, "127.0.0.2", port))
        at = AuditContext(
            recording, transport, revision, SafetyPolicy("", is_local=True), _no_more_connections
        )
        line = HttpConnection(
            Recorder(recording, at.session, "main"), f"http://127.0.0.1:{port}/mcp"
        )
        client = ProbeClient(at, line)
        client.probe = "http-reach"
        async with asyncio.timeout(CAP):
            await line.open()
            await reach(client, ["127.0.0.2"])
            await line.close()
        for server in servers:
            server.close()

    asyncio.run(main())
    return recording


def _no_more_connections(place: Recorder) -> HttpConnection:
    raise AssertionError(f"a second connection for {place.connection}")


@pytest.mark.parametrize(("transport", "revision"), WHERE)
def test_a_local_server_at_another_address_is_found(
    transport: str, revision: Revision, tmp_path: Path
) -> None:
    row = f"{transport}.bind-localhost"
    found = verdict(reached(transport, revision, elsewhere=True), row, tmp_path)
    assert found is Verdict.WARN
    found = verdict(reached(transport, revision, elsewhere=False), row, tmp_path)
    assert found is Verdict.PASS


def test_addresses_of_this_machine_are_not_those_of_the_loopback() -> None:
    assert [address for address in own_addresses() if address.startswith("127.")] == []


# -- clients without credentials ----------------------------------------------------------------


def opened(transport: str, revision: Revision, url: str, headers: dict[str, str]) -> Recording:
    recording = Recording()
    place = Recorder(recording, f"{transport} {revision}", "main")
    given = tuple(headers.items())
    sent = place.add("sent", OPENING, tag="opening", method="POST", url=url, headers=given)
    place.add("received", OPENED, of=sent.n, tag="opening", status=200)
    return recording


@pytest.mark.parametrize(("transport", "revision"), WHERE)
@pytest.mark.parametrize(
    ("url", "headers", "expected"),
    [
        ("https://example.com/mcp", {}, Verdict.WARN),
        ("https://example.com/mcp", {"Authorization": "Bearer x"}, Verdict.PASS),
        ("http://127.0.0.1:8000/mcp", {}, Verdict.NOT_APPLICABLE),
    ],
)
def test_a_server_on_the_network_requires_credentials(
    transport: str,
    revision: Revision,
    url: str,
    headers: dict[str, str],
    expected: Verdict,
    tmp_path: Path,
) -> None:
    recording = opened(transport, revision, url, headers)
    assert verdict(recording, f"{transport}.authenticate", tmp_path) is expected
