"""Every feature through a proxy, in every pairing of eras, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail import Proxy
from dovetail.client import Change, Client
from dovetail.errors import ResourceNotFoundError, RpcError
from dovetail.spec.keys import TASKS
from dovetail.spec.models import AudioContent
from tests.peers.scripted import INITIALIZED, ScriptedServer, run
from tests.proxy.pairing import LEGACY, MODERN, Open


def test_the_proxy_describes_the_upstream(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        assert client.revision == opened.pairing.caller
        assert client.instructions == "Ask before you enter."
        assert client.server_info is not None
        assert client.server_info.name == "front"
        assert {"tools", "prompts", "resources", "completions"} <= client.capabilities.keys()

    opened.run(scenario)


def test_lists_page_by_page(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        first = await client.list_tools_page()
        assert len(first.items) == 5
        names = {tool.name: tool for tool in await client.list_tools()}
        assert {"add", "greet", "bake", "pid"} <= names.keys()
        schema = names["add"].output_schema
        assert schema is not None
        # An older caller gets an object at the root of the schema.
        assert schema["type"] == ("object" if opened.pairing.caller == LEGACY else "integer") or (
            opened.pairing.upstream == LEGACY
        )
        assert [prompt.name for prompt in await client.list_prompts()] == ["compose"]
        assert [each.uri for each in await client.list_resources()] == ["note://1/title"]
        assert [each.uri_template for each in await client.list_templates()] == ["note://{number}"]

    opened.run(scenario)


def test_calls_and_their_errors(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        result = await client.call("add", {"a": 1, "b": 2})
        assert result.text == "3"
        is_bare = opened.pairing.caller == opened.pairing.upstream == MODERN
        assert result.structured == (3 if is_bare else {"result": 3})
        failed = await client.call("fail")
        assert failed.is_error
        assert "reference" in failed.text
        wrong = await client.call("add", {"a": "x"})
        assert wrong.is_error
        assert "a: expected" in wrong.text
        with pytest.raises(RpcError) as caught:
            await client.call("nothing")
        assert caught.value.code == -32602
        [block] = (await client.call("beep")).content
        assert isinstance(block, AudioContent)

    opened.run(scenario)


def test_prompts_resources_and_completion(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        prompt = await client.get_prompt("compose", {"topic": "rain"})
        assert prompt.messages[0].content.text == "Write about rain"  # type: ignore[union-attr]
        read = await client.read("note://1/title")
        assert read.contents[0].text == "First"  # type: ignore[union-attr]
        with pytest.raises(ResourceNotFoundError) as caught:
            await client.read("note://99")
        assert caught.value.code == (-32002 if opened.pairing.caller == LEGACY else -32602)
        assert (await client.complete("compose", "topic", "s")).values == ["sea", "sky", "stone"]

    opened.run(scenario)


def test_progress_and_log_messages(opened: Open) -> None:
    seen: list[tuple[float, str | None]] = []

    async def scenario(client: Client) -> None:
        result = await client.call(
            "work", {"steps": 3}, progress=lambda p: seen.append((p.progress, p.message))
        )
        assert result.text == "done"

    opened.run(scenario)
    assert seen == [(1, "step 1"), (2, "step 2"), (3, "step 3")]
    assert [each.data for each in opened.logs] == ["did 1", "did 2", "did 3"]


def test_a_form_and_its_refusal(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        assert (await client.call("greet")).text == "Hello Ada"
        opened.answer = None
        assert (await client.call("greet")).text == "decline"

    opened.run(scenario)
    assert [each.message for each in opened.asked] == ["Who are you?"] * 2
    assert opened.asked[0].schema["properties"].keys() == {"name"}


def test_a_page_to_visit(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        opened.answer = {}
        assert (await client.call("visit")).text == "accept"

    opened.run(scenario)
    [asked] = opened.asked
    assert (asked.mode, asked.url) == ("url", "https://example.com/login")
    assert (asked.elicitation_id is None) == (opened.pairing.caller == MODERN)


def test_sampling_and_roots(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        assert (await client.call("think")).text == "I think."
        assert "file:///srv/shed" in (await client.call("folders")).text

    opened.run(scenario)


def test_a_client_that_cannot_be_asked(opened: Open) -> None:
    async def scenario(_: Client) -> None:
        async with opened.connect() as client:
            if opened.pairing.caller == LEGACY:
                result = await client.call("greet")
                assert result.is_error
                assert "elicitation" in result.text
            elif opened.pairing.upstream == MODERN:
                with pytest.raises(RpcError) as caught:
                    await client.call("greet")
                assert caught.value.code == -32021
            else:
                # A legacy upstream has no error code for it.
                assert (await client.call("greet")).is_error

    opened.run(scenario)


def test_cancellation_reaches_the_upstream(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        before = int((await client.call("cancellations")).text)
        started = asyncio.Event()
        call = asyncio.create_task(client.call("hang", progress=lambda _: started.set()))
        await started.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        while int((await client.call("cancellations")).text) == before:
            await asyncio.sleep(0.01)

    opened.run(scenario)


def test_changes_of_resources_and_lists(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        async with client.subscribe(tools=True, uris=["note://1"]) as changes:
            assert not changes.refused
            await client.call("write", {"number": "1", "text": "new"})
            await client.call("grow")
            wanted = {Change("resource", "note://1"), Change("tools")}
            async for change in changes:
                wanted.discard(change)
                if not wanted:
                    break

    opened.run(scenario)


def test_a_task_without_and_with_a_question(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        task = await client.start("bake")
        # Between two eras, the call is an ordinary one.
        is_task = opened.pairing.caller == opened.pairing.upstream
        assert bool(task.id) == is_task
        assert (await task.result()).text == "a cake"
        asking = await client.start("bake", {"ask": True})
        assert (await asking.result()).text == "a cake for Ada"
        if is_task:
            again = await client.task(asking.id)
            assert again.state.status == "completed"

    opened.run(scenario)


def test_a_cancelled_task(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        opened.answer = asyncio.Event()  # never used: the task is cancelled before it asks
        task = await client.start("bake", {"ask": True})
        await task.cancel()
        assert task.state.status == "cancelled"

    if opened.pairing.caller == opened.pairing.upstream:
        opened.run(scenario)


def test_tasks_are_declared_to_callers_of_the_same_era(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        declared = "tasks" in client.capabilities or TASKS in client.capabilities.get(
            "extensions", {}
        )
        assert declared == (opened.pairing.caller == opened.pairing.upstream)

    opened.run(scenario)


def test_a_call_as_a_task_of_a_tool_without_tasks(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        task = await client.start("add", {"a": 1, "b": 1})
        assert (await task.result()).text == "2"

    opened.run(scenario)


def test_many_calls_at_once(opened: Open) -> None:
    async def scenario(client: Client) -> None:
        results: list[Any] = await asyncio.gather(
            *(client.call("add", {"a": n, "b": n}) for n in range(20))
        )
        assert [each.text for each in results] == [str(2 * n) for n in range(20)]

    opened.run(scenario)


def test_the_end_of_a_visit_reaches_a_legacy_caller() -> None:
    async def scenario() -> None:
        upstream = ScriptedServer({"initialize": INITIALIZED, "logging/setLevel": {}})
        proxy = Proxy(upstream, mode=LEGACY)
        told: list[bytes] = []
        connection = proxy.connect(told.append)

        async def until(words: bytes) -> dict[str, Any]:
            while not (found := [each for each in told if words in each]):
                await asyncio.sleep(0.01)
            message: dict[str, Any] = json.loads(found[0])
            return message

        def say(**message: Any) -> None:
            connection.receive(json.dumps({"jsonrpc": "2.0", **message}).encode())

        client = {"name": "c", "version": "1"}
        able: dict[str, Any] = {"elicitation": {"url": {}}}
        hello = {"protocolVersion": LEGACY, "capabilities": able, "clientInfo": client}
        say(id=1, method="initialize", params=hello)
        await until(b'"protocolVersion"')
        say(method="notifications/initialized")
        say(id=2, method="tools/call", params={"name": "visit"})
        await upstream.until_method("tools/call")
        page = {"mode": "url", "message": "m", "url": "https://a.example", "elicitationId": "e1"}
        upstream.say({"id": 9, "method": "elicitation/create", "params": page})
        asked = await until(b"elicitation/create")
        say(id=asked["id"], result={"action": "accept"})
        await upstream.until(lambda message: message.get("id") == 9)
        upstream.tell("notifications/elicitation/complete", {"elicitationId": "e1"})
        done = await until(b"notifications/elicitation/complete")
        assert done["params"] == {"elicitationId": "e1"}
        await connection.close()
        await proxy.close()

    run(scenario())
