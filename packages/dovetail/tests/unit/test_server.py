"""The server: capabilities computed from what is there, decorators, and errors that teach."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

import dovetail
from dovetail import Context, Icon, Options, Server
from dovetail.cli.run_stdio import choose_address
from dovetail.errors import DuplicateError, UsageError
from tests.unit.talk import (
    BATCHES,
    ERAS,
    LEGACY,
    MODERN,
    OLDEST,
    REVISIONS,
    answer,
    ask,
    call,
    refusal,
    run,
    text_of,
)


def capabilities(server: Server, revision: str = LEGACY) -> Any:
    if revision == MODERN:
        return ask(server, "server/discover", revision=MODERN)["capabilities"]
    return handshake(server, revision)["capabilities"]


def handshake(server: Server, revision: str) -> Any:
    client = {"name": "t", "version": "1"}
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": client}
    return run(answer(server, "initialize", params))["result"]


# -- capabilities -----------------------------------------------------------------------------


def offer(server: Server, what: str) -> None:
    if what == "tool":
        server.tools.add(lambda: "x", name="t")
    elif what == "prompt":
        server.prompts.add(lambda x: "x", name="p")
    elif what == "resource":
        server.resources.add("n://a", lambda: "x", name="r")
    elif what == "template":
        server.resources.add("n://{x}", lambda x: "x", name="r")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("what", "declared"),
    [
        ("nothing", {}),
        ("tool", {"tools": {"listChanged": True}}),
        ("prompt", {"prompts": {"listChanged": True}}),
        ("resource", {"resources": {"listChanged": True, "subscribe": True}}),
        ("template", {"resources": {"listChanged": True, "subscribe": True}}),
    ],
)
def test_what_is_registered_is_declared_and_nothing_else(
    revision: str, what: str, declared: Any
) -> None:
    server = Server("s")
    offer(server, what)
    assert capabilities(server, revision) == declared


@pytest.mark.parametrize("revision", REVISIONS)
def test_completions_are_declared_where_the_revision_has_a_word_for_it(revision: str) -> None:
    server = Server("s")
    offer(server, "prompt")

    @server.complete("p", "x")
    def xs(typed: str) -> list[str]:
        return []

    assert ("completions" in capabilities(server, revision)) is (revision != OLDEST)


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource", "template", "completer"])
def test_logging_is_declared_when_something_can_log(kind: str) -> None:
    server = Server("s")
    offer(server, "prompt")
    assert "logging" not in capabilities(server)

    def plain(ctx: Context) -> str:
        return "x"

    def with_x(x: str, ctx: Context) -> list[str]:
        return [x]

    if kind == "tool":
        server.tool(plain)
    elif kind == "prompt":
        server.prompt(plain)
    elif kind == "completer":
        server.complete("p", "x")(with_x)
    else:
        server.resource("n://{x}" if kind == "template" else "n://a")(
            with_x if kind == "template" else plain
        )
    assert capabilities(server)["logging"] == {}


def test_capabilities_follow_what_is_added_and_removed() -> None:
    server = Server("s")
    assert capabilities(server) == {}
    offer(server, "tool")
    assert list(capabilities(server)) == ["tools"]
    server.tools.remove("t")
    assert capabilities(server) == {}


@pytest.mark.parametrize("revision", REVISIONS)
def test_extensions_are_declared_where_capabilities_have_them(revision: str) -> None:
    server = Server("s", extensions={"com.example/x": {"on": True}})
    declared = capabilities(server, revision)
    expected = {"extensions": {"com.example/x": {"on": True}}} if revision == MODERN else {}
    assert declared == expected


METHODS = [
    ("tools/list", {}, "tools"),
    ("tools/call", {"name": "x"}, "tools"),
    ("prompts/list", {}, "prompts"),
    ("prompts/get", {"name": "x"}, "prompts"),
    ("resources/list", {}, "resources"),
    ("resources/templates/list", {}, "resources"),
    ("resources/read", {"uri": "n://a"}, "resources"),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}},
        "completions",
    ),
]


@pytest.mark.parametrize("revision", [OLDEST, LEGACY, MODERN])
@pytest.mark.parametrize(("method", "params", "capability"), METHODS)
def test_what_is_not_declared_does_not_exist(
    revision: str, method: str, params: Any, capability: str
) -> None:
    error = refusal(Server("s"), method, params, revision=revision)
    assert error["code"] == -32601
    assert f"needs the capability {capability!r}" in error["message"]


@pytest.mark.parametrize(
    ("revision", "method"),
    [
        (LEGACY, "server/discover"),
        (MODERN, "ping"),
        (MODERN, "logging/setLevel"),
        (MODERN, "resources/subscribe"),
        (LEGACY, "nope"),
        (MODERN, "nope"),
    ],
)
def test_a_method_of_another_era_does_not_exist(revision: str, method: str) -> None:
    server = Server("s")
    offer(server, "resource")
    params = {"uri": "n://a", "level": "info"}
    error = refusal(server, method, params, revision=revision)
    # server/discover belongs to the modern era, whoever asks: without `_meta` it is incomplete.
    assert error["code"] == (-32602 if method == "server/discover" else -32601)


# -- who the server is ------------------------------------------------------------------------


def test_the_server_says_who_it_is_as_far_as_the_revision_can() -> None:
    server = Server(
        "weather",
        version="1.2",
        title="Weather",
        description="Says it",
        website="https://example.com",
        icons=[Icon(src="https://example.com/i.png")],
        instructions="Ask for a city",
    )
    assert handshake(server, LEGACY) == {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "serverInfo": {
            "name": "weather",
            "title": "Weather",
            "version": "1.2",
            "description": "Says it",
            "websiteUrl": "https://example.com",
            "icons": [{"src": "https://example.com/i.png"}],
        },
        "instructions": "Ask for a city",
    }
    assert handshake(server, BATCHES)["serverInfo"] == {"name": "weather", "version": "1.2"}
    assert ask(server, "server/discover", revision=MODERN)["instructions"] == "Ask for a city"
    assert "instructions" not in handshake(Server("s"), LEGACY)
    assert (server.name, server.version) == ("weather", "1.2")


def test_a_server_needs_a_name() -> None:
    with pytest.raises(UsageError, match="a server needs a name"):
        Server("")


def test_options_are_of_their_own_class() -> None:
    with pytest.raises(UsageError, match=r"options is an Options\(...\), got dict"):
        Server("s", options={"timeout": 1})  # type: ignore[arg-type]


# -- decorators -------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["bare", "empty", "options", "call", "call with options"])
def test_decorators_take_any_form_and_give_the_function_back(how: str) -> None:
    server = Server("s")

    def f() -> str:
        return "x"

    for register in (server.tool, server.prompt):
        decorator: Any = register
        if how == "bare":
            assert decorator(f) is f
        elif how == "empty":
            assert decorator()(f) is f
        elif how == "options":
            assert decorator(title="T")(f) is f
        elif how == "call":
            assert decorator(f) is f
        else:
            assert decorator(f, title="T") is f
    [tool], [prompt] = server.tools.list(), server.prompts.list()
    title = "T" if "options" in how else None
    assert (tool.name, tool.title) == ("f", title)
    assert (prompt.name, prompt.title) == ("f", title)


def test_decorated_functions_stay_plain_functions() -> None:
    server = Server("s")

    @server.tool
    def add(a: int, b: int = 2) -> int:
        return a + b

    assert add(1) == 3
    assert text_of(call(server, "add", {"a": 1})) == "3"


def test_a_resource_decorator_needs_its_uri() -> None:
    server = Server("s")
    with pytest.raises(UsageError, match=r"@server.resource\(\"notes://today\"\)"):
        server.resource(lambda: "x")  # type: ignore[arg-type]


def test_what_is_no_function_or_no_option_is_refused() -> None:
    server = Server("s")
    with pytest.raises(UsageError, match="a tool is a function, got int"):
        server.tool(5)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="colour"):
        server.tool(colour="red")(lambda: "x")  # type: ignore[call-overload]


def test_removing_what_is_not_there_names_what_is() -> None:
    server = Server("s")
    offer(server, "tool")
    with pytest.raises(UsageError, match="no tool 'zzzz' to remove; there is: 't'"):
        server.tools.remove("zzzz")
    with pytest.raises(UsageError, match="no resource 'n://a' to remove; there are no resources"):
        server.resources.remove("n://a")
    with pytest.raises(DuplicateError):
        offer(server, "tool")


# -- serving ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ["", "1999-01-01", MODERN])
def test_handle_serves_legacy_requests_at_a_legacy_revision_only(revision: str) -> None:
    with pytest.raises(UsageError, match="revision must be one with a handshake, got"):
        run(Server("s").handle(b"{}", revision=revision))


def test_the_lifespan_is_entered_by_start_and_left_by_close() -> None:
    story: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> Any:
        story.append(f"enter {server.name}")
        yield
        story.append("exit")

    async def scenario() -> None:
        server = Server("s", lifespan=lifespan)
        await server.start()
        await server.start()
        assert story == ["enter s"]
        await server.close()
        assert story == ["enter s", "exit"]

    run(scenario())


@pytest.mark.parametrize("revision", ERAS)
def test_a_result_over_the_limit_is_an_error_that_names_the_limit(revision: str) -> None:
    server = Server("s", options=Options(max_result_bytes=1000))
    server.tools.add(lambda: "x" * 2000, name="big")
    result = call(server, "big", revision=revision)
    assert result["isError"] is True
    assert "the limit is 1,000" in text_of(result)


def test_tracebacks_are_shown_only_where_the_operator_says_so() -> None:
    for shown in (True, False):
        server = Server("s", options=Options(expose_tracebacks=shown))

        @server.tool
        def crash() -> str:
            raise ValueError("a secret detail")

        assert ("a secret detail" in text_of(call(server, "crash"))) is shown


def test_the_first_argument_of_a_decorator_may_be_the_name() -> None:
    server = Server("s")

    @server.tool("look-up", title="Look up")
    async def tool() -> str:
        return "x"

    @server.prompt("say-hello", title="Say hello")
    async def prompt() -> str:
        return "x"

    assert [(each.name, each.title) for each in server.tools.list()] == [("look-up", "Look up")]
    assert [each.name for each in server.prompts.list()] == ["say-hello"]
    assert server.tool(tool, name="direct") is tool
    assert server.prompt(prompt, name="direct") is prompt
    assert [each.name for each in server.tools.list()] == ["look-up", "direct"]


def test_a_name_is_given_once() -> None:
    server = Server("s")
    for decorator in (server.tool, server.prompt):
        with pytest.raises(UsageError, match="given twice, as 'a' and as name='b'"):
            decorator("a", name="b")


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"http": 0, "hots": "x"}, TypeError, "unexpected keyword argument 'hots'"),
        ({"alowed_hosts": []}, TypeError, "did you mean 'allowed_hosts'?"),
        ({"transport": "sse"}, UsageError, "for clients of HTTP+SSE add old_sse='/sse' to http"),
        ({"transport": "websocket"}, UsageError, "transport is 'stdio' or 'http'"),
        ({"transport": "stdio", "http": 0}, UsageError, "takes no transport, host or port"),
        ({"port": 8000}, UsageError, "host and port need transport='http'"),
        ({"path": "/x"}, UsageError, "need http=PORT"),
        ({"stateless": True}, UsageError, "need http=PORT"),
        ({"console": True}, UsageError, "need http=PORT"),
    ],
)
def test_a_wrong_keyword_of_run_is_an_error_that_says_what_to_write(
    options: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught:
        Server("s").run(**options)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ((None, None, None, None), None),
        ((None, "stdio", None, None), None),
        ((8000, None, None, None), "8000"),
        ((None, "http", None, None), "127.0.0.1:8000"),
        ((None, "streamable-http", "::1", 0), "[::1]:0"),
    ],
)
def test_the_address_of_run_in_both_forms(given: Any, address: str | None) -> None:
    assert choose_address(*given) == address


def test_the_name_of_the_class_of_fastmcp_is_explained() -> None:
    with pytest.raises(ImportError, match="its class is Server"):
        from dovetail import FastMCP  # noqa: F401, PLC0415
    assert "Client" in dir(dovetail) and "core" not in dir(dovetail)
