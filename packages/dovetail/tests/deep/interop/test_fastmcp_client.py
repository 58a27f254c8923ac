"""The client of FastMCP 4 drives examples/everything.py, over stdio and HTTP, in both eras.

It stands on the official SDK, so this is about what it does its own way: it walks pages,
builds classes from our schemas, turns failures into exceptions, and asks for log messages
of every level.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import mcp_types
import pytest
from fastmcp import Client
from fastmcp.client.client import CallToolResult
from fastmcp.client.transports import ClientTransport, StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged, listen
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResultWithTools,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    PromptReference,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
    SamplingCapability,
    SamplingMessage,
    SamplingToolsCapability,
    TextContent,
    ToolListChangedNotification,
    ToolUseContent,
)

from tests.deep.interop.desk import Desk, Held, say
from tests.deep.interop.greenhouse import (
    ARGUMENTS,
    COMMAND,
    LEGACY,
    MODERN,
    ROOT,
    WAYS,
    Greenhouses,
    Way,
)
from tests.patience import CAP

# Whatever the newest revision has dropped warns in the SDK underneath, see the official client.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

AnyClient = Client[Any]
MODES = {"legacy": "legacy", "modern": "auto"}
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
JOURNAL = "greenhouse://journal"

only_legacy = pytest.mark.parametrize("peer", LEGACY, indirect=True, ids=str)
only_modern = pytest.mark.parametrize("peer", MODERN, indirect=True, ids=str)


class FormDesk(Desk):
    """Fills in forms with the class that the client has made from our schema."""

    def reset(self) -> None:
        super().reset()
        self.form: dict[str, Any] | None = None

    def fill_in(self, form_type: Any, params: ElicitRequestParams) -> Any:
        if self.form is None:
            answer = self.take_elicitation(params)
            if isinstance(answer, ErrorData):
                raise RuntimeError(answer.message)  # this client refuses by raising
            return answer
        self.asked.append(params)
        return form_type(**self.form)

    def reply(self, params: CreateMessageRequestParams) -> Any:
        answer = self.take_sampling(params)
        if isinstance(answer, ErrorData):
            raise RuntimeError(answer.message)
        return answer


Peer = Held[AnyClient, FormDesk]


def make_transport(way: Way, houses: Greenhouses) -> ClientTransport:
    if way.transport == "http":
        return StreamableHttpTransport(houses.url(way))
    return StdioTransport(
        COMMAND,
        ARGUMENTS,
        cwd=str(ROOT),
        keep_alive=False,
        log_file=houses.log(way),
    )


@asynccontextmanager
async def open_client(way: Way, desk: FormDesk, houses: Greenhouses) -> AsyncIterator[AnyClient]:
    """A client that can do everything a client can do."""

    async def elicit(message: str, form: Any, params: ElicitRequestParams, context: Any) -> Any:
        return desk.fill_in(form, params)

    async def sample(
        messages: list[SamplingMessage], params: CreateMessageRequestParams, context: Any
    ) -> Any:
        return desk.reply(params)

    async with Client(
        make_transport(way, houses),
        mode=MODES[way.era],
        elicitation_handler=elicit,
        sampling_handler=sample,
        sampling_capabilities=SamplingCapability(tools=SamplingToolsCapability()),
        roots=["file:///garden"],
        log_handler=desk.take_log,
        message_handler=desk.take_message,
    ) as client:
        yield client


@pytest.fixture(scope="module")
def find_peer(greenhouses: Greenhouses) -> Iterator[Callable[[Way], Peer]]:
    """One client and one server process per way."""
    peers: dict[Way, Peer] = {}

    def find(way: Way) -> Peer:
        if way not in peers:
            peer = Held(way, FormDesk(), lambda desk: open_client(way, desk, greenhouses))
            peers[way] = peer
            if way == Way("http", "legacy"):
                peer.run(lambda client: hear_something(client, peer.desk))
        return peers[way]

    yield find
    for peer in peers.values():
        peer.close()


async def hear_something(client: AnyClient, desk: FormDesk) -> None:
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


def text_of(result: CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def failure_of(peer: Peer, tool: str, **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        call(peer, tool, **arguments)
    return str(caught.value)


def error_of(peer: Peer, request: Callable[[AnyClient], Awaitable[Any]]) -> ErrorData:
    with pytest.raises(MCPError) as caught:
        peer.run(request)
    return caught.value.error


async def read_text(client: AnyClient, uri: str) -> str:
    [contents] = await client.read_resource(uri)
    assert isinstance(contents, mcp_types.TextResourceContents)
    return contents.text


async def read_journal(client: AnyClient, since: int = 0) -> list[str]:
    return (await read_text(client, JOURNAL)).splitlines()[since:]


# -- who is there -------------------------------------------------------------------------


def test_the_server_says_who_it_is(peer: Peer) -> None:
    client = peer.client
    assert client.protocol_version == REVISIONS[peer.era]
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("greenhouse", "1.0.0")
    assert client.instructions is not None
    assert client.instructions.startswith("Measure before you water.")
    assert client.server_capabilities is not None
    assert client.server_capabilities.completions is not None
    assert (client.initialize_result is not None) is (peer.era == "legacy")


@only_legacy  # 2026-07-28 has no ping
def test_a_ping_is_answered(peer: Peer) -> None:
    assert peer.run(lambda client: client.ping())


# -- lists --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "first", "count"),
    [
        ("tools", "water", 21),
        ("resources", "rules", 4),
        ("resource_templates", "bed_facts", 3),
        ("prompts", "morning_round", 4),
    ],
)
def test_all_pages_are_walked(peer: Peer, kind: str, first: str, count: int) -> None:
    found = peer.run(lambda client: getattr(client, f"list_{kind}")())
    assert found[0].name == first
    assert len({entry.name for entry in found}) == len(found) == count


def test_one_page_can_be_asked_for(peer: Peer) -> None:
    async def run(client: AnyClient) -> list[str]:
        first = await client.list_tools_mcp()
        second = await client.list_tools_mcp(cursor=first.next_cursor)
        return [tool.name for tool in (*first.tools, *second.tools)]

    assert peer.run(run) == ["water", "to_fahrenheit", "measure", "photo"]


def test_a_cursor_that_was_never_given_out_is_refused(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.list_tools_mcp(cursor="nonsense"))
    assert error.code == mcp_types.INVALID_PARAMS


# -- calling ------------------------------------------------------------------------------


def test_text_is_sent_once(peer: Peer) -> None:
    result = call(peer, "water", bed="north", litres=2)
    assert text_of(result) == "The tomato got 2 l."
    assert result.structured_content is None
    assert result.data is None


def test_a_typed_result_becomes_an_object_of_a_class_made_from_our_schema(peer: Peer) -> None:
    result = call(peer, "measure", bed="south")
    assert asdict(result.data) == {
        "bed": "south",
        "celsius": 23.5,
        "plants": ["basil"],
        "frost": False,
    }


def test_a_plain_value_is_wrapped_only_where_it_has_to_be(peer: Peer) -> None:
    result = call(peer, "to_fahrenheit", celsius=20)
    if peer.era == "legacy":
        # It takes the wrapper off only for servers of its own kind, which mark their schemas.
        assert result.structured_content == {"result": 68.0}
        assert result.data.result == 68.0
    else:
        assert result.data == 68.0


def test_several_blocks_arrive_in_order(peer: Peer) -> None:
    blocks = call(peer, "look_closely", bed="north").content
    assert [block.type for block in blocks] == [
        "text",
        "image",
        "audio",
        "resource_link",
        "resource",
    ]


def test_a_picture_arrives(peer: Peer) -> None:
    [block] = call(peer, "photo", bed="east").content
    assert isinstance(block, mcp_types.ImageContent)
    assert base64.b64decode(block.data).startswith(b"\x89PNG")


def test_content_data_and_metadata_arrive_together(peer: Peer) -> None:
    result = call(peer, "count_leaves", bed="north")
    assert text_of(result) == "The tomato has 12 leaves."
    assert result.data == {"plant": "tomato", "leaves": 12}
    assert result.meta is not None
    assert result.meta["example.org/counted-by"] == "hand"


# -- going wrong --------------------------------------------------------------------------


def test_a_tool_error_is_raised_as_written(peer: Peer) -> None:
    told = failure_of(peer, "harvest", bed="east")
    assert told == "Ferns are not for eating; harvest north or south."


def test_a_crash_shows_a_reference_and_the_log_has_the_rest(
    peer: Peer, greenhouses: Greenhouses
) -> None:
    told = failure_of(peer, "drop_pot")
    reference = re.search(r"reference (\w+)", told)
    assert reference is not None
    assert "secret" not in told
    assert reference[1] in greenhouses.log(peer.way).read_text()


@pytest.mark.parametrize(
    ("arguments", "told"), [({"bed": 7}, "bed"), ({}, "bed"), ({"bed": "x", "colour": 1}, "colour")]
)
def test_bad_arguments_are_a_failure_that_names_them(
    peer: Peer, arguments: dict[str, Any], told: str
) -> None:
    assert told in failure_of(peer, "water", **arguments)


def test_an_unknown_tool_is_an_error_that_suggests(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.call_tool("watre"))
    assert error.code == mcp_types.INVALID_PARAMS
    assert "'water'" in error.message


# -- while a call runs --------------------------------------------------------------------


def test_progress_is_reported(peer: Peer) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    peer.run(lambda client: client.call_tool("grow", {"days": 2}, progress_handler=note))
    assert sorted(told) == [(1, 2, "day 1"), (2, 2, "day 2")]


@only_legacy  # in the modern era this client has no way to name a level
def test_log_messages_come_from_the_level_that_was_set(peer: Peer) -> None:
    async def run(client: AnyClient) -> None:
        await client.set_logging_level("warning")
        await client.call_tool("inspect_pipes")
        await peer.desk.until(lambda: len(peer.desk.logs) == 2)

    peer.run(run)
    assert {log.level for log in peer.desk.logs} == {"warning", "error"}


@only_modern  # in the legacy era the level above counts
def test_log_messages_of_every_level_come_because_the_client_asks_for_debug(peer: Peer) -> None:
    async def run(client: AnyClient) -> None:
        await client.call_tool("inspect_pipes")
        await peer.desk.until(lambda: len(peer.desk.logs) == 4)

    peer.run(run)
    assert {log.level for log in peer.desk.logs} == {"debug", "info", "warning", "error"}


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
    async def run(client: AnyClient) -> None:
        since = len(await read_journal(client))
        waiting = asyncio.create_task(client.call_tool(tool))
        while started not in await read_journal(client, since):
            pass
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        while stopped not in await read_journal(client, since):
            pass

    peer.run(run)


def test_a_call_that_takes_the_client_too_long_is_given_up(peer: Peer) -> None:
    error = error_of(peer, lambda client: client.call_tool("wait_for_rain", timeout=0.2))
    assert error.code == mcp_types.REQUEST_TIMEOUT
    assert text_of(call(peer, "water", bed="north")) == "The tomato got 1 l."


# -- asking back --------------------------------------------------------------------------


def test_a_form_becomes_a_class_whose_defaults_are_ours(peer: Peer) -> None:
    peer.desk.form = {"plant": "basil", "bed": "south", "cover": False}
    assert text_of(call(peer, "sow")) == "10 x basil in south, 1.5 cm deep, open."
    [shown] = peer.desk.asked
    assert isinstance(shown, ElicitRequestFormParams)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_user_may_say_no_to_a_form(peer: Peer, action: Any) -> None:
    peer.desk.elicit = lambda params: ElicitResult(action=action)
    assert text_of(call(peer, "sow")) == f"Nothing sown: the user said {action}."


@pytest.mark.parametrize(
    ("action", "told"), [("accept", "Seeds are on their way."), ("decline", "No seeds ordered.")]
)
def test_the_user_is_sent_to_a_page(peer: Peer, action: Any, told: str) -> None:
    peer.desk.elicit = lambda params: ElicitResult(action=action)
    assert text_of(call(peer, "order_seeds", packets=2)) == told
    [shown] = peer.desk.asked
    assert isinstance(shown, ElicitRequestURLParams)
    assert shown.url == "https://example.org/pay?packets=2"


def test_the_model_of_the_client_is_asked(peer: Peer) -> None:
    peer.desk.sample = lambda params: say("Too wet.")
    assert text_of(call(peer, "ask_gardener", question="Why?")) == "oak says: Too wet."


def test_the_model_of_the_client_may_use_tools(peer: Peer) -> None:
    def reply(params: CreateMessageRequestParams) -> Any:
        if len(params.messages) > 1:
            return say("Open a window.")
        use = ToolUseContent(type="tool_use", id="1", name="thermometer", input={"bed": "north"})
        return CreateMessageResultWithTools(
            role="assistant", model="oak", content=[use], stop_reason="toolUse"
        )

    peer.desk.sample = reply
    assert text_of(call(peer, "plan_day", goal="Keep it cool.")) == "Open a window."
    assert len(peer.desk.asked) == 2


def test_a_client_that_refuses_to_sample_is_not_asked_again(peer: Peer) -> None:
    if peer.era == "legacy":
        assert "nobody at the desk" in failure_of(peer, "ask_gardener", question="?")
    else:
        # Here the client keeps its refusal to itself and gives the call up.
        error = error_of(peer, lambda client: client.call_tool("ask_gardener", {"question": "?"}))
        assert error.message == "nobody at the desk"
    assert len(peer.desk.asked) == 1


def test_the_roots_of_the_client_are_listed(peer: Peer) -> None:
    data = call(peer, "list_folders").data
    folders = data.result if peer.era == "legacy" else data
    assert folders == ["unnamed: file:///garden"]


def test_a_tool_that_asks_three_times_acts_once(peer: Peer) -> None:
    forms: Iterator[dict[str, Any]] = iter([{"size": "large"}, {"sure": True}])
    peer.desk.elicit = lambda params: ElicitResult(action="accept", content=next(forms))
    peer.desk.sample = lambda params: say("peat")

    async def run(client: AnyClient) -> tuple[str, list[str]]:
        since = len(await read_journal(client))
        told = text_of(await client.call_tool("repot", {"plant": "fern"}))
        return told, await read_journal(client, since)

    told, written = peer.run(run)
    assert told.startswith("Repotted: peat, journal entry ")
    assert written == ["Took a bag of peat."]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_client_that_offers_nothing_is_asked_nothing(way: Way, greenhouses: Greenhouses) -> None:
    async def run() -> None:
        client = Client(make_transport(way, greenhouses), mode=MODES[way.era])
        async with asyncio.timeout(CAP), client:
            for tool, capability in (("sow", "elicitation"), ("list_folders", "roots")):
                with pytest.raises((MCPError, ToolError), match=capability):
                    await client.call_tool(tool)

    asyncio.run(run())


# -- resources ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("greenhouse://rules", "Close the door. Water in the morning."),
        ("greenhouse://beds/east", '{"bed":"east","celsius":22.5,"plants":["fern"],"frost":false}'),
        ("greenhouse://beds/east/history?days=1&unit=f", "day,east\n0,68"),
        ("greenhouse://shelf/trees/oak%20and%20ash", "You open trees/oak and ash."),
    ],
)
def test_a_text_is_read(peer: Peer, uri: str, text: str) -> None:
    assert peer.run(lambda client: read_text(client, uri)) == text


def test_bytes_are_read(peer: Peer) -> None:
    [contents] = peer.run(lambda client: client.read_resource("greenhouse://logo"))
    assert isinstance(contents, mcp_types.BlobResourceContents)
    assert base64.b64decode(contents.blob).startswith(b"\x89PNG")


def test_a_resource_may_ask_the_model(peer: Peer) -> None:
    peer.desk.sample = lambda params: say("Rain.")
    assert peer.run(lambda client: read_text(client, "greenhouse://forecast")) == "Rain."


@pytest.mark.parametrize("uri", ["greenhouse://nothing", "greenhouse://beds/attic"])
def test_a_resource_that_is_not_there_has_the_code_of_the_revision(peer: Peer, uri: str) -> None:
    error = error_of(peer, lambda client: client.read_resource(uri))
    assert error.code == (-32002 if peer.era == "legacy" else mcp_types.INVALID_PARAMS)


# -- prompts and completion -----------------------------------------------------------------


def test_a_prompt_takes_arguments(peer: Peer) -> None:
    arguments = {"plant": "fern", "symptom": "brown tips"}
    result = peer.run(lambda client: client.get_prompt("diagnose", arguments))
    [message] = result.messages
    assert isinstance(message.content, TextContent)
    assert message.content.text == "My fern has brown tips. What is it, and what can I do?"


def test_a_prompt_may_be_a_conversation_with_pictures(peer: Peer) -> None:
    result = peer.run(lambda client: client.get_prompt("compare_leaves"))
    assert [message.role for message in result.messages].count("assistant") == 1
    assert isinstance(result.messages[1].content, mcp_types.ImageContent)


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


def test_an_argument_of_a_prompt_is_completed_in_its_context(peer: Peer) -> None:
    ref = PromptReference(type="ref/prompt", name="diagnose")
    given = {"name": "symptom", "value": "b"}
    completion = peer.run(lambda client: client.complete(ref, given, {"plant": "basil"}))
    assert completion.values == ["black stems"]


def test_a_variable_of_a_template_is_completed(peer: Peer) -> None:
    ref = ResourceTemplateReference(type="ref/resource", uri="greenhouse://beds/{bed}")
    completion = peer.run(lambda client: client.complete(ref, {"name": "bed", "value": "s"}))
    assert completion.values == ["south"]


# -- changes ------------------------------------------------------------------------------


@only_legacy  # with a handshake, list changes come unasked
def test_a_tool_that_comes_and_goes_is_announced(peer: Peer) -> None:
    async def run(client: AnyClient) -> None:
        await client.call_tool("open_bed", {"bed": "attic"})
        await peer.desk.hear(ToolListChangedNotification)
        assert "weed_attic" in {tool.name for tool in await client.list_tools()}
        peer.desk.heard.clear()
        await client.call_tool("close_bed", {"bed": "attic"})
        await peer.desk.hear(ToolListChangedNotification)
        assert "weed_attic" not in {tool.name for tool in await client.list_tools()}

    peer.run(run)


@only_legacy
def test_a_subscriber_hears_of_a_change(peer: Peer) -> None:
    async def run(client: AnyClient) -> None:
        # FastMCP has no method for it; the session underneath does.
        await client.session.subscribe_resource(JOURNAL)
        await client.call_tool("note", {"text": "Heard."})
        update = await peer.desk.hear(ResourceUpdatedNotification)
        assert update.params.uri == JOURNAL
        await client.session.unsubscribe_resource(JOURNAL)

    peer.run(run)


@only_modern
def test_a_listener_hears_what_it_asked_for(peer: Peer) -> None:
    async def run(client: AnyClient) -> None:
        # FastMCP has no method for it; the session underneath does.
        async with listen(
            client.session, tools_list_changed=True, resource_subscriptions=[JOURNAL]
        ) as stream:
            assert stream.honored.tools_list_changed
            assert stream.honored.resource_subscriptions == [JOURNAL]
            await client.call_tool("note", {"text": "Heard."})
            assert await anext(stream) == ResourceUpdated(JOURNAL)
            await client.call_tool("open_bed", {"bed": "attic"})
            assert await anext(stream) == ToolsListChanged()
            await client.call_tool("close_bed", {"bed": "attic"})
            assert await anext(stream) == ToolsListChanged()

    peer.run(run)
