"""An upstream that is unavailable, dies or lies: callers get an answer that names it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dovetail import Client, Options, Proxy
from dovetail.errors import RpcError
from dovetail.transports import serve_http
from dovetail_gateway import upstream as proxy_upstream
from tests.patience import CAP
from tests.peers.scripted import DISCOVERED, INITIALIZED, Script, ScriptedServer, run
from tests.proxy.pairing import LEGACY, MODERN, UPSTREAM
from tests.proxy.upstream import make_upstream

TOOLS = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}


def scripted(**more: Any) -> ScriptedServer:
    script: Script = {"server/discover": DISCOVERED, "tools/list": TOOLS, **more}
    return ScriptedServer(script)


@pytest.mark.parametrize("caller", [LEGACY, MODERN])
def test_an_upstream_that_cannot_be_started(caller: str) -> None:
    async def scenario() -> None:
        proxy = Proxy(["/nowhere/program"], name="shop")
        async with Client(proxy, mode=caller) as client:
            assert "tools" in client.capabilities
            result = await client.call("add")
            assert result.is_error
            assert "'shop' is unavailable" in result.text
            assert "/nowhere/program" in result.text
            with pytest.raises(RpcError, match="'shop' is unavailable"):
                await client.list_tools()
        await proxy.close()

    run(scenario())


def test_an_upstream_that_starts_after_the_proxy() -> None:
    async def scenario() -> None:
        ports: list[int] = []
        first = asyncio.create_task(serve_http(make_upstream(), port=0, on_ready=ports.append))
        while not ports:
            await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        proxy = Proxy(f"http://127.0.0.1:{ports[0]}/mcp", name="shop")
        async with Client(proxy) as client:
            assert (await client.call("add", {"a": 1, "b": 2})).is_error
            second = asyncio.create_task(serve_http(make_upstream(), port=ports[0]))
            while (result := await client.call("add", {"a": 1, "b": 2})).is_error:
                await asyncio.sleep(0.01)
            assert result.text == "3"
            assert await client.list_tools()
        await proxy.close()
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)

    run(scenario())


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
def test_a_killed_child_is_replaced(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process may take long to start on a busy machine.
    monkeypatch.setattr(proxy_upstream, "_PATIENCE", CAP)

    async def scenario() -> None:
        proxy = Proxy(UPSTREAM, name="shop", mode=mode)
        async with (
            Client(proxy, elicit=lambda _: {}) as client,
            client.subscribe(uris=["note://1"]) as changes,
        ):
            pid = int((await client.call("pid")).text)
            started = asyncio.Event()
            call = asyncio.create_task(client.call("hang", progress=lambda _: started.set()))
            await started.wait()
            os.kill(pid, signal.SIGKILL)
            lost = await call
            assert lost.is_error
            assert "'shop' is unavailable" in lost.text
            assert "SIGKILL" in lost.text
            # Lists are safe to repeat, so this call is answered by the next process.
            assert await client.list_tools()
            assert int((await client.call("pid")).text) != pid
            # The subscription moves to the new process, and its resource may have changed.
            async for change in changes:
                assert change.uri == "note://1"
                break
        await proxy.close()

    run(scenario())


def test_the_subscription_works_again_after_a_restart() -> None:
    async def scenario() -> None:
        proxy = Proxy(UPSTREAM, name="shop")
        async with Client(proxy) as client, client.subscribe(uris=["note://1"]) as changes:
            os.kill(int((await client.call("pid")).text), signal.SIGKILL)
            await anext(changes)
            while True:
                await client.call("write", {"number": "1", "text": "x"})
                try:
                    async with asyncio.timeout(1.5):
                        await anext(changes)
                    break
                except TimeoutError:
                    continue
        await proxy.close()

    run(scenario())


def lying(call: Callable[[dict[str, Any]], Any] | Any, **options: Any) -> Any:
    """What a client gets that calls a tool of this upstream."""

    async def scenario() -> Any:
        upstream = scripted(**{"tools/call": call})
        proxy = Proxy(upstream, name="shop", options=Options(**options))
        try:
            async with Client(proxy) as client:
                return await client.call("add")
        finally:
            await proxy.close()

    return run(scenario())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ([1, 2], "'shop' violates the protocol"),
        ({"resultType": "surprise"}, "'shop' violates the protocol"),
        ({"resultType": 7}, "'shop' violates the protocol"),
        ({"resultType": "input_required"}, "'shop' violates the protocol"),
        (RpcError("headers differ", code=-32020), "'shop' refuses the requests of this proxy"),
    ],
)
def test_an_answer_that_makes_no_sense(answer: Any, text: str) -> None:
    result = lying(answer)
    assert result.is_error
    assert text in result.text


def test_an_answer_to_another_request() -> None:
    async def scenario() -> None:
        upstream = scripted()

        def misdirect(message: dict[str, Any]) -> None:
            upstream.say({"id": message["id"] + 1000, "result": {"content": []}})

        upstream.script = {**upstream.script, "tools/call": misdirect}
        proxy = Proxy(upstream, name="shop", options=Options(timeout=0.05))
        async with Client(proxy) as client:
            result = await client.call("add")
            assert result.is_error
            assert "'shop' did not answer: no answer to tools/call within 0.05 s" in result.text
            # Others are not affected.
            assert await client.list_tools()
        await proxy.close()

    run(scenario())


def test_a_result_over_the_limit() -> None:
    big = {"resultType": "complete", "content": [{"type": "text", "text": "x" * 5000}]}
    result = lying(big, max_result_bytes=1000)
    assert result.is_error
    assert "'shop' sent 5," in result.text
    assert "the limit is 1,000" in result.text


def test_an_endless_line_on_stdio() -> None:
    program = (
        "import sys\n"
        "for line in sys.stdin:\n"
        "    if 'server/discover' in line:\n"
        '        print(\'{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",'
        '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}\', flush=True)\n'
        "    elif 'tools/call' in line:\n"
        "        chunk = 'x' * 1_000_000\n"
        "        for _ in range(70): sys.stdout.write(chunk)\n"
        "        print(flush=True)\n"
    )

    async def scenario() -> None:
        proxy = Proxy([sys.executable, "-c", program], name="shop")
        async with Client(proxy) as client:
            with pytest.raises(RpcError, match="a message of more than 67,108,864 bytes"):
                await client.call("add")
        await proxy.close()

    run(scenario())


def test_a_list_without_end() -> None:
    async def scenario() -> None:
        upstream = scripted(**{"tools/list": {**TOOLS, "nextCursor": "again"}})
        proxy = Proxy(upstream, name="shop")
        async with Client(proxy) as client:
            assert (await client.list_tools_page()).next_cursor == "again"
            with pytest.raises(RpcError, match="'shop' has a list without end"):
                await client.list_tools_page("again")
        await proxy.close()

    run(scenario())


def test_a_list_that_changes_all_the_time_is_announced_now_and_then() -> None:
    async def scenario() -> None:
        upstream = scripted(initialize=INITIALIZED, **{"logging/setLevel": {}})
        proxy = Proxy(upstream, name="shop", mode=LEGACY)
        async with Client(proxy) as client, client.subscribe(tools=True) as changes:
            for _ in range(1000):
                upstream.tell("notifications/tools/list_changed")
            seen = 0
            async for _ in changes:
                seen += 1
                if seen == 2:
                    break
            # One at once, and one for all the others after a pause.
            assert not any(window.repeated for window in proxy.relay._windows.values())
        await proxy.close()

    run(scenario())


class Late:
    """A server that is named before it is made."""

    server: Any = None

    def connect(self, send: Callable[[bytes], None]) -> Any:
        return self.server.connect(send)


def test_a_loop_of_proxies_is_refused() -> None:
    async def scenario() -> None:
        late = Late()
        first = Proxy(late, name="first")
        late.server = Proxy(first, name="second")
        async with Client(first) as client:
            with pytest.raises(RpcError, match="it has passed 8 proxies"):
                await client.request("tools/list")
        await first.close()
        await late.server.close()

    run(scenario())


def test_a_call_to_a_process_that_is_known_to_hang_fails_and_goes_on_with_it() -> None:
    async def scenario() -> None:
        # Long enough to start, and then the time limit of the list that finds out.
        proxy = Proxy(UPSTREAM, name="shop", eager=True, connect_timeout=5)
        async with Client(proxy, timeout=CAP) as client:
            pid = int((await client.call("pid")).text)
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(RpcError, match="is unavailable"):
                    await client.list_tools()
                # No other time limit than that of the proxy ends it.
                result = await client.call("add", {"a": 1, "b": 2})
                assert result.is_error
                assert "'shop' is unavailable: no answer to a list" in result.text
            finally:
                os.kill(pid, signal.SIGCONT)
            while (result := await client.call("add", {"a": 1, "b": 2})).is_error:
                assert "is unavailable" in result.text
            assert result.text == "3"
        await proxy.close()

    run(scenario())
