"""The client of the official SDK drives examples/everything.py, over stdio and HTTP, in both eras.

Legacy is the handshake at 2025-11-25, the newest it offers; modern is what it finds out
by itself with server/discover.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    CreateMessageRequestParams,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    Root,
    SamplingCapability,
    SamplingToolsCapability,
    TextContent,
    ToolListChangedNotification,
    ToolUseContent,
)
from pydantic import FileUrl

from tests.deep.interop.desk import Desk, Held, say, text_of
from tests.deep.interop.greenhouse import (
    ARGUMENTS,
    COMMAND,
    EXAMPLE,
    LEGACY,
    MODERN,
    ROOT,
    WAYS,
    Greenhouses,
    Way,
    serve,
)
from tests.patience import CAP

# Whatever the newest revision has dropped (ping, setLevel, subscribe) warns on every call in
# this client, although a legacy server needs it. Just that class is let through.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

Peer = Held[Client, Desk]
PARAMETERS = StdioServerParameters(command=COMMAND, args=ARGUMENTS, cwd=ROOT)
MODES = {"legacy": "legacy", "modern": "auto"}
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
JOURNAL = "greenhouse://journal"

only_legacy = pytest.mark.parametrize("peer", LEGACY, indirect=True, ids=str)
only_modern = pytest.mark.parametrize("peer", MODERN, indirect=True, ids=str)


def find_server(way: Way, houses: Greenhouses) -> Any:
    """What this client takes for a server: the streams of a process, or a URL."""
    if way.transport == "stdio":
        return stdio_client(PARAMETERS, errlog=houses.open_log(way))
    return houses.url(way)


@asynccontextmanager
async def open_client(way: Way, desk: Desk, houses: Greenhouses) -> AsyncIterator[Client]:
    """A client that can do everything a client can do."""

    async def elicit(
        context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        return desk.take_elicitation(params)

    async def sample(
        context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | CreateMessageResultWithTools | ErrorData:
        return desk.take_sampling(params)

    async def roots(context: ClientRequestContext) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///garden"), name="garden")])

    async with Client(
        find_server(way, houses),
        mode=MODES[way.era],
        elicitation_callback=elicit,
        sampling_callback=sample,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
        list_roots_callback=roots,
        logging_callback=desk.take_log,
        message_handler=desk.take_message,
        client_info=mcp_types.Implementation(name="interop", version="1"),
    ) as client:
        yield client


@pytest.fixture(scope="module")
def find_peer(greenhouses: Greenhouses) -> Iterator[Callable[[Way], Peer]]:
    """One client and one server process per way."""
    peers: dict[Way, Peer] = {}

    def find(way: Way) -> Peer:
        if way not in peers:
            peer = Held(way, Desk(), lambda desk: open_client(way, desk, greenhouses))
            peers[way] = peer
            if way == Way("http", "legacy"):
                peer.run(lambda client: hear_something(client, peer.desk))
        return peers[way]

    yield find
    for peer in peers.values():
        peer.close()


async def hear_something(client: Client, desk: Desk) -> None:
    """Make changes until one is heard: this client opens its GET stream on the side."""
    while not desk.heard:
        await client.call_tool("open_bed", {"bed": "hall"})
        await client.call_tool("close_bed", {"bed": "hall"})


@pytest.fixture(params=WAYS, ids=str)
def peer(request: pytest.FixtureRequest, find_peer: Callable[[Way], Peer]) -> Peer:
    found = find_peer(request.param)
    found.desk.reset()
    return found


def call(peer: Peer, tool: str, **arguments: Any) -> CallToolResult:
    return peer.run(lambda client: client.call_tool(tool, arguments))


def error_of(peer: Peer, request: Callable[[Client], Awaitable[Any]]) -> ErrorData:
    with pytest.raises(MCPError) as caught:
        peer.run(request)
    return caught.value.error


async def read_text(client: Client, uri: str) -> str:
    # The journal changes without the client being told, so its cache must not answer.
    result = await client.read_resource(uri, cache_mode="bypass")
    [contents] = result.contents
    assert isinstance(contents, mcp_types.TextResourceContents)
    return contents.text


# -- who is there -------------------------------------------------------------------------


def test_the_server_says_who_it_is(peer: Peer) -> None:
    client = peer.client
    assert client.protocol_version == REVISIONS[peer.era]
    assert client.server_info is not None
    assert client.server_info.name == "greenhouse"
    assert client.server_info.title == "The Greenhouse"
    assert client.server_info.version == "1.0.0"
    assert client.server_info.website_url == "https://example.org/greenhouse"
    assert client.server_info.icons is not None
    assert client.server_info.icons[0].sizes == ["2x2"]
    assert client.instructions is not None
    assert client.instructions.startswith("Measure before you water.")


def test_the_capabilities_are_those_of_what_is_registered(peer: Peer) -> None:
    capabilities = peer.client.server_capabilities.model_dump(exclude_none=True)
    assert capabilities == {
        "tools": {"list_changed": True},
        "prompts": {"list_changed": True},
        "resources": {"list_changed": True, "subscribe": True},
        "completions": {},
        "logging": {},
    }


@only_modern  # there is no server/discover with a handshake
def test_discover_offers_the_modern_revision_and_says_how_long_it_holds(peer: Peer) -> None:
    discovered = peer.client.session.discover_result
    assert discovered is not None
    assert discovered.supported_versions == ["2026-07-28"]
    assert discovered.ttl_ms == 0
    assert discovered.cache_scope == "public"


@pytest.mark.parametrize("way", MODERN, ids=str)
def test_a_client_that_pins_the_modern_revision_needs_no_discovery(
    way: Way, greenhouses: Greenhouses
) -> None:
    async def run() -> str:
        async with (
            asyncio.timeout(CAP),
            Client(find_server(way, greenhouses), mode="2026-07-28") as client,
        ):
            return text_of(await client.call_tool("water", {"bed": "north"}))

    assert asyncio.run(run()) == "The tomato got 1 l."


@only_legacy  # 2026-07-28 has no ping
def test_a_ping_is_answered(peer: Peer) -> None:
    peer.run(lambda client: client.send_ping())


# -- lists --------------------------------------------------------------------------------


async def list_pages(client: Client, kind: str) -> list[list[Any]]:
    pages: list[list[Any]] = []
    cursor: str | None = None
    while True:
        page = await getattr(client, f"list_{kind}")(cursor=cursor)
        pages.append(getattr(page, kind))
        cursor = page.next_cursor
        if cursor is None:
            return pages


async def list_tools(client: Client) -> dict[str, mcp_types.Tool]:
    return {tool.name: tool for page in await list_pages(client, "tools") for tool in page}


@pytest.mark.parametrize(
    ("kind", "first", "count"),
    [
        ("tools", "water", 21),
        ("resources", "rules", 4),
        ("resource_templates", "bed_facts", 3),
        ("prompts", "morning_round", 4),
    ],
)
def test_lists_come_in_pages_of_two(peer: Peer, kind: str, first: str, count: int) -> None:
    pages = peer.run(lambda client: list_pages(client, kind))
    assert [len(page) for page in pages] == [2] * (count // 2) + [1] * (count % 2)
    names = [entry.name for page in pages for entry in page]
    assert names[0] == first
    assert len(set(names)) == count


def test_a_cursor_that_was_never_given_out_is_refused(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.list_tools(cursor="nonsense"))
    assert error.code == mcp_types.INVALID_PARAMS


def test_listings_say_what_was_registered(peer: Peer) -> None:
    tools = peer.run(list_tools)
    water = tools["water"]
    assert water.description == "Water a bed."
    assert water.input_schema["properties"]["bed"]["description"] == "Which bed."
    assert water.input_schema["required"] == ["bed"]
    assert water.output_schema is None
    assert water.annotations is not None
    assert water.annotations.destructive_hint is False
    assert tools["to_fahrenheit"].title == "Celsius to Fahrenheit"
    assert tools["measure"].output_schema is not None
    assert tools["measure"].output_schema["properties"]["celsius"] == {"type": "number"}


def test_the_schema_of_a_plain_value_is_wrapped_only_where_it_has_to_be(peer: Peer) -> None:
    schema = peer.run(list_tools)["to_fahrenheit"].output_schema
    assert schema is not None
    inner = schema["properties"]["result"] if peer.era == "legacy" else schema
    assert inner["type"] == "number"


# -- calling ------------------------------------------------------------------------------


def test_text_is_sent_once(peer: Peer) -> None:
    result = call(peer, "water", bed="north", litres=2)
    assert text_of(result) == "The tomato got 2 l."
    assert result.structured_content is None
    assert not result.is_error


def test_a_typed_result_is_validated_by_the_client(peer: Peer) -> None:
    peer.run(list_tools)  # the schemas it validates by
    result = call(peer, "measure", bed="south")
    expected = {"bed": "south", "celsius": 23.5, "plants": ["basil"], "frost": False}
    assert result.structured_content == expected
    assert text_of(result) == '{"bed":"south","celsius":23.5,"plants":["basil"],"frost":false}'


def test_a_plain_value_is_wrapped_only_where_it_has_to_be(peer: Peer) -> None:
    peer.run(list_tools)
    result = call(peer, "to_fahrenheit", celsius=20)
    assert result.structured_content == ({"result": 68.0} if peer.era == "legacy" else 68.0)
    assert text_of(result) == "68.0"


def test_a_picture_arrives(peer: Peer) -> None:
    [block] = call(peer, "photo", bed="east").content
    assert isinstance(block, mcp_types.ImageContent)
    assert block.mime_type == "image/png"
    assert base64.b64decode(block.data).startswith(b"\x89PNG")


def test_several_blocks_arrive_in_order(peer: Peer) -> None:
    text, image, audio, link, embedded = call(peer, "look_closely", bed="north").content
    assert isinstance(text, TextContent)
    assert text.annotations is not None
    assert text.annotations.audience == ["assistant"]
    assert isinstance(image, mcp_types.ImageContent)
    assert isinstance(audio, mcp_types.AudioContent)
    assert audio.mime_type == "audio/wav"
    assert isinstance(link, mcp_types.ResourceLink)
    assert link.uri == "greenhouse://beds/north"
    assert isinstance(embedded, mcp_types.EmbeddedResource)
    assert isinstance(embedded.resource, mcp_types.TextResourceContents)
    assert embedded.resource.text.startswith("Close the door.")


def test_content_data_and_metadata_arrive_together(peer: Peer) -> None:
    result = call(peer, "count_leaves", bed="north")
    assert text_of(result) == "The tomato has 12 leaves."
    assert result.structured_content == {"plant": "tomato", "leaves": 12}
    assert result.meta is not None
    assert result.meta["example.org/counted-by"] == "hand"


# -- going wrong --------------------------------------------------------------------------


def test_a_tool_error_is_shown_as_written(peer: Peer) -> None:
    result = call(peer, "harvest", bed="east")
    assert result.is_error
    assert text_of(result) == "Ferns are not for eating; harvest north or south."


def test_a_crash_shows_a_reference_and_the_log_has_the_rest(
    peer: Peer, greenhouses: Greenhouses
) -> None:
    result = call(peer, "drop_pot")
    assert result.is_error
    reference = re.search(r"reference (\w+)", text_of(result))
    assert reference is not None
    assert "secret" not in text_of(result)
    log = greenhouses.log(peer.way).read_text()
    assert reference[1] in log
    assert "a secret that only the log may know" in log


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"bed": 7}, "bed"),
        ({}, "bed"),
        ({"bed": "north", "litres": "much"}, "litres"),
        ({"bed": "north", "colour": "red"}, "colour"),
    ],
)
def test_bad_arguments_are_a_result_that_names_them(
    peer: Peer, arguments: dict[str, Any], told: str
) -> None:
    result = call(peer, "water", **arguments)
    assert result.is_error
    assert told in text_of(result)


def test_an_unknown_tool_is_an_error_that_suggests(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.call_tool("watre", {}))
    assert error.code == mcp_types.INVALID_PARAMS
    assert "'water'" in error.message


# -- while a call runs --------------------------------------------------------------------


def test_progress_is_reported_in_order(peer: Peer) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def run(client: Client) -> CallToolResult:
        return await client.call_tool("grow", {"days": 3}, progress_callback=note)

    assert text_of(peer.run(run)) == "Grown for 3 days."
    assert sorted(told) == [(1, 3, "day 1"), (2, 3, "day 2"), (3, 3, "day 3")]


def test_log_messages_come_from_the_level_that_was_asked_for(peer: Peer) -> None:
    async def run(client: Client) -> None:
        meta: Any = None
        if peer.era == "legacy":
            await client.set_logging_level("info")
        else:
            meta = {LOG_LEVEL: "info"}
        await client.call_tool("inspect_pipes", meta=meta)
        await peer.desk.until(lambda: len(peer.desk.logs) == 3)

    peer.run(run)
    by_level = {log.level: log for log in peer.desk.logs}
    assert by_level.keys() == {"info", "warning", "error"}
    assert by_level["info"].data == {"message": "pressure is fine", "bar": 2.5}
    assert by_level["info"].logger == "pipes"
    assert by_level["warning"].data == "valve 2 drips"
    assert by_level["warning"].logger is None


@only_modern  # with a handshake the server may choose a level for a client that named none
def test_a_request_that_names_no_level_gets_no_log_messages(peer: Peer) -> None:
    async def run(client: Client) -> None:
        await client.call_tool("inspect_pipes")
        # Whatever came of it would have come before this.
        meta: Any = {LOG_LEVEL: "error"}
        await client.call_tool("inspect_pipes", meta=meta)
        await peer.desk.until(lambda: len(peer.desk.logs) > 0)

    peer.run(run)
    assert [log.level for log in peer.desk.logs] == ["error"]


async def read_journal(client: Client, since: int = 0) -> list[str]:
    return (await read_text(client, JOURNAL)).splitlines()[since:]


async def wait_for_line(client: Client, since: int, line: str) -> None:
    """Until the journal says so; every look is a round trip, so nothing is slept away."""
    while line not in await read_journal(client, since):
        pass


@pytest.mark.parametrize(
    ("tool", "started", "stopped"),
    [
        ("wait_for_rain", "Somebody waits for rain.", "Nobody waits for rain any more."),
        ("sift_soil", "Somebody sifts soil.", "Nobody wants the soil any more."),
    ],
)
def test_a_call_that_is_cancelled_stops_and_the_server_goes_on(
    peer: Peer, tool: str, started: str, stopped: str
) -> None:
    async def run(client: Client) -> None:
        since = len(await read_journal(client))
        waiting = asyncio.create_task(client.call_tool(tool))
        await wait_for_line(client, since, started)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await wait_for_line(client, since, stopped)

    peer.run(run)


def test_a_call_that_takes_the_client_too_long_is_stopped(peer: Peer) -> None:
    async def run(client: Client) -> None:
        since = len(await read_journal(client))
        with pytest.raises(MCPError) as caught:
            await client.call_tool("wait_for_rain", read_timeout_seconds=0.2)
        assert caught.value.error.code == mcp_types.REQUEST_TIMEOUT
        # On a very busy machine the call is cancelled before it has begun.
        if "Somebody waits for rain." in await read_journal(client, since):
            await wait_for_line(client, since, "Nobody waits for rain any more.")

    peer.run(run)


# -- asking back --------------------------------------------------------------------------


def accept(**content: Any) -> Callable[[ElicitRequestParams], ElicitResult]:
    return lambda params: ElicitResult(action="accept", content=content or None)


def test_a_form_is_shown_and_its_defaults_are_filled_in(peer: Peer) -> None:
    peer.desk.elicit = accept(plant="basil", bed="south", cover=False)
    assert text_of(call(peer, "sow")) == "10 x basil in south, 1.5 cm deep, open."
    [shown] = peer.desk.asked
    assert isinstance(shown, ElicitRequestFormParams)
    assert shown.message == "What shall I sow?"
    assert shown.requested_schema == {
        "type": "object",
        "properties": {
            "plant": {
                "type": "string",
                "oneOf": [
                    {"const": "tomato", "title": "A tomato"},
                    {"const": "basil", "title": "Some basil"},
                ],
            },
            "bed": {"type": "string", "enum": ["north", "south", "east"]},
            "depth": {"type": "number", "default": 1.5},
            "seeds": {"type": "integer", "default": 10},
            "cover": {"type": "boolean", "default": True},
        },
        "required": ["plant", "bed"],
    }


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_may_say_no_to_a_form(peer: Peer, action: Any) -> None:
    peer.desk.elicit = lambda params: ElicitResult(action=action)
    assert text_of(call(peer, "sow")) == f"Nothing sown: the user said {action}."


def test_a_form_that_is_filled_in_wrongly_does_not_reach_the_tool(peer: Peer) -> None:
    peer.desk.elicit = accept(plant="oak", bed="south")
    if peer.era == "legacy":
        # The request was fine, the answer to a request of ours was not: the model reads it.
        result = call(peer, "sow")
        assert result.is_error
        assert "plant" in text_of(result)
        return
    error = error_of(peer, lambda client: client.call_tool("sow"))
    assert error.code == mcp_types.INVALID_PARAMS
    assert "plant" in error.message


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("accept", "Seeds are on their way."),
        ("decline", "No seeds ordered."),
        ("cancel", "No seeds ordered."),
    ],
)
def test_the_user_is_sent_to_a_page(peer: Peer, action: Any, told: str) -> None:
    peer.desk.elicit = lambda params: ElicitResult(action=action)
    assert text_of(call(peer, "order_seeds", packets=2)) == told
    [shown] = peer.desk.asked
    assert isinstance(shown, ElicitRequestURLParams)
    assert shown.url == "https://example.org/pay?packets=2"
    # 2025-11-25 gives the page an id of its own, 2026-07-28 does without.
    assert bool(shown.elicitation_id) is (peer.era == "legacy")


def test_the_model_of_the_client_is_asked(peer: Peer) -> None:
    peer.desk.sample = lambda params: say("Too wet.")
    told = text_of(call(peer, "ask_gardener", question="Why yellow?"))
    assert told == "oak says: Too wet."
    [asked] = peer.desk.asked
    assert isinstance(asked, CreateMessageRequestParams)
    assert asked.system_prompt == "You are an old gardener of few words."
    assert asked.max_tokens == 100
    assert asked.temperature == 0.2
    assert asked.model_preferences is not None
    assert asked.model_preferences.speed_priority == 0.9
    [message] = asked.messages
    assert message.content == TextContent(type="text", text="Why yellow?")


def test_the_model_of_the_client_may_use_tools(peer: Peer) -> None:
    def reply(params: CreateMessageRequestParams) -> Any:
        if len(params.messages) > 1:
            return say("Open a window.")
        uses = [
            ToolUseContent(type="tool_use", id=bed, name="thermometer", input={"bed": bed})
            for bed in ("north", "south")
        ]
        return CreateMessageResultWithTools(
            role="assistant", model="oak", content=[*uses], stop_reason="toolUse"
        )

    peer.desk.sample = reply
    assert text_of(call(peer, "plan_day", goal="Keep it cool.")) == "Open a window."
    first, second = peer.desk.asked
    assert isinstance(first, CreateMessageRequestParams)
    assert first.tools is not None
    assert first.tools[0].name == "thermometer"
    assert first.tool_choice is not None
    assert first.tool_choice.mode == "auto"
    assert isinstance(second, CreateMessageRequestParams)
    results = second.messages[-1].content
    assert isinstance(results, list)
    assert [block.type for block in results] == ["tool_result", "tool_result"]


def test_a_client_that_refuses_to_sample_is_not_asked_again(peer: Peer) -> None:
    peer.desk.sample = lambda params: ErrorData(code=-1, message="The user said no.")
    if peer.era == "legacy":
        result = call(peer, "ask_gardener", question="Why?")
        assert result.is_error
        assert "The user said no." in text_of(result)
    else:
        # Here the client keeps its refusal to itself and gives the call up.
        error = error_of(peer, lambda client: client.call_tool("ask_gardener", {"question": "?"}))
        assert error.message == "The user said no."
    assert len(peer.desk.asked) == 1


def test_the_roots_of_the_client_are_listed(peer: Peer) -> None:
    result = call(peer, "list_folders")
    folders = ["garden: file:///garden"]
    expected = {"result": folders} if peer.era == "legacy" else folders
    assert result.structured_content == expected


def test_a_tool_that_asks_three_times_acts_once(peer: Peer) -> None:
    forms: Iterator[dict[str, Any]] = iter([{"size": "large"}, {"sure": True}])
    peer.desk.elicit = lambda params: ElicitResult(action="accept", content=next(forms))
    peer.desk.sample = lambda params: say("peat")

    async def run(client: Client) -> tuple[str, list[str]]:
        since = len(await read_journal(client))
        told = text_of(await client.call_tool("repot", {"plant": "fern"}))
        return told, await read_journal(client, since)

    told, written = peer.run(run)
    assert told.startswith("Repotted: peat, journal entry ")
    assert written == ["Took a bag of peat."]
    assert len(peer.desk.asked) == 3


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_client_that_offers_nothing_is_asked_nothing(way: Way, greenhouses: Greenhouses) -> None:
    async def try_call(client: Client, tool: str, **arguments: Any) -> str:
        try:
            result = await client.call_tool(tool, arguments)
        except MCPError as error:
            assert error.error.code == mcp_types.MISSING_REQUIRED_CLIENT_CAPABILITY
            return str(error.error.data)
        assert result.is_error
        return text_of(result)

    async def run() -> list[str]:
        async with (
            asyncio.timeout(CAP),
            Client(find_server(way, greenhouses), mode=MODES[way.era]) as client,
        ):
            return [
                await try_call(client, "sow"),
                await try_call(client, "order_seeds", packets=1),
                await try_call(client, "ask_gardener", question="?"),
                await try_call(client, "list_folders"),
            ]

    told = asyncio.run(run())
    for capability, text in zip(
        ("elicitation", "elicitation", "sampling", "roots"), told, strict=True
    ):
        assert capability in text


# -- resources ----------------------------------------------------------------------------


def test_a_text_is_read(peer: Peer) -> None:
    assert peer.run(lambda client: read_text(client, "greenhouse://rules")).startswith("Close")


def test_bytes_are_read(peer: Peer) -> None:
    result = peer.run(lambda client: client.read_resource("greenhouse://logo"))
    [contents] = result.contents
    assert isinstance(contents, mcp_types.BlobResourceContents)
    assert contents.mime_type == "image/png"
    assert base64.b64decode(contents.blob).startswith(b"\x89PNG")


@only_modern  # the handshake revisions have no cache hints
def test_a_resource_says_how_long_it_may_be_kept(peer: Peer) -> None:
    result = peer.run(lambda client: client.read_resource("greenhouse://rules"))
    assert (result.ttl_ms, result.cache_scope) == (60_000, "public")


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("greenhouse://beds/east", '{"bed":"east","celsius":22.5,"plants":["fern"],"frost":false}'),
        ("greenhouse://beds/east/history", "day,east\n0,20\n1,21\n2,22"),
        ("greenhouse://beds/east/history?days=1&unit=f", "day,east\n0,68"),
        ("greenhouse://shelf/trees/oak%20and%20ash", "You open trees/oak and ash."),
    ],
)
def test_a_template_is_read(peer: Peer, uri: str, text: str) -> None:
    assert peer.run(lambda client: read_text(client, uri)) == text


def test_a_resource_may_ask_the_model(peer: Peer) -> None:
    peer.desk.sample = lambda params: say("Rain.")
    assert peer.run(lambda client: read_text(client, "greenhouse://forecast")) == "Rain."


@pytest.mark.parametrize("uri", ["greenhouse://nothing", "greenhouse://beds/attic"])
def test_a_resource_that_is_not_there_has_the_code_of_the_revision(peer: Peer, uri: str) -> None:
    error = error_of(peer, lambda client: client.read_resource(uri))
    assert error.code == (-32002 if peer.era == "legacy" else mcp_types.INVALID_PARAMS)
    assert error.data == {"uri": uri}


@pytest.mark.parametrize(
    "uri", ["greenhouse://shelf/../etc", "greenhouse://beds/north/history?days=many"]
)
def test_a_uri_that_climbs_out_or_does_not_fit_is_refused(peer: Peer, uri: str) -> None:
    error = error_of(peer, lambda client: client.read_resource(uri))
    assert error.code == mcp_types.INVALID_PARAMS


# -- prompts and completion -----------------------------------------------------------------


def test_a_prompt_is_written(peer: Peer) -> None:
    result = peer.run(lambda client: client.get_prompt("morning_round"))
    assert result.description == "What to do first."
    [message] = result.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)


def test_a_prompt_takes_arguments(peer: Peer) -> None:
    arguments = {"plant": "fern", "symptom": "brown tips"}
    result = peer.run(lambda client: client.get_prompt("diagnose", arguments))
    [message] = result.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text == "My fern has brown tips. What is it, and what can I do?"


def test_a_prompt_may_be_a_conversation_with_pictures(peer: Peer) -> None:
    result = peer.run(lambda client: client.get_prompt("compare_leaves"))
    said = [(message.role, message.content.type) for message in result.messages]
    assert said == [
        ("user", "text"),
        ("user", "image"),
        ("assistant", "text"),
        ("user", "resource"),
        ("user", "text"),
    ]


def test_a_prompt_may_ask_the_user(peer: Peer) -> None:
    peer.desk.elicit = lambda params: ElicitResult(action="accept", content={"month": "June"})
    result = peer.run(lambda client: client.get_prompt("plan_season"))
    [message] = result.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text == "What shall I sow in June?"


@pytest.mark.parametrize(("name", "told"), [("diagnose", "plant"), ("diagnos", "'diagnose'")])
def test_an_unknown_prompt_or_a_missing_argument_is_an_error(
    peer: Peer, name: str, told: str
) -> None:
    error = error_of(peer, lambda client: client.get_prompt(name))
    assert error.code == mcp_types.INVALID_PARAMS
    assert told in error.message


@pytest.mark.parametrize(
    ("argument", "value", "settled", "values"),
    [
        ("plant", "", None, ["tomato", "basil", "fern"]),
        ("plant", "b", None, ["basil"]),
        ("symptom", "b", {"plant": "fern"}, ["brown tips"]),
        ("symptom", "b", {"plant": "basil"}, ["black stems"]),
        ("symptom", "b", None, []),
    ],
)
def test_an_argument_of_a_prompt_is_completed(
    peer: Peer, argument: str, value: str, settled: dict[str, str] | None, values: list[str]
) -> None:
    ref = PromptReference(type="ref/prompt", name="diagnose")
    given = {"name": argument, "value": value}
    result = peer.run(lambda client: client.complete(ref, given, settled))
    assert result.completion.values == values
    assert result.completion.total == len(values)
    assert result.completion.has_more is False


def test_a_variable_of_a_template_is_completed(peer: Peer) -> None:
    ref = ResourceTemplateReference(type="ref/resource", uri="greenhouse://beds/{bed}")
    given = {"name": "bed", "value": "s"}
    result = peer.run(lambda client: client.complete(ref, given))
    assert result.completion.values == ["south"]


def test_completion_of_something_unknown_is_an_error(peer: Peer) -> None:
    ref = PromptReference(type="ref/prompt", name="nothing")
    given = {"name": "x", "value": ""}
    error = error_of(peer, lambda client: client.complete(ref, given))
    assert error.code == mcp_types.INVALID_PARAMS


# -- changes ------------------------------------------------------------------------------


@only_legacy  # 2026-07-28 has subscriptions/listen instead
def test_a_subscriber_hears_of_a_change_until_it_unsubscribes(peer: Peer) -> None:
    async def run(client: Client) -> None:
        await client.subscribe_resource(JOURNAL)
        await client.call_tool("note", {"text": "Heard."})
        update = await peer.desk.hear(ResourceUpdatedNotification)
        assert update.params.uri == JOURNAL
        await client.unsubscribe_resource(JOURNAL)
        peer.desk.heard.clear()
        await client.call_tool("note", {"text": "Not heard."})
        await client.call_tool("open_bed", {"bed": "shed"})
        await client.call_tool("close_bed", {"bed": "shed"})
        await peer.desk.hear(ToolListChangedNotification)
        assert not any(isinstance(m, ResourceUpdatedNotification) for m in peer.desk.heard)

    peer.run(run)


@only_legacy
def test_nobody_can_subscribe_to_what_is_not_there(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.subscribe_resource("greenhouse://nothing"))
    assert error.code == -32002


@only_legacy  # with a handshake, list changes come unasked
def test_a_tool_that_comes_and_goes_is_announced(peer: Peer) -> None:
    async def run(client: Client) -> None:
        await client.call_tool("open_bed", {"bed": "attic"})
        await peer.desk.hear(ToolListChangedNotification)
        assert "weed_attic" in await list_tools(client)
        assert text_of(await client.call_tool("weed_attic")) == "attic is free of weeds."
        peer.desk.heard.clear()
        await client.call_tool("close_bed", {"bed": "attic"})
        await peer.desk.hear(ToolListChangedNotification)
        assert "weed_attic" not in await list_tools(client)
        with pytest.raises(MCPError):
            await client.call_tool("weed_attic")

    peer.run(run)


@only_modern
def test_a_listener_is_told_what_it_will_hear_and_hears_that_alone(peer: Peer) -> None:
    async def run(client: Client) -> None:
        async with client.listen(resource_subscriptions=[JOURNAL]) as stream:
            assert stream.honored.resource_subscriptions == [JOURNAL]
            assert not stream.honored.tools_list_changed
            await client.call_tool("open_bed", {"bed": "attic"})
            await client.call_tool("close_bed", {"bed": "attic"})
            await client.call_tool("note", {"text": "Heard."})
            assert await anext(stream) == ResourceUpdated(JOURNAL)

    peer.run(run)


@only_modern
def test_a_listener_hears_of_tools_that_come_and_go(peer: Peer) -> None:
    async def run(client: Client) -> None:
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as stream:
            assert stream.honored.tools_list_changed
            assert stream.honored.prompts_list_changed
            await client.call_tool("open_bed", {"bed": "attic"})
            assert await anext(stream) == ToolsListChanged()
            assert "weed_attic" in await list_tools(client)
            await client.call_tool("close_bed", {"bed": "attic"})
            assert await anext(stream) == ToolsListChanged()
            assert "weed_attic" not in await list_tools(client)

    peer.run(run)


@only_modern
def test_two_listeners_hear_their_own_and_one_that_left_hears_nothing(peer: Peer) -> None:
    async def run(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as tools:
            async with client.listen(resource_subscriptions=[JOURNAL]) as journal:
                assert tools.subscription_id != journal.subscription_id
                await client.call_tool("note", {"text": "Both are here."})
                assert await anext(journal) == ResourceUpdated(JOURNAL)
            # The client says that it leaves on the side, so the server may hear of it late.
            is_heard = True
            while is_heard:
                peer.desk.heard.clear()
                await client.call_tool("note", {"text": "One has left."})
                await client.call_tool("open_bed", {"bed": "attic"})
                await client.call_tool("close_bed", {"bed": "attic"})
                assert await anext(tools) == ToolsListChanged()
                heard = peer.desk.heard
                is_heard = any(isinstance(m, ResourceUpdatedNotification) for m in heard)

    peer.run(run)


@contextmanager
def doomed_process(folder: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    pid_file = folder / "pid"
    # The client does not say which process it started, so a shell notes it on the way.
    noting = ["-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), COMMAND, *ARGUMENTS]
    parameters = StdioServerParameters(command="/bin/sh", args=noting, cwd=ROOT)
    with (folder / "log").open("w") as log:
        server = stdio_client(parameters, errlog=log)
        yield server, lambda: os.kill(int(pid_file.read_text()), signal.SIGTERM)
    assert (folder / "log").read_text() == ""


@contextmanager
def doomed_address(folder: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    with serve(EXAMPLE, folder / "log") as served:
        yield served.url, served.process.terminate
        assert served.process.wait(CAP) == 0
    assert "Traceback" not in (folder / "log").read_text()


@pytest.mark.parametrize("open_server", [doomed_process, doomed_address])
def test_a_server_that_is_told_to_end_closes_a_stream_gracefully(
    open_server: Any, tmp_path: Path
) -> None:
    """Only modern: with a handshake there are no streams to close."""

    async def run() -> list[Any]:
        with open_server(tmp_path) as (server, end):
            async with (
                asyncio.timeout(CAP),
                Client(server) as client,
                client.listen(tools_list_changed=True) as stream,
            ):
                end()
                return [event async for event in stream]

    assert asyncio.run(run()) == []
