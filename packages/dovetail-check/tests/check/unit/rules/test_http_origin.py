"""Rules of servers that are, or are not, on this machine: no saboteur on it can break them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dovetail.spec.revisions import REVISIONS, Revision
from dovetail_check.judging import judge_recording
from dovetail_check.lines.http_line import HttpLine
from dovetail_check.lines.line import Place
from dovetail_check.probe_client import AuditContext, ProbeClient
from dovetail_check.probes.http_origin import own_addresses, reach
from dovetail_check.recording import Recording
from dovetail_check.safety import SafetyPolicy
from dovetail_check.verdicts import Verdict

OPENING = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'
OPENED = b'{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}'
SSE = next(revision for revision in REVISIONS if revision.old_sse)
NOW = REVISIONS[-1]
WHERE = [("http", NOW), ("sse", SSE)]


def verdict(recording: Recording, id: str, path: Path) -> Verdict:
    """As it is judged from what was written to disk."""
    recording.save(path / "frames.ndjson")
    [report] = judge_recording(Recording.read(path / "frames.ndjson"), only=[id])
    return report.verdict


# -- addresses ----------------------------------------------------------------------------------


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if await reader.read(65536):
        writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
    writer.close()


def reached(transport: str, revision: Revision, *, elsewhere: bool) -> Recording:
    """What `reach` sees of a server at one address of the machine, and perhaps at another."""
    recording = Recording()

    async def main() -> None:
        first = await asyncio.start_server(_serve, "127.0.0.1", 0)
        port = first.sockets[0].getsockname()[1]
        servers = [first]
        if elsewhere:
            servers.append(await asyncio.start_server(_serve, "127.0.0.2", port))
        at = AuditContext(
            recording, transport, revision, SafetyPolicy("", is_local=True), _no_more_lines
        )
        line = HttpLine(Place(recording, at.session, "main"), f"http://127.0.0.1:{port}/mcp")
        client = ProbeClient(at, line)
        client.probe = "http-reach"
        async with asyncio.timeout(5):
            await line.open()
            await reach(client, ["127.0.0.2"])
            await line.close()
        for server in servers:
            server.close()

    asyncio.run(main())
    return recording


def _no_more_lines(place: Place) -> HttpLine:
    raise AssertionError(f"a second line for {place.line}")


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


# -- anonymous clients --------------------------------------------------------------------------


def opened(transport: str, revision: Revision, url: str, headers: dict[str, str]) -> Recording:
    recording = Recording()
    place = Place(recording, f"{transport} {revision}", "main")
    given = tuple(headers.items())
    sent = place.add("sent", OPENING, tag="opening", method="POST", url=url, headers=given)
    place.add("received", OPENED, of=sent.n, tag="opening", status=200)
    return recording


@pytest.mark.parametrize(("transport", "revision"), WHERE)
@pytest.mark.parametrize(
    ("url", "headers", "due"),
    [
        ("https://example.com/mcp", {}, Verdict.WARN),
        ("https://example.com/mcp", {"Authorization": "Bearer x"}, Verdict.PASS),
        ("http://127.0.0.1:8000/mcp", {}, Verdict.NOT_APPLICABLE),
    ],
)
def test_a_server_on_the_network_should_know_its_clients(
    transport: str,
    revision: Revision,
    url: str,
    headers: dict[str, str],
    due: Verdict,
    tmp_path: Path,
) -> None:
    recording = opened(transport, revision, url, headers)
    assert verdict(recording, f"{transport}.authenticate", tmp_path) is due
