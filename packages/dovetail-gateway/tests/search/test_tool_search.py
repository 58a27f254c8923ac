"""Search mode: a short list, tools that are found by searching, and calls by name."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest

from dovetail import Client, Context, Middleware, Options, Proxy, Server, ToolSearch
from dovetail.auth import Guard, Limits, OAuth, Rate
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import Encoded
from dovetail.core.principal import Principal
from dovetail.errors import DuplicateError, InvalidParamsError, RateLimitError, UsageError
from dovetail.observability import AuditLog
from dovetail.spec.header_params import Header
from dovetail.testing import connect
from tests.patience import CAP
from tests.unit.talk import (
    ERAS,
    LEGACY,
    MODERN,
    REVISIONS,
    answer,
    ask,
    call,
    refusal,
    request,
    run,
    text_of,
)

OWNER = Principal("owner", ["mail"])
STRANGER = Principal("stranger")
SEARCH = {"search_tools", "call_tool"}


def make_server(**how: Any) -> Server:
    options = Options(state="memory://")
    server = Server("office", tool_search=ToolSearch(["ping"]), options=options, **how)

    @server.tool(annotations={"readOnlyHint": True})
    async def ping() -> str:
        """Answer at once."""
        return "pong"

    @server.tool
    async def add_numbers(a: int, b: int) -> int:
        """Add two numbers. The result is their sum."""
        return a + b

    @server.tool(scopes={"mail"})
    async def send_mail(to: Annotated[str, "The recipient."]) -> str:
        """Send an email."""
        return f"sent to {to}"

    @server.tool(hidden=True)
    async def old_ping() -> str:
        """Answer at once, as before."""
        return "old pong"

    @server.tool
    async def ask_name(ctx: Context) -> str:
        """Ask the user for a name."""
        ctx.progress(1, 2)
        answer = await ctx.elicit("Name?", {"type": "object", "properties": {"name": {}}})
        return str(answer.data)

    return server


def found(server: Server, query: str, **how: Any) -> list[dict[str, Any]]:
    limit = {"limit": how.pop("limit")} if "limit" in how else {}
    result = call(server, "search_tools", {"query": query, **limit}, **how)
    tools: list[dict[str, Any]] = json.loads(text_of(result))["tools"]
    return tools


def forward(server: Server, name: str, arguments: Any = None, **how: Any) -> dict[str, Any]:
    given = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return call(server, "call_tool", given, **how)


# -- the list ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_list_shows_pinned_tools_and_the_two_of_search(revision: str) -> None:
    tools = ask(make_server(), "tools/list", revision=revision)["tools"]
    assert {tool["name"] for tool in tools} == SEARCH | {"ping"}


def test_a_thousand_tools_make_a_list_of_at_most_6_kb() -> None:
    names = [f"service{number % 20}_operation_{number}" for number in range(1000)]
    server = Server("large", tool_search=ToolSearch(names[:5], about="Twenty services."))

    async def operation(project: str, dry_run: bool = False, limit: int = 50) -> str:
        """Do one of the many things that the services of this server can do for a project."""
        return project

    for name in names:
        server.tools.add(operation, name=name)
    for revision in ERAS:
        tools = ask(server, "tools/list", revision=revision)["tools"]
        assert len(tools) == 7
        assert len(json.dumps(tools)) <= 6000
    assert found(server, "operation 777")[0]["name"] == "service17_operation_777"
    assert text_of(forward(server, names[999], {"project": "p"})) == "p"


def test_the_list_has_one_page() -> None:
    server = Server("s", tool_search=ToolSearch(["t4"]), options=Options(page_size=2))
    for number in range(6):
        server.tools.add(lambda: "", name=f"t{number}", blocking=False)
    page = ask(server, "tools/list")
    assert [tool["name"] for tool in page["tools"]] == ["search_tools", "call_tool", "t4"]
    assert "nextCursor" not in page
    error = refusal(server, "tools/list", {"cursor": "x"})
    assert error["code"] == -32602 and "one page" in error["message"]


def test_without_search_mode_the_list_is_whole() -> None:
    server = Server("s")
    server.tools.add(lambda: "", name="t", blocking=False)
    assert [tool["name"] for tool in ask(server, "tools/list")["tools"]] == ["t"]


def test_about_tells_models_what_they_can_search_for() -> None:
    server = Server("s", tool_search=ToolSearch(about="Mail and calendars."))
    [search, _] = ask(server, "tools/list")["tools"]
    assert search["description"].endswith("Topics: Mail and calendars.")
    assert search["annotations"] == {"readOnlyHint": True}


@pytest.mark.parametrize("name", sorted(SEARCH))
def test_the_names_of_the_two_tools_are_taken(name: str) -> None:
    with pytest.raises(DuplicateError, match=name):
        make_server().tools.add(lambda: "", name=name)


def test_each_server_has_its_own() -> None:
    search = ToolSearch()
    Server("one", tool_search=search)
    with pytest.raises(UsageError, match="belongs to one server"):
        Server("two", tool_search=search)


def test_pinned_is_a_list_of_names() -> None:
    with pytest.raises(UsageError, match="a list of tool names, got 'ping'"):
        ToolSearch("ping")


# -- searching --------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_a_match_has_name_description_and_schema(revision: str) -> None:
    [best, *_] = found(make_server(), "what is the sum of two numbers?", revision=revision)
    assert best["name"] == "add_numbers"
    assert best["description"] == "Add two numbers."
    assert best["inputSchema"]["required"] == ["a", "b"]


def test_the_number_of_matches_is_limited() -> None:
    server = make_server()
    assert len(found(server, "add send ask answer", limit=2)) == 2
    for limit in (0, 21):
        refused = call(server, "search_tools", {"query": "x", "limit": limit})
        assert refused["isError"] is True and "limit" in text_of(refused)


def test_tools_that_are_not_listed_are_not_found_but_can_be_called() -> None:
    server = make_server()
    assert [tool["name"] for tool in found(server, "answer at once")] == ["ping"]
    assert text_of(call(server, "old_ping")) == "old pong"
    assert text_of(forward(server, "old_ping")) == "old pong"


def test_no_match_is_said_in_words() -> None:
    result = call(make_server(), "search_tools", {"query": "zzzz"})
    assert text_of(result).startswith("No tool matches 'zzzz'")
    assert "isError" not in result or result["isError"] is False


def test_changes_are_seen_by_the_next_search() -> None:
    server = make_server()
    server.tools.add(lambda: "", name="book_flight", blocking=False)
    assert found(server, "flight")[0]["name"] == "book_flight"
    server.tools.remove("book_flight")
    assert text_of(call(server, "search_tools", {"query": "flight"})).startswith("No tool")
    assert "Unknown tool" in text_of(forward(server, "book_flight"))


def test_long_schemas_are_left_out_but_not_that_of_the_best_match() -> None:
    server = Server("s", tool_search=ToolSearch())
    for name in ("report_a", "report_b"):
        schema = {"type": "object", "properties": {"x": {"description": "y" * 20_000}}}
        server.tools.add(lambda x: "", name=name, input_schema=schema, blocking=False)
    [first, second] = found(server, "report")
    assert "inputSchema" in first and "inputSchema" not in second
    assert "search for 'report_b'" in second["note"]
    assert "inputSchema" in found(server, "report_b")[0]


def test_a_long_description_is_shortened() -> None:
    server = Server("s", tool_search=ToolSearch())
    server.tools.add(lambda: "", name="t", description="long " * 500, blocking=False)
    assert len(found(server, "t long")[0]["description"]) == 300


# -- calling ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_forwarded_call_has_the_result_of_a_direct_one(revision: str) -> None:
    server = make_server()
    arguments = {"a": 2, "b": 3}
    direct = call(server, "add_numbers", arguments, revision=revision)
    assert forward(server, "add_numbers", arguments, revision=revision) == direct


def test_arguments_may_be_json_in_a_string() -> None:
    assert text_of(forward(make_server(), "add_numbers", '{"a": 2, "b": 3}')) == "5"


def test_arguments_are_validated_by_the_named_tool() -> None:
    refused = forward(make_server(), "add_numbers", {"a": "x"})
    assert refused["isError"] is True
    assert text_of(refused).startswith("Invalid arguments for add_numbers:")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"name": "add_number"}, "Unknown tool: 'add_number'; did you mean 'add_numbers'"),
        ({"name": "call_tool"}, "call_tool cannot call itself"),
        ({"nam": "ping"}, "Invalid arguments for call_tool"),
        ({"name": "ping", "extra": 1}, "Invalid arguments for call_tool"),
        ({"name": 5}, "Invalid arguments for call_tool"),
        ({}, "Invalid arguments for call_tool"),
    ],
)
@pytest.mark.parametrize("revision", ERAS)
def test_a_call_that_names_no_tool_says_what_is_wrong(
    arguments: dict[str, Any], text: str, revision: str
) -> None:
    refused = call(make_server(), "call_tool", arguments, revision=revision)
    assert refused["isError"] is True
    assert text in text_of(refused)


@pytest.mark.parametrize("revision", ERAS)
def test_a_named_tool_can_report_progress_and_ask(revision: str) -> None:
    async def scenario() -> tuple[str, list[float]]:
        seen: list[float] = []

        async def name(_: Any) -> dict[str, str]:
            return {"name": "Anna"}

        async with connect(make_server(), mode=revision, elicit=name) as client:
            result = await client.call(
                "call_tool",
                {"name": "ask_name"},
                progress=lambda report: seen.append(report.progress),
            )
            return result.text, seen

    text, seen = run(scenario())
    assert text == "{'name': 'Anna'}"
    assert seen and set(seen) == {1}


@pytest.mark.parametrize("revision", ERAS)
def test_a_named_tool_can_run_as_a_task(revision: str) -> None:
    server = make_server()

    @server.tool(task="required")
    async def print_book(title: str) -> str:
        return f"{title}, printed"

    async def scenario() -> str:
        async with connect(server, mode=revision) as client:
            task = await client.start(
                "call_tool", {"name": "print_book", "arguments": {"title": "Emma"}}
            )
            return (await task.result()).text

    assert run(scenario()) == "Emma, printed"


def test_call_tool_is_listed_as_a_task_only_if_a_tool_is_one() -> None:
    server = make_server()
    listed = {tool["name"]: tool for tool in ask(server, "tools/list")["tools"]}
    assert "execution" not in listed["call_tool"]
    assert "tasks" not in server.capabilities()
    server.tools.add(lambda: "", name="t", blocking=False, task="optional")
    listed = {tool["name"]: tool for tool in ask(server, "tools/list")["tools"]}
    assert listed["call_tool"]["execution"] == {"taskSupport": "optional"}


# -- permissions ------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_callers_find_and_call_only_what_they_may(revision: str) -> None:
    server = make_server()
    assert found(server, "send email", principal=OWNER, revision=revision)[0]["name"] == "send_mail"
    given = {"to": "b"}
    sent = forward(server, "send_mail", given, principal=OWNER, revision=revision)
    assert text_of(sent) == "sent to b"
    names = [
        tool["name"] for tool in found(server, "add email", principal=STRANGER, revision=revision)
    ]
    assert "send_mail" not in names and names
    # The same words as for a tool that does not exist.
    hidden = forward(server, "send_mail", given, principal=STRANGER, revision=revision)
    unknown = forward(server, "send_fax", given, principal=STRANGER, revision=revision)
    assert text_of(hidden) == text_of(unknown).replace("send_fax", "send_mail")
    assert "send_mail" not in text_of(forward(server, "send_mai", principal=STRANGER))


def test_a_read_only_guard_holds_for_forwarded_calls() -> None:
    async def scenario() -> None:
        async with connect(make_server(), guard=Guard(read_only=True)) as client:
            assert {tool.name for tool in await client.list_tools()} == SEARCH | {"ping"}
            assert (await client.call("call_tool", {"name": "ping"})).text == "pong"
            given = {"name": "add_numbers", "arguments": {"a": 1, "b": 2}}
            refused = await client.call("call_tool", given)
            assert refused.is_error and refused.text.startswith("Unknown tool: 'add_numbers'")
            assert "add_numbers" not in (await client.call("search_tools", {"query": "add"})).text

    run(scenario())


def test_limits_and_audit_are_for_the_named_tool(tmp_path: Any) -> None:
    log = tmp_path / "audit.log"
    limits = Limits(per_tool={"ping": Rate(0.001, burst=1)})
    guard = Guard(limits=limits, audit=AuditLog(log, arguments="redacted"))

    async def scenario() -> None:
        async with connect(make_server(), guard=guard) as client:
            await client.call("call_tool", {"name": "ping"})
            with pytest.raises(RateLimitError):
                await client.call("call_tool", {"name": "ping"})
            given = {"name": "add_numbers", "arguments": {"a": 1, "b": 2}}
            assert (await client.call("call_tool", given)).data == 3

    run(scenario())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    calls = [line for line in lines if line["method"] == "tools/call"]
    assert [line["name"] for line in calls] == ["ping", "ping", "add_numbers"]
    assert calls[-1]["arguments"] == {"a": 1, "b": 2}


def test_a_missing_scope_that_can_be_requested_is_challenged() -> None:
    guard = Guard(OAuth("https://id.example", "https://office.example/mcp", step_up={"mail"}))

    async def scenario() -> None:
        async with connect(make_server(), guard=guard, principal=STRANGER) as client:
            assert "send_mail" in (await client.call("search_tools", {"query": "email"})).text
            with pytest.raises(Exception, match="Insufficient scope: this needs mail"):
                await client.call("call_tool", {"name": "send_mail", "arguments": {"to": "b"}})

    run(scenario())


def test_middleware_sees_the_named_tool() -> None:
    seen: list[tuple[str, dict[str, Any]]] = []

    class Watch(Middleware):
        async def call_tool(self, request: Any, call_next: Any) -> Any:
            seen.append((request.name, request.arguments))
            request.arguments["b"] = 40
            return await call_next(request)

    server = make_server(middleware=[Watch()])
    assert text_of(forward(server, "add_numbers", {"a": 2, "b": 3})) == "42"
    assert seen == [("add_numbers", {"a": 2, "b": 40})]


# -- transports -------------------------------------------------------------------------------


def test_over_http_the_headers_are_those_of_call_tool() -> None:
    server = make_server()

    @server.tool
    async def in_region(region: Annotated[str, Header("Region")]) -> str:
        """Name the region."""
        return region

    params = {
        "name": "call_tool",
        "arguments": {"name": "in_region", "arguments": {"region": "eu"}},
    }
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "call_tool",
    }

    async def scenario() -> httpx.Response:
        transport = httpx.ASGITransport(server.http_app(allowed_hosts=["office"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://office") as client:
            body = request("tools/call", params, revision=MODERN)
            return await client.post("/mcp", content=body, headers=headers)

    response = run(scenario())
    assert response.status_code == 200
    assert text_of(response.json()["result"]) == "eu"


def test_a_question_of_a_named_tool_is_bound_to_the_call_that_was_sent() -> None:
    server = make_server()
    given = {"name": "call_tool", "arguments": {"name": "ask_name"}}

    async def scenario() -> tuple[Any, Any]:
        how: dict[str, Any] = {"revision": MODERN, "capabilities": {"elicitation": {}}}
        first = (await answer(server, "tools/call", given, **how))["result"]
        [key] = first["inputRequests"]
        rest = {
            "requestState": first["requestState"],
            "inputResponses": {key: {"action": "accept", "content": {"name": "Eva"}}},
        }
        direct = {"name": "ask_name", "arguments": {}}
        stolen = await answer(server, "tools/call", {**direct, **rest}, **how)
        return stolen, await answer(server, "tools/call", {**given, **rest}, **how)

    stolen, good = run(scenario())
    assert "error" in stolen
    assert text_of(good["result"]) == "{'name': 'Eva'}"


def test_searches_at_the_same_time_build_one_index() -> None:
    server = make_server()

    async def scenario() -> None:
        async with connect(server, mode=LEGACY) as client:
            searches = [client.call("search_tools", {"query": "email"}) for _ in range(20)]
            results = await asyncio.gather(*searches)
            assert len({result.text for result in results}) == 1

    run(scenario())


def test_a_guard_learns_that_a_session_has_ended() -> None:
    class Sessions(Middleware):
        ended = 0

        def session_ended(self, revision: str, transport: str, duration: float) -> None:
            self.ended += 1

    async def scenario() -> None:
        server = make_server()
        await server.start()
        line = server.connect(lambda _: None, guard=Guard(middleware=[sessions]))
        info = {"name": "c", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        line.receive(request("initialize", params))
        await line.close()

    sessions = Sessions()
    run(scenario())
    assert sessions.ended == 1


def test_the_exact_name_comes_first() -> None:
    server = Server("s", tool_search=ToolSearch())
    for name in ("mail", "mail_mail_mail", "send-mail"):
        server.tools.add(lambda: "", name=name, blocking=False)
    assert found(server, " send-mail ")[0]["name"] == "send-mail"


# -- other servers ----------------------------------------------------------------------------


def make_shop(**how: Any) -> Server:
    shop = Server("shop", **how)

    @shop.tool
    async def sell_book(title: str) -> str:
        """Sell a book to a customer."""
        return f"sold {title}"

    return shop


@pytest.mark.parametrize("revision", ERAS)
def test_tools_of_mounted_servers_are_found_and_called(revision: str) -> None:
    server = make_server()
    server.mount(make_shop(), prefix="shop")
    assert {t["name"] for t in ask(server, "tools/list", revision=revision)["tools"]} == SEARCH | {
        "ping"
    }
    assert found(server, "sell a book", revision=revision)[0]["name"] == "shop_sell_book"
    sold = forward(server, "shop_sell_book", {"title": "Emma"}, revision=revision)
    assert text_of(sold) == "sold Emma"
    unknown = forward(server, "shop_sell_boot", revision=revision)
    assert "did you mean 'shop_sell_book'" in text_of(unknown)


def test_a_server_in_search_mode_can_be_mounted() -> None:
    outer = Server("outer")
    outer.mount(make_shop(tool_search=ToolSearch()), prefix="shop")
    names = [tool["name"] for tool in ask(outer, "tools/list")["tools"]]
    assert names == ["shop_search_tools", "shop_call_tool"]
    result = call(outer, "shop_search_tools", {"query": "sell"})
    assert json.loads(text_of(result))["tools"][0]["name"] == "sell_book"
    given = {"name": "sell_book", "arguments": {"title": "Emma"}}
    assert text_of(call(outer, "shop_call_tool", given)) == "sold Emma"


def test_middleware_that_changes_the_list_changes_what_is_found() -> None:
    class Hide(Middleware):
        async def list_tools(self, request: Any, call_next: Any) -> Any:
            page = await call_next(request)
            page.items = [tool for tool in page.items if tool.name != "add_numbers"]
            return page

    server = make_server(middleware=[Hide()])
    assert "add_numbers" not in text_of(call(server, "search_tools", {"query": "add numbers"}))


def test_an_error_of_the_tool_itself_is_not_an_unknown_tool() -> None:
    server = make_server()

    @server.tool(hidden=True)
    async def picky() -> str:
        raise InvalidParamsError("not today")

    given = {"name": "call_tool", "arguments": {"name": "picky"}}
    assert refusal(server, "tools/call", given)["message"] == "not today"


def test_few_short_lists_are_kept() -> None:
    search = ToolSearch()
    server = Server("s", tool_search=search)
    for number in range(150):
        server.tools.add(lambda: "", name=f"t{number}", blocking=False)
        assert len(ask(server, "tools/list")["tools"]) == 2
    assert len(search._short_lists) <= 64


@pytest.mark.parametrize("mode", ERAS)
def test_over_stdio(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "office.py"
    file.write_text(
        "from dovetail import Server, ToolSearch\n"
        "server = Server('office', tool_search=ToolSearch())\n"
        "@server.tool\n"
        "async def send_mail(to: str) -> str:\n"
        "    'Send an email.'\n"
        "    return f'sent to {to}'\n"
        "server.run()\n"
    )

    async def scenario() -> None:
        async with Client([sys.executable, str(file)], mode=mode, timeout=CAP) as client:
            assert {tool.name for tool in await client.list_tools()} == SEARCH
            result = await client.call("search_tools", {"query": "write an email"})
            assert json.loads(result.text)["tools"][0]["name"] == "send_mail"
            given = {"name": "send_mail", "arguments": {"to": "anna"}}
            assert (await client.call("call_tool", given)).text == "sent to anna"

    run(scenario())


@pytest.mark.parametrize("mode", ERAS)
def test_tools_behind_a_proxy_are_found_called_and_may_ask(mode: str, tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(
        "from dovetail import Context, Server\n"
        "server = Server('shop')\n"
        "@server.tool\n"
        "async def sell_book(title: str, ctx: Context) -> str:\n"
        "    'Sell a book.'\n"
        "    form = {'type': 'object', 'properties': {'name': {}}}\n"
        "    buyer = await ctx.elicit('To whom?', form)\n"
        "    return f'sold {title} to {buyer.data}'\n"
        "server.run()\n"
    )
    server = make_server()
    server.mount(Proxy([sys.executable, str(file)]), prefix="shop")

    async def name(_: Any) -> dict[str, str]:
        return {"name": "Anna"}

    async def scenario() -> None:
        async with connect(server, mode=mode, elicit=name, timeout=CAP) as client:
            result = await client.call("search_tools", {"query": "sell a book"})
            assert json.loads(result.text)["tools"][0]["name"] == "shop_sell_book"
            given = {"name": "shop_sell_book", "arguments": {"title": "Emma"}}
            sold = await client.call("call_tool", given)
            assert sold.text == "sold Emma to {'name': 'Anna'}"
            wrong = await client.call("call_tool", {**given, "name": "shop_sell_boot"})
            assert wrong.is_error and "did you mean 'shop_sell_book'" in wrong.text

    run(scenario())


def test_a_list_of_a_proxy_that_breaks_the_protocol_can_be_searched() -> None:
    odd: list[dict[str, Any]] = [
        {"name": "odd_mail"},
        {"name": "odd_mail_2", "description": 5, "inputSchema": [], "annotations": 7},
        {"name": "odd_mail_3", "inputSchema": {"properties": {"a": 1, "b": {"description": 2}}}},
    ]
    search = ToolSearch()
    server = Server("s", tool_search=search)
    server.handlers["tools/list"] = MethodHandler(
        lambda _: Encoded(json.dumps({"tools": odd}).encode())
    )
    search.wrap(server.handlers)
    assert [tool["name"] for tool in found(server, "mail")] == [tool["name"] for tool in odd]


@pytest.mark.parametrize(
    "text",
    ['{},"name":"wipe"', '{}},"method":"tools/list","params":{"name":"x","arguments":{}', "[1]"],
)
def test_arguments_as_text_cannot_add_members_to_the_call(text: str) -> None:
    upstream = Server("upstream")
    seen: list[str] = []

    @upstream.tool(annotations={"readOnlyHint": True})
    async def peek() -> str:
        """Look."""
        seen.append("peek")
        return "looked"

    @upstream.tool
    async def wipe() -> str:
        """Delete everything."""
        seen.append("wipe")
        return "deleted"

    async def scenario() -> None:
        gate = Server("gate", tool_search=ToolSearch(), guard=Guard(read_only=True))
        proxy = Proxy(upstream, name="up")
        gate.mount(proxy, "up")
        async with Client(gate) as client:
            good = await client.call("call_tool", {"name": "up_peek", "arguments": "{}"})
            assert good.text == "looked"
            bad = await client.call("call_tool", {"name": "up_peek", "arguments": text})
            assert bad.is_error
        await proxy.close()

    run(scenario())
    assert seen == ["peek"]
