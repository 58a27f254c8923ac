"""Tools without permission are hidden in lists, pages, caches, suggestions and errors."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from dovetail import Context, Options, ResourceNotFoundError, Server, ToolAnnotations
from dovetail.auth import Guard, OAuth
from dovetail.core.principal import Principal
from tests.unit.talk import ERAS, LEGACY, MODERN, Wire, ask, refusal, request, run

NOBODY = None
READER = Principal("reader", ["read"])
WRITER = Principal("writer", ["read", "write"])
ROOT = Principal("root", trusted=True)
READS = ToolAnnotations(read_only_hint=True)


def make_server(**options: Any) -> Server:
    server = Server("notes", options=Options(**options))

    @server.tool(annotations=READS)
    def open_tool() -> str:
        return "open"

    @server.tool(annotations=READS, scopes={"read"})
    def read_tool() -> str:
        return "read"

    @server.tool(scopes={"read", "write"})
    def write_tool() -> str:
        return "written"

    @server.tool(annotations=READS)
    async def peek(uri: str, ctx: Context) -> str:
        try:
            return str((await ctx.read_resource(uri))[0].uri)
        except ResourceNotFoundError:
            return "nothing there"

    @server.prompt(scopes={"read"})
    def read_prompt(topic: str) -> str:
        return topic

    @server.complete("read_prompt", "topic")
    def topics(text: str) -> list[str]:
        return ["a"]

    @server.resource("notes://read", scopes={"read"})
    def read_resource() -> str:
        return "read"

    @server.resource("files://{path}", scopes={"write"})
    def file(path: int) -> str:
        return str(path)

    @server.complete("files://{path}", "path")
    def paths(text: str) -> list[str]:
        return ["1"]

    return server


def names(server: Server, method: str, principal: Principal | None, **how: Any) -> list[str]:
    [listed] = [
        value
        for key, value in ask(server, method, principal=principal, **how).items()
        if key != "nextCursor"
    ]
    return [entry.get("uri") or entry.get("uriTemplate") or entry["name"] for entry in listed]


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize(
    ("principal", "tools", "prompts", "resources", "templates"),
    [
        (NOBODY, ["open_tool", "peek"], [], [], []),
        (READER, ["open_tool", "read_tool", "peek"], ["read_prompt"], ["notes://read"], []),
        (
            WRITER,
            ["open_tool", "read_tool", "write_tool", "peek"],
            ["read_prompt"],
            ["notes://read"],
            ["files://{path}"],
        ),
        (
            ROOT,
            ["open_tool", "read_tool", "write_tool", "peek"],
            ["read_prompt"],
            ["notes://read"],
            ["files://{path}"],
        ),
    ],
)
def test_lists_depend_on_the_callers_scopes(
    revision: str,
    principal: Principal | None,
    tools: list[str],
    prompts: list[str],
    resources: list[str],
    templates: list[str],
) -> None:
    server = make_server()
    # Twice, and others in between: what is encoded for one must not be told to another.
    for _ in range(2):
        assert names(server, "tools/list", principal, revision=revision) == tools
        assert names(server, "prompts/list", principal, revision=revision) == prompts
        assert names(server, "resources/list", principal, revision=revision) == resources
        shown = names(server, "resources/templates/list", principal, revision=revision)
        assert shown == templates
        for other in (ROOT, NOBODY, READER, WRITER):
            names(server, "tools/list", other, revision=revision)


def test_pages_contain_only_visible_items() -> None:
    server = Server("s", options=Options(page_size=2))
    for number in range(9):
        server.tools.add(
            lambda: "", name=f"t{number}", scopes={"deep"} if number % 3 else (), blocking=False
        )
    seen: list[list[str]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = ask(server, "tools/list", cursor)
        seen.append([tool["name"] for tool in page["tools"]])
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    assert seen == [["t0", "t3"], ["t6"]]
    deep = Principal("d", ["deep"])
    page = ask(server, "tools/list", principal=deep)
    assert [tool["name"] for tool in page["tools"]] == ["t0", "t1"]


def test_lists_that_depend_on_the_caller_are_private() -> None:
    server = make_server()
    answer = json.loads(run(server.handle(_modern("tools/list"))) or b"")
    assert answer["result"]["cacheScope"] == "private"
    plain = Server("p")
    plain.tools.add(lambda: "", name="t")
    answer = json.loads(run(plain.handle(_modern("tools/list"))) or b"")
    assert answer["result"]["cacheScope"] == "public"


def _modern(method: str) -> str:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta}})


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize(
    ("method", "hidden", "absent"),
    [
        ("tools/call", {"name": "write_tool", "arguments": {}}, {"name": "write_tooo"}),
        ("prompts/get", {"name": "read_prompt", "arguments": {}}, {"name": "read_promqt"}),
        ("resources/read", {"uri": "notes://read"}, {"uri": "notes://reed"}),
        ("resources/read", {"uri": "files://1"}, {"uri": "filez://1"}),
        ("resources/read", {"uri": "files://x"}, {"uri": "filez://x"}),
        ("resources/read", {"uri": "files://../x"}, {"uri": "filez://../x"}),
    ],
)
def test_hidden_items_answer_like_missing_ones(
    revision: str, method: str, hidden: dict[str, Any], absent: dict[str, Any]
) -> None:
    server = make_server()
    [one, other] = [
        refusal(server, method, params, revision=revision) for params in (hidden, absent)
    ]
    assert one["code"] == other["code"]
    words = [error["message"].partition(";")[2] for error in (one, other)]
    assert words[0] == words[1]
    for name in ("read_tool", "write_tool", "read_prompt", "notes://read", "files://{path}"):
        assert name not in other["message"]


@pytest.mark.parametrize(
    "reference",
    [
        ({"type": "ref/prompt", "name": "read_prompt"}, "topic"),
        ({"type": "ref/resource", "uri": "files://{path}"}, "path"),
    ],
)
def test_hidden_items_have_no_completions(reference: tuple[dict[str, str], str]) -> None:
    server = make_server()
    ref, name = reference
    params = {"ref": ref, "argument": {"name": name, "value": ""}}
    assert ask(server, "completion/complete", params, principal=WRITER)["completion"]["values"]
    assert refusal(server, "completion/complete", params)["code"] == -32602


def test_a_handler_reads_with_the_scopes_of_its_caller() -> None:
    server = make_server()
    params = {"name": "peek", "arguments": {"uri": "notes://read"}}
    for principal, expected in ((NOBODY, "nothing there"), (READER, "notes://read")):
        result = ask(server, "tools/call", params, principal=principal)
        assert result["content"][0]["text"] == expected


@pytest.mark.parametrize("uri", ["notes://deep", "deep://1"])
def test_a_step_up_resource_names_its_scopes_everywhere(uri: str) -> None:
    async def play() -> None:
        server = Server("s")

        @server.resource("notes://deep", scopes={"deep"})
        def deep() -> str:
            return "deep"

        @server.resource("deep://{number}", scopes={"deep"})
        def deeper(number: int) -> str:
            return str(number)

        oauth = OAuth("https://id.example", "https://me.example/mcp", step_up={"deep"})
        await server.start()
        heard: list[Any] = []
        line = server.connect(lambda message: heard.append(json.loads(message)), guard=Guard(oauth))

        async def say(message: bytes) -> Any:
            heard.clear()
            line.receive(message)
            while not heard:
                await asyncio.sleep(0)
            return heard[0]

        listed = await say(request("resources/templates/list", revision=MODERN))
        assert listed["result"]["resourceTemplates"][0]["uriTemplate"] == "deep://{number}"
        read = await say(request("resources/read", {"uri": uri}, revision=MODERN))
        assert read["error"]["data"] == {"scopes": ["deep"]}
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        listening = await say(request("subscriptions/listen", wanted, id=2, revision=MODERN))
        assert listening["params"]["notifications"] == {"resourceSubscriptions": []}
        await line.close()
        heard.clear()
        line = server.connect(lambda message: heard.append(json.loads(message)), guard=Guard(oauth))
        hello = {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        await say(request("initialize", hello))
        subscribed = await say(request("resources/subscribe", {"uri": uri}, id=2))
        assert subscribed["error"]["code"] == 403
        await line.close()
        await server.close()

    run(play())


def test_an_unsafe_path_of_a_hidden_resource_is_not_revealed() -> None:
    server = Server("s")

    @server.resource("disk://{+path}", scopes={"deep"})
    def disk(path: str) -> str:
        return path

    uri = {"uri": "disk://a/../b"}
    deep = refusal(server, "resources/read", uri, principal=Principal("d", ["deep"]))
    assert deep["message"].startswith("Refused")
    assert refusal(server, "resources/read", uri)["message"].startswith("Resource not found")


def test_changes_of_hidden_resources_are_not_sent() -> None:
    async def play() -> None:
        server = make_server()
        legacy = await Wire(server, revision=LEGACY).open()
        answer = await legacy.ask("resources/subscribe", {"uri": "notes://read"})
        assert answer["error"]["code"] == -32002
        heard: list[Any] = []
        line = server.connect(lambda message: heard.append(json.loads(message)))
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        wanted = {"resourceSubscriptions": ["notes://read", "notes://unknown"]}
        params = {"notifications": wanted, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
        line.receive(json.dumps(message).encode())
        while not heard:
            await asyncio.sleep(0)
        server.resource_updated("notes://read")
        for _ in range(5):
            await asyncio.sleep(0)
        assert [message["method"] for message in heard] == [
            "notifications/subscriptions/acknowledged"
        ]
        await line.close()

    run(play())


@pytest.mark.parametrize("revision", ERAS)
def test_a_read_only_server_hides_other_tools(revision: str) -> None:
    async def play() -> list[str]:
        server = make_server()
        wire = _wire(server, revision, Guard(read_only=True))
        return await wire

    assert run(play()) == ["open_tool", "read_tool", "peek"]


async def _wire(server: Server, revision: str, guard: Guard) -> list[str]:
    app = server.http_app(guard=guard, stateless=True)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://127.0.0.1",
        headers={"accept": "application/json, text/event-stream"},
    ) as client:
        message = json.loads(_modern("tools/list"))
        headers = {"mcp-protocol-version": revision}
        if revision == MODERN:
            headers["mcp-method"] = "tools/list"
        else:
            del message["params"]
        listed = await client.post("/mcp", json=message, headers=headers)
        names = [tool["name"] for tool in listed.json()["result"]["tools"]]
        # Scopes are still asked for; nobody came with any.
        assert "read_tool" not in names
    found = make_server()
    line: list[Any] = []
    connection = found.connect(
        lambda answer: line.append(json.loads(answer)), principal=ROOT, guard=guard
    )
    await found.start()
    connection.receive(_modern("tools/list").encode())
    while not line:
        await asyncio.sleep(0)
    await connection.close()
    return [tool["name"] for tool in line[0]["result"]["tools"]]


@pytest.mark.parametrize("task", ["optional", "required"])
def test_a_task_belongs_to_its_owner_and_keeps_its_scopes(task: Any) -> None:
    async def play() -> None:
        server = Server("s", options=Options(state="memory://"))

        @server.tool(task=task, scopes={"deep"})
        async def work(ctx: Context) -> str:
            assert ctx.principal is not None
            return f"{ctx.principal.id} {sorted(ctx.principal.scopes)}"

        heard: list[Any] = []
        anna = server.connect(
            lambda message: heard.append(json.loads(message)),
            principal=Principal("anna", ["deep"]),
        )
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": {"io.modelcontextprotocol/tasks": {}}
            },
        }

        async def say(line: Any, answers: list[Any], id: int, method: str, **params: Any) -> Any:
            message = {"jsonrpc": "2.0", "id": id, "method": method}
            message["params"] = {**params, "_meta": meta}
            line.receive(json.dumps(message).encode())
            while not any(answer.get("id") == id for answer in answers):
                await asyncio.sleep(0.001)
            return next(answer for answer in answers if answer.get("id") == id)

        await server.start()
        made = await say(anna, heard, 1, "tools/call", name="work", arguments={})
        id = made["result"]["taskId"]
        got: Any = {}
        number = 2
        while got.get("status") != "completed":
            got = (await say(anna, heard, number, "tasks/get", taskId=id))["result"]
            assert got["status"] != "failed", got
            number += 1
        assert got["result"]["content"][0]["text"] == "anna ['deep']"
        others: list[Any] = []
        bert = server.connect(
            lambda message: others.append(json.loads(message)),
            principal=Principal("bert", ["deep"]),
        )
        assert "error" in await say(bert, others, 1, "tasks/get", taskId=id)
        await anna.close()
        await bert.close()
        await server.close()

    run(play())
