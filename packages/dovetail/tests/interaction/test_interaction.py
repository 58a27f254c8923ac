"""What a user of any server goes through, the same on every transport and at every revision.

Where a combination cannot carry something, `limits.py` says why, and the scenario says what
happens instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from dovetail.client import CallResult, Change, Client
from dovetail.errors import (
    InvalidParamsError,
    MethodNotFoundError,
    MissingCapabilityError,
    ResourceNotFoundError,
    RpcError,
    TransportError,
    UsageError,
)
from dovetail.spec.keys import LOG_LEVELS
from dovetail.spec.models import TextContent
from dovetail.spec.revisions import LATEST_LEGACY, MODERN, StructuredOutput
from tests.interaction.limits import at, lacks
from tests.interaction.links import COMBINATIONS, Combination, Link
from tests.interaction.workshop import JOURNAL

TOOLS = 17


def call(link: Link, tool: str, **arguments: Any) -> CallResult:
    return link.run(lambda client: client.call(tool, arguments))


def error_of(link: Link, scenario: Callable[[Client], Any]) -> RpcError:
    with pytest.raises(RpcError) as caught:
        link.run(scenario)
    return caught.value


async def read_journal(client: Client) -> list[str]:
    return (await client.read(JOURNAL)).text.splitlines()


async def wait_for_line(client: Client, line: str) -> None:
    """Until the journal says so; every look is a round trip, so nothing is slept away."""
    while line not in await read_journal(client):
        pass


# -- who is there ---------------------------------------------------------------------------


def test_the_server_says_who_it_is(link: Link) -> None:
    client = link.client
    assert client.revision == link.revision.date
    assert link.revision.date in client.supported_revisions
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("workshop", "1.2.3")
    assert client.instructions == "Measure twice, cut once."


NEWEST = [c for c in COMBINATIONS if c.revision is c.transport.revisions[-1]]


@pytest.mark.parametrize("link", NEWEST, indirect=True, ids=str)
def test_a_client_that_insists_on_nothing_finds_the_newest_revision(link: Link) -> None:
    async def scenario(_: Client) -> tuple[str, str]:
        async with link.connect(mode="auto") as client:
            return client.revision, (await client.call("echo", {"text": "found"})).text

    assert link.run(scenario) == (link.revision.date, "found")


def test_the_server_declares_what_it_has(link: Link) -> None:
    declared = set(link.client.capabilities)
    completions = {"completions"} if link.revision.completions_capability else set()
    assert declared - {"logging"} == {"tools", "prompts", "resources"} | completions


def test_a_ping_is_answered_where_there_is_one(link: Link) -> None:
    if link.is_modern:
        with pytest.raises(UsageError, match="ping does not exist"):
            link.run(lambda client: client.ping())
    else:
        link.run(lambda client: client.ping())


# -- lists ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("tools", ["measure", "echo", "fill", "reject"]),
        ("resources", ["read_journal", "ledger"]),
        ("templates", ["part"]),
        ("prompts", ["plan"]),
    ],
)
def test_a_list_is_walked_to_its_end(link: Link, kind: str, names: list[str]) -> None:
    found = link.run(lambda client: getattr(client, f"list_{kind}")())
    assert [entry.name for entry in found][: len(names)] == names
    assert len(found) == (TOOLS if kind == "tools" else len(names))


def test_a_list_comes_in_pages(link: Link) -> None:
    async def scenario(client: Client) -> list[int]:
        sizes, cursor = [], None
        while True:
            page = await client.list_tools_page(cursor)
            sizes.append(len(page.items))
            cursor = page.next_cursor
            if cursor is None:
                return sizes

    assert link.run(scenario) == [3] * (TOOLS // 3) + [TOOLS % 3]


def test_a_cursor_that_was_never_given_out_is_refused(link: Link) -> None:
    error = error_of(link, lambda client: client.list_tools_page("nonsense"))
    assert isinstance(error, InvalidParamsError)


# -- calling --------------------------------------------------------------------------------


def test_a_typed_result_is_text_and_structured_where_the_revision_has_that(link: Link) -> None:
    result = call(link, "measure", name="nut")
    assert result.text == '{"name":"nut","millimetres":8,"labels":["metal"]}'
    has_structure = link.revision.structured_output is not StructuredOutput.NONE
    assert result.has_structured is has_structure
    if has_structure:
        assert result.data == {"name": "nut", "millimetres": 8, "labels": ["metal"]}


def test_a_plain_value_is_wrapped_only_where_it_has_to_be(link: Link) -> None:
    result = call(link, "whoami")
    number = int(result.text)
    wrapped = {
        StructuredOutput.NONE: None,
        StructuredOutput.OBJECT: {"result": number},
        StructuredOutput.ANY: number,
    }
    assert result.structured == wrapped[link.revision.structured_output]
    # The client takes it out again; only revisions without structured output have just the text.
    is_text = link.revision.structured_output is StructuredOutput.NONE
    assert result.data == (result.text if is_text else number)


# Line ends of JSON, of SSE and of Unicode; both directions of writing; outside the first plane.
TEXT = 'Größe \r\n \n\n \u2028 \u0085 data: x \x00 \x1b \\ " 漢字 عربي 🔩 \ufeff e\u0301'


def test_any_text_arrives_as_it_was_sent(link: Link) -> None:
    told: list[str | None] = []

    async def scenario(client: Client) -> CallResult:
        return await client.call(
            "echo", {"text": TEXT}, progress=lambda progress: told.append(progress.message)
        )

    assert link.run(scenario).text == TEXT
    if lacks(link.combination, "telling"):
        assert told == []
    else:
        assert told == [TEXT if link.revision.progress_message else None]


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_may_be_big(link: Link, streamed: bool) -> None:
    async def scenario(client: Client) -> CallResult:
        arguments = {"characters": 1_000_000, "streamed": streamed}
        return await client.call("fill", arguments, progress=lambda progress: None)

    assert link.run(scenario).text == "x" * 1_000_000


def test_a_request_may_be_big(link: Link) -> None:
    assert call(link, "echo", text="y" * 1_000_000).text == "y" * 1_000_000


# -- going wrong ----------------------------------------------------------------------------


def test_a_tool_that_fails_is_a_result(link: Link) -> None:
    result = call(link, "reject", why="The saw is blunt.")
    assert (result.is_error, result.text) == (True, "The saw is blunt.")


def test_a_tool_that_crashes_keeps_its_secrets(link: Link) -> None:
    result = call(link, "crash")
    assert result.is_error
    assert "reference" in result.text
    assert "secret" not in result.text


@pytest.mark.parametrize("arguments", [{}, {"name": 7}, {"name": "nut", "colour": "red"}])
def test_bad_arguments_are_a_result_that_names_them(link: Link, arguments: dict[str, Any]) -> None:
    result = call(link, "measure", **arguments)
    assert result.is_error
    assert ("colour" if "colour" in arguments else "name") in result.text


def test_an_unknown_tool_is_an_error(link: Link) -> None:
    error = error_of(link, lambda client: client.call("measur"))
    assert isinstance(error, InvalidParamsError)
    assert "'measure'" in error.message


def test_an_unknown_prompt_or_a_missing_argument_is_an_error(link: Link) -> None:
    unknown = error_of(link, lambda client: client.get_prompt("plans"))
    missing = error_of(link, lambda client: client.get_prompt("plan"))
    assert isinstance(unknown, InvalidParamsError)
    assert isinstance(missing, InvalidParamsError)
    assert "'plan'" in unknown.message
    assert "part" in missing.message


@pytest.mark.parametrize("uri", ["workshop://nothing", "workshop://parts/moon"])
def test_a_resource_that_is_not_there_has_the_code_of_the_revision(link: Link, uri: str) -> None:
    error = error_of(link, lambda client: client.read(uri))
    assert isinstance(error, ResourceNotFoundError)
    assert error.code == link.revision.resource_not_found
    assert error.data == {"uri": uri}


def test_an_unknown_method_is_an_error(link: Link) -> None:
    error = error_of(link, lambda client: client.request("workshop/sweep"))
    assert isinstance(error, MethodNotFoundError)


# -- resources, prompts, completion -----------------------------------------------------------


def test_a_resource_is_read(link: Link) -> None:
    call(link, "write", line="Swept the floor.")
    assert "Swept the floor." in link.run(read_journal)


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("workshop://parts/bolt", '{"name":"bolt","millimetres":12,"labels":[]}'),
        ("workshop://parts/gr%C3%B6%C3%9Fe", '{"name":"größe","millimetres":5,"labels":[]}'),
    ],
)
def test_a_template_is_read(link: Link, uri: str, text: str) -> None:
    assert link.run(lambda client: client.read(uri)).text == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"part": "nut"}, "How do I make a red nut?"),
        ({"part": "größe", "colour": "grün"}, "How do I make a grün größe?"),
    ],
)
def test_a_prompt_is_filled_in(link: Link, arguments: dict[str, str], text: str) -> None:
    result = link.run(lambda client: client.get_prompt("plan", arguments))
    [message] = result.messages
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    assert message.content.text == text


def test_an_argument_is_completed(link: Link) -> None:
    completion = link.run(lambda client: client.complete("plan", "part", "n"))
    assert completion.values == ["nail", "nut"]


# -- while a call runs ------------------------------------------------------------------------


def test_progress_is_told_in_order_before_the_call_returns(link: Link) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def scenario(client: Client) -> list[Any]:
        await client.call(
            "saw", {"cuts": 3}, progress=lambda p: told.append((p.progress, p.total, p.message))
        )
        return told[:]

    if lacks(link.combination, "telling"):
        expected: list[Any] = []
    elif link.revision.progress_message:
        expected = [(1, 3, "cut 1"), (2, 3, "cut 2"), (3, 3, "cut 3")]
    else:
        expected = [(1, 3, None), (2, 3, None), (3, 3, None)]
    assert link.run(scenario) == expected


@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_log_messages_come_from_the_level_that_was_asked_for(link: Link, level: str) -> None:
    wanted = "info" if lacks(link.combination, "log level") else level
    said = ["debug", "info", "error"]
    heard = [name for name in said if LOG_LEVELS[name] >= LOG_LEVELS[wanted]]
    if lacks(link.combination, "telling"):
        heard = []

    async def scenario(client: Client) -> None:
        if "logging" in client.capabilities:
            await client.set_log_level(level)
        await client.call("remark")
        await link.desk.until(lambda: len(link.desk.logs) >= len(heard))
        # Whatever else came of it would have come before this.
        await client.call("whoami")

    link.run(scenario)
    assert [message.level for message in link.desk.logs] == heard
    for message in link.desk.logs:
        if message.level == "info":
            assert message.data == {"message": "blade is warm", "celsius": 60}
            assert message.logger == "saw"


def test_two_calls_are_under_way_at_once(link: Link) -> None:
    async def scenario(client: Client) -> list[str]:
        first = asyncio.create_task(client.call("wait", {"door": "front"}))
        second = asyncio.create_task(client.call("wait", {"door": "back"}))
        await wait_for_line(client, "front: waits")
        await wait_for_line(client, "back: waits")
        await client.call("open_door", {"door": "back"})
        texts = [(await second).text]
        assert not first.done()
        await client.call("open_door", {"door": "front"})
        return [*texts, (await first).text]

    assert link.run(scenario) == ["out of back", "out of front"]


def test_a_call_that_is_cancelled_stops_its_handler(link: Link) -> None:
    async def scenario(client: Client) -> list[str]:
        waiting = asyncio.create_task(client.call("wait", {"door": "trap"}))
        await wait_for_line(client, "trap: waits")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        if lacks(link.combination, "cancelling"):
            # It goes on, and does what it would have done.
            await client.call("open_door", {"door": "trap"})
            await wait_for_line(client, "trap: let out")
        else:
            await wait_for_line(client, "trap: stopped")
        assert (await client.call("echo", {"text": "still here"})).text == "still here"
        return await read_journal(client)

    journal = link.run(scenario)
    assert ("trap: stopped" in journal) is not lacks(link.combination, "cancelling")
    assert ("trap: let out" in journal) is lacks(link.combination, "cancelling")


# -- asking back ------------------------------------------------------------------------------


def assert_refused(link: Link, tool: str, capability: str, **arguments: Any) -> None:
    """Nobody was asked, and the caller is told what the tool would have needed."""
    result = call(link, tool, **arguments)
    assert result.is_error
    assert f"supports {capability}" in result.text
    assert link.desk.asked == []


@pytest.mark.parametrize(
    ("form", "told"), [({"agreed": True}, "accept True"), (None, "decline None")]
)
def test_the_user_is_asked(link: Link, form: Any, told: str) -> None:
    link.desk.forms = {"Cut now?": form}
    if lacks(link.combination, "elicitation"):
        assert_refused(link, "confirm", "elicitation")
        return
    assert call(link, "confirm").text == told
    [asked] = link.desk.asked
    assert asked.schema["properties"] == {"agreed": {"type": "boolean"}}


def test_the_model_is_asked(link: Link) -> None:
    link.desk.words = "With patience. 🪚"
    if lacks(link.combination, "asking"):
        assert_refused(link, "advise", "sampling", question="How?")
        return
    assert call(link, "advise", question="How?").text == "With patience. 🪚"
    [asked] = link.desk.asked
    assert (asked.messages[0].text, asked.max_tokens) == ("How?", 50)


def test_the_folders_of_the_client_are_listed(link: Link) -> None:
    if lacks(link.combination, "asking"):
        assert_refused(link, "folders", "roots")
        return
    assert call(link, "folders").text == "file:///srv/shed"


def test_a_tool_that_asks_three_times_acts_once(link: Link) -> None:
    link.desk.forms = {"Where to?": {"city": "Kyoto"}, "Sure?": {"agreed": True}}
    link.desk.words = "quiet temples"
    if lacks(link.combination, "elicitation"):
        assert_refused(link, "book", "elicitation", traveller="Ada")
        return

    async def scenario(client: Client) -> tuple[str, str, list[str]]:
        before = (await client.read("workshop://ledger")).text.split()
        text = (await client.call("book", {"traveller": "Ada"})).text
        after = (await client.read("workshop://ledger")).text.split()
        assert len(after) - len(before) == 1
        return text, after[-1], [before[0], after[0]]

    text, city, runs = link.run(scenario)
    assert text.startswith("Ada goes to Kyoto for 2: quiet temples (")
    assert city == "Kyoto"
    assert len(link.desk.asked) == 3
    # Without a back channel, the tool runs from its start after each of the three answers.
    assert int(runs[1]) - int(runs[0]) == (4 if link.is_modern else 1)


def test_a_user_who_declines_ends_it(link: Link) -> None:
    if lacks(link.combination, "elicitation"):
        assert_refused(link, "book", "elicitation", traveller="Ada")
        return
    result = call(link, "book", traveller="Ada")
    assert (result.is_error, result.text) == (True, "no trip: decline")
    assert len(link.desk.asked) == 1


def test_a_client_that_offers_nothing_is_asked_nothing(link: Link) -> None:
    needs = {"confirm": "elicitation", "advise": "sampling", "folders": "roots"}

    async def scenario(_: Client) -> list[str]:
        told = []
        async with link.connect() as client:
            for tool in needs:
                arguments = {"question": "?"} if tool == "advise" else {}
                try:
                    result = await client.call(tool, arguments)
                except MissingCapabilityError as error:
                    assert link.is_modern
                    told.append(str(error.data["requiredCapabilities"]))
                else:
                    assert not link.is_modern
                    assert result.is_error
                    told.append(result.text)
        return told

    for capability, told in zip(needs.values(), link.run(scenario), strict=True):
        assert capability in told


# -- changes ----------------------------------------------------------------------------------


def test_a_tool_that_comes_and_goes_is_told_to_who_listens(link: Link) -> None:
    async def scenario(client: Client) -> None:
        async with client.subscribe(tools=True) as changes:
            assert changes.refused == ()
            await client.call("hang_up", {"tool": "rake"})
            assert await anext(changes) == Change("tools")
            assert "rake" in {tool.name for tool in await client.list_tools()}
            assert (await client.call("rake")).text == "rake used"
            await client.call("take_down", {"tool": "rake"})
            assert await anext(changes) == Change("tools")
            assert "rake" not in {tool.name for tool in await client.list_tools()}
        # The callback of the whole client heard of both; they may have fallen together.
        await link.desk.until(lambda: len(link.desk.changes) > 0)

    async def silent(client: Client) -> None:
        await client.call("hang_up", {"tool": "rake"})
        assert "rake" in {tool.name for tool in await client.list_tools()}
        assert (await client.call("rake")).text == "rake used"
        await client.call("take_down", {"tool": "rake"})
        assert "rake" not in {tool.name for tool in await client.list_tools()}

    if lacks(link.combination, "changes"):
        link.run(silent)
        assert link.desk.changes == []
    else:
        link.run(scenario)
        assert set(link.desk.changes) == {Change("tools")}


# What happens elsewhere is in test_promises.py.
@pytest.mark.parametrize(
    "link", [c for c in COMBINATIONS if not lacks(c, "changes")], indirect=True, ids=str
)
def test_a_resource_that_changes_is_told_to_who_watches_it(link: Link) -> None:
    async def scenario(client: Client) -> None:
        async with client.subscribe(uris=[JOURNAL]) as changes:
            assert changes.refused == ()
            await client.call("write", {"line": "watched"})
            assert await anext(changes) == Change("resource", JOURNAL)
            assert "watched" in await read_journal(client)
        async with client.subscribe(tools=True, uris=[]) as changes:
            await client.call("write", {"line": "not watched"})
            await client.call("hang_up", {"tool": "hoe"})
            assert await anext(changes) == Change("tools")
            await client.call("take_down", {"tool": "hoe"})

    link.run(scenario)


# -- the end ----------------------------------------------------------------------------------

# In memory there is nobody who could go away without the client.
MORTAL = [combination for combination in COMBINATIONS if combination.transport.name != "memory"]


@pytest.mark.parametrize("combination", MORTAL, ids=str)
def test_a_server_that_ends_is_noticed(combination: Combination) -> None:
    link = Link(combination)
    is_noticed = not lacks(combination, "noticing the end")

    async def scenario(client: Client) -> None:
        pid = int((await client.call("whoami")).text)
        assert (pid == os.getpid()) is (combination.transport.name != "stdio")
        assert link.served.end is not None
        if is_noticed:
            async with client.subscribe(tools=True) as changes:
                await asyncio.to_thread(link.served.end, pid)
                if combination.is_modern:
                    # subs.graceful-result (2026-07-28 basic/patterns/subscriptions)
                    assert [change async for change in changes] == []
                else:
                    with pytest.raises(TransportError):
                        await anext(changes)
        else:
            await asyncio.to_thread(link.served.end, pid)
        with pytest.raises(TransportError):
            await client.call("whoami")

    try:
        link.run(scenario)
    finally:
        link.close()


# Each of these takes the seconds that a server grants to what is under way: one of every kind.
LAST_CALLS = [
    combination
    for combination in MORTAL
    if combination.revision in (LATEST_LEGACY, MODERN[-1]) and not at("stateless")(combination)
]


@pytest.mark.slow
@pytest.mark.parametrize("combination", LAST_CALLS, ids=str)
def test_a_call_that_is_under_way_when_the_server_ends_does_not_hang(
    combination: Combination,
) -> None:
    link = Link(combination)

    async def scenario(client: Client) -> None:
        pid = int((await client.call("whoami")).text)
        waiting = asyncio.create_task(client.call("wait", {"door": "last"}))
        await wait_for_line(client, "last: waits")
        assert link.served.end is not None
        await asyncio.to_thread(link.served.end, pid)
        with pytest.raises((TransportError, RpcError)):
            await waiting

    try:
        link.run(scenario)
    finally:
        link.close()
