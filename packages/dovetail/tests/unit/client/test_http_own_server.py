"""The client against our own server over HTTP, on a real uvicorn, in every revision."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from click.testing import CliRunner

from dovetail import Context, Server
from dovetail.cli.app import app as command_line
from dovetail.client import Change, Client, ElicitRequest, ElicitResponse, SamplingRequest
from dovetail.errors import InvalidParamsError, MissingCapabilityError, TransportError
from dovetail.net.addresses import parse_url
from dovetail.net.http_pool import HttpPool
from dovetail.spec.header_params import Header
from dovetail.spec.revisions import REVISIONS
from tests.patience import CAP, pass_time
from tests.peers.own_server import server
from tests.peers.scripted import run
from tests.unit.client.real_http import serving

ERAS = pytest.mark.parametrize("mode", ["modern", "legacy"])
MODES = pytest.mark.parametrize("mode", ["auto", *(revision.date for revision in REVISIONS)])

waits = Server("waits")
_started = threading.Event()
_stopped = threading.Event()


@waits.tool
async def wait_forever() -> str:
    """Take all the time there is."""
    _started.set()
    try:
        await asyncio.Event().wait()
    finally:
        _stopped.set()
    return "never"


@waits.tool
def query(
    region: Annotated[str, Header("Region")], size: Annotated[int, Header("Size")] = 1
) -> str:
    """Ask a region."""
    return f"{region} {size}"


@waits.tool
async def come_back(ctx: Context) -> str:
    """Let go of the connection before the answer."""
    await ctx.progress(1)
    ctx.disconnect(retry_ms=1)
    return "welcome back"


@pytest.fixture(scope="module")
def own() -> Iterator[str]:
    with serving(server.http_app()) as url:
        yield url


@pytest.fixture(scope="module")
def waiting() -> Iterator[str]:
    with serving(waits.http_app()) as url:
        yield url


@MODES
def test_everything_works_the_same_in_every_revision(own: str, mode: str) -> None:
    async def use() -> None:
        progress: list[float] = []
        async with Client(own, mode=mode, timeout=CAP) as client:
            assert client.revision == (REVISIONS[-1].date if mode == "auto" else mode)
            assert client.server_info is not None
            assert client.server_info.name == "own"
            assert client.instructions == "Use add for sums."
            assert len(await client.list_tools()) == 10
            assert (await client.call("add", {"a": 1})).text == "2"
            assert (await client.call("fail", {"why": "because"})).text == "because"
            await client.call("climb", {"steps": 2}, progress=lambda p: progress.append(p.progress))
            assert progress == [1, 2]
            assert (await client.read("memo://days/monday")).text == "sun on monday"
            assert (await client.get_prompt("review", {"code": "x"})).messages
            with pytest.raises(InvalidParamsError):
                await client.get_prompt("nothing")

    run(use())


@ERAS
def test_a_tool_requests_input_in_both_eras(own: str, mode: str) -> None:
    answers = iter([{"name": "main"}, None, ElicitResponse.cancel()])

    async def elicit(request: ElicitRequest) -> Any:
        assert request.message == "Which branch?"
        return next(answers)

    def sample(request: SamplingRequest) -> str:
        return f"{request.messages[0].text} {request.max_tokens} {request.system_prompt}"

    async def use() -> list[str]:
        callbacks: dict[str, Any] = {"elicit": elicit, "sample": sample, "roots": ["/srv"]}
        async with Client(own, mode=mode, timeout=CAP, **callbacks) as client:
            said = [(await client.call("deploy")).text for _ in range(3)]
            said.append((await client.call("capital")).text)
            said.append((await client.call("folders")).text)
        return said

    assert run(use()) == [
        "accept main",
        "decline",
        "cancel",
        "Capital? 5 Be brief. says dovetail",
        "file:///srv",
    ]


@ERAS
def test_changes_are_delivered_in_both_eras(own: str, mode: str) -> None:
    async def use() -> Change:
        async with (
            Client(own, mode=mode, timeout=CAP) as client,
            client.subscribe(tools=True, uris=["memo://today"]) as changes,
        ):
            assert changes.refused == ()
            await client.call("touch", {"uri": "memo://other"})
            await client.call("touch", {"uri": "memo://today"})
            return await anext(changes)

    assert run(use()) == Change("resource", "memo://today")


@ERAS
def test_list_changes_reach_the_callback(own: str, mode: str) -> None:
    async def use() -> Change:
        heard: asyncio.Queue[Change] = asyncio.Queue()
        async with Client(own, mode=mode, on_change=heard.put_nowait) as client:
            server.tools.add(lambda: "new", name="new")
            try:
                assert (await client.call("new")).text == "new"
                return await heard.get()
            finally:
                server.tools.remove("new")

    assert run(use()) == Change("tools")


def test_undeclared_input_is_rejected(own: str) -> None:
    async def use() -> None:
        async with Client(own, mode="modern") as client:
            with pytest.raises(MissingCapabilityError):
                await client.call("folders")

    run(use())


def test_many_calls_at_once_share_the_client(own: str) -> None:
    async def use(mode: str) -> list[str]:
        async with Client(own, mode=mode, timeout=CAP) as client:
            calls = (client.call("add", {"a": number}) for number in range(30))
            return [result.text for result in await asyncio.gather(*calls)]

    for mode in ("modern", "legacy"):
        assert run(use(mode)) == [str(number + 1) for number in range(30)]


@ERAS
@pytest.mark.parametrize("how", ["cancel", "timeout", "close"])
def test_cancelling_a_call_stops_the_tool(waiting: str, mode: str, how: str) -> None:
    _started.clear()
    _stopped.clear()

    async def use() -> None:
        async with Client(waiting, mode=mode, timeout=CAP) as client:
            call = asyncio.create_task(client.call("wait_forever", timeout=60))
            assert await asyncio.to_thread(_started.wait, CAP)
            if how == "timeout":
                pass_time(60)
            if how == "cancel":
                call.cancel()
            if how != "close":
                with pytest.raises((asyncio.CancelledError, TimeoutError)):
                    await call
                assert await asyncio.to_thread(_stopped.wait, CAP)
        if how == "close":
            with pytest.raises(TransportError, match="client is closed"):
                await call
            assert await asyncio.to_thread(_stopped.wait, CAP)

    run(use())


@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "not listed"])
@pytest.mark.parametrize("region", ["us-west1", "Hello, 世界", " padded ", "a\nb", "=?base64?x?="])
def test_arguments_are_mirrored_in_headers(waiting: str, region: str, is_listed: bool) -> None:
    async def use() -> list[str]:
        async with Client(waiting, mode="modern", timeout=CAP) as client:
            if is_listed:
                await client.list_tools()
            arguments: list[dict[str, Any]] = [{"region": region}, {"region": region, "size": -7}]
            return [(await client.call("query", given)).text for given in arguments]

    assert run(use()) == [f"{region} 1", f"{region} -7"]


@pytest.mark.parametrize("uri", ["memo://days/grün", "memo://days/ x "])
def test_a_name_that_is_not_ascii_is_encoded(own: str, uri: str) -> None:
    async def use() -> str:
        async with Client(own, mode="modern", timeout=CAP) as client:
            return (await client.read(uri)).text

    assert run(use()).startswith("sun on")


def test_a_stream_closed_by_the_server_is_resumed(waiting: str) -> None:
    async def use() -> str:
        async with Client(waiting, mode="legacy", timeout=CAP) as client:
            return (await client.call("come_back", progress=lambda _: None)).text

    assert run(use()) == "welcome back"


def test_an_expired_session_is_restarted() -> None:
    app = server.http_app()

    async def use(url: str) -> tuple[list[str], Change]:
        uri = "memo://today"
        async with (
            Client(url, mode="legacy", timeout=CAP) as client,
            client.subscribe(uris=[uri]) as changes,
        ):
            pool = HttpPool(parse_url(url))
            for session in tuple(app.legacy.sessions):
                async with pool.exchange("DELETE", [("Mcp-Session-Id", session.id)]) as response:
                    assert response.status == 204
            await pool.close()
            calls = (client.call("add", {"a": number}) for number in range(5))
            texts = [result.text for result in await asyncio.gather(*calls)]
            await client.call("touch", {"uri": uri})
            return texts, await anext(changes)

    with serving(app) as url:
        texts, change = run(use(url))
        assert texts == ["1", "2", "3", "4", "5"]
        assert change == Change("resource", "memo://today")
        assert not tuple(app.legacy.sessions), "closing the client ends its session"


@ERAS
def test_a_stateless_server_without_streams_works(mode: str) -> None:
    async def use(url: str) -> str:
        async with Client(url, mode=mode, timeout=CAP) as client:
            await client.list_tools()
            return (await client.call("add", {"a": 1})).text

    with serving(server.http_app(streaming=False)) as url:
        assert run(use(url)) == "2"


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["call", "URL", "add", "a=1", "b=4"], "5"),
        (["list", "URL"], "memo://today"),
        (["inspect", "URL"], "2025-03-26"),
    ],
)
def test_the_command_line_accepts_a_url(own: str, arguments: list[str], shown: str) -> None:
    line = [own if word == "URL" else word for word in arguments]
    result = CliRunner().invoke(command_line, line, obj=[])
    assert result.exit_code == 0, result.output
    assert shown in result.output
