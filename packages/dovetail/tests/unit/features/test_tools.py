"""Tools: what is listed, what a call takes, and every kind of result at every revision."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest

from dovetail import (
    Annotations,
    Audio,
    Context,
    EmbeddedResource,
    Icon,
    Image,
    Options,
    ResourceLink,
    Server,
    Text,
    Tool,
    ToolAnnotations,
    ToolError,
    ToolResult,
)
from dovetail.errors import DuplicateError, InvalidValueError, UsageError
from tests.unit.talk import (
    BATCHES,
    FIRST_FORMS,
    LEGACY,
    MODERN,
    OLDEST,
    REVISIONS,
    Wire,
    ask,
    call,
    refusal,
    run,
    text_of,
    turn,
)

PNG = b"\x89PNG\r\n\x1a\nrest"
WAV = b"RIFF\x00\x00\x00\x00WAVE"


@dataclass
class Point:
    x: int
    y: int = 0


class Size(msgspec.Struct):
    width: int


class Model(pydantic.BaseModel):
    name: str


class Row(TypedDict):
    id: int


def tool_of(returns: Any, value: Any, **options: Any) -> Server:
    """A server with the tool `t` that returns `value` and is annotated so."""
    server = Server("s")

    def t() -> Any:
        return value

    t.__annotations__["return"] = returns
    server.tools.add(t, blocking=False, **options)
    return server


def listed(server: Server, revision: str = LEGACY) -> dict[str, Any]:
    [tool] = ask(server, "tools/list", revision=revision)["tools"]
    shown: dict[str, Any] = tool
    return shown


# -- results --------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("returns", "value", "blocks"),
    [
        (str, "hello", ["text"]),
        (None, None, []),
        (Any, None, []),
        (bytes, PNG, ["image"]),
        (Image, Image(PNG), ["image"]),
        (EmbeddedResource, EmbeddedResource("n://a", "A"), ["resource"]),
        (list[Image | str], ["a", Image(PNG)], ["text", "image"]),
        (Any, ["a", Text("b"), PNG], ["text", "text", "image"]),
        (str | Image, "a", ["text"]),
    ],
)
def test_text_and_content_are_sent_once_and_have_no_schema(
    revision: str, returns: Any, value: Any, blocks: list[str]
) -> None:
    server = tool_of(returns, value)
    result = call(server, "t", revision=revision)
    assert [block["type"] for block in result["content"]] == blocks
    assert result.keys() == {"content"}
    assert "outputSchema" not in listed(server, revision)


def test_plain_data_without_an_annotation_is_its_json_as_text() -> None:
    result = call(tool_of(Any, {"a": 1}), "t")
    assert result == {"content": [{"type": "text", "text": '{"a":1}'}]}


OBJECTS: list[tuple[Any, Any, Any]] = [
    (Point, Point(1, 2), {"x": 1, "y": 2}),
    (Size, Size(3), {"width": 3}),
    (Model, Model(name="a"), {"name": "a"}),
    (Row, {"id": 1}, {"id": 1}),
    (dict[str, int], {"a": 1}, {"a": 1}),
]
BARE: list[tuple[Any, Any, Any]] = [
    (int, 3, 3),
    (float, 2.5, 2.5),
    (bool, True, True),
    (list[int], [1, 2], [1, 2]),
    (list[Point], [Point(1)], [{"x": 1, "y": 0}]),
    (int | None, None, None),
]


@pytest.mark.parametrize("revision", [FIRST_FORMS, LEGACY, MODERN])
@pytest.mark.parametrize(("returns", "value", "data"), OBJECTS)
def test_an_object_is_structured_content_and_the_same_json_as_text(
    revision: str, returns: Any, value: Any, data: Any
) -> None:
    server = tool_of(returns, value)
    result = call(server, "t", revision=revision)
    assert result["structuredContent"] == data
    assert json.loads(text_of(result)) == data
    assert listed(server, revision)["outputSchema"]["type"] == "object"


@pytest.mark.parametrize("revision", [FIRST_FORMS, LEGACY])
@pytest.mark.parametrize(("returns", "value", "data"), BARE)
def test_other_results_are_wrapped_where_the_root_must_be_an_object(
    revision: str, returns: Any, value: Any, data: Any
) -> None:
    server = tool_of(returns, value)
    result = call(server, "t", revision=revision)
    assert result["structuredContent"] == {"result": data}
    assert json.loads(text_of(result)) == data
    schema = listed(server, revision)["outputSchema"]
    assert (schema["type"], schema["required"]) == ("object", ["result"])
    assert list(schema["properties"]) == ["result"]


@pytest.mark.parametrize(("returns", "value", "data"), BARE)
def test_other_results_are_bare_where_anything_may_stand_at_the_root(
    returns: Any, value: Any, data: Any
) -> None:
    server = tool_of(returns, value)
    result = call(server, "t", revision=MODERN)
    assert result["structuredContent"] == data
    assert "properties" not in listed(server, MODERN)["outputSchema"]


@pytest.mark.parametrize("revision", [OLDEST, BATCHES])
@pytest.mark.parametrize(("returns", "value", "data"), OBJECTS + BARE)
def test_before_structured_output_there_is_the_text_alone(
    revision: str, returns: Any, value: Any, data: Any
) -> None:
    server = tool_of(returns, value)
    result = call(server, "t", revision=revision)
    assert result.keys() == {"content"}
    assert json.loads(text_of(result)) == data
    assert "outputSchema" not in listed(server, revision)


def test_definitions_stay_where_references_look_for_them_when_a_schema_is_wrapped() -> None:
    schema = listed(tool_of(list[Point], []))["outputSchema"]
    assert schema["properties"]["result"]["items"] == {"$ref": "#/$defs/Point"}
    assert list(schema["$defs"]) == ["Point"]


@pytest.mark.parametrize("revision", [OLDEST, MODERN])
def test_blocks_are_said_as_the_revision_can_say_them(revision: str) -> None:
    server = tool_of(Any, [Audio(WAV), ResourceLink(uri="n://a", name="a")])
    kinds = [block["type"] for block in call(server, "t", revision=revision)["content"]]
    assert kinds == (["resource", "text"] if revision == OLDEST else ["audio", "resource_link"])


@pytest.mark.parametrize(
    "block",
    [
        Text("a", annotations=Annotations(audience=["assistant"])),
        Image(PNG, annotations=Annotations(audience=["assistant"])),
        Audio(WAV, annotations=Annotations(audience=["assistant"])),
        EmbeddedResource("n://a", "A", annotations=Annotations(audience=["assistant"])),
        ResourceLink(uri="n://a", name="a", annotations=Annotations(audience=["assistant"])),
    ],
    ids=lambda block: type(block).__name__,
)
def test_annotations_reach_the_client(block: Any) -> None:
    [shown] = call(tool_of(Any, block), "t")["content"]
    assert shown["annotations"] == {"audience": ["assistant"]}


# -- explicit results -------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_tool_result_says_everything_at_once(revision: str) -> None:
    value = ToolResult(
        ["see", Image(PNG)], structured={"n": 1}, is_error=True, meta={"example.com/k": "v"}
    )
    result = call(tool_of(ToolResult, value), "t", revision=revision)
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert result["structuredContent"] == {"n": 1}
    assert result["isError"] is True
    assert result["_meta"] == {"example.com/k": "v"}


def test_structured_data_of_a_tool_result_is_its_text_too_unless_there_is_other_content() -> None:
    assert text_of(call(tool_of(ToolResult, ToolResult(structured=[1])), "t")) == "[1]"
    other = call(tool_of(ToolResult, ToolResult("one", structured=[1])), "t")
    assert (text_of(other), other["structuredContent"]) == ("one", {"result": [1]})
    assert call(tool_of(ToolResult, ToolResult("one", structured=None)), "t", revision=MODERN)[
        "structuredContent"
    ] is None  # fmt: skip
    assert call(tool_of(ToolResult, ToolResult()), "t") == {"content": []}


def test_a_tool_result_is_held_to_the_output_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    good = tool_of(ToolResult, ToolResult(structured={"n": 1}), output_schema=schema)
    assert call(good, "t")["structuredContent"] == {"n": 1}
    failure = tool_of(ToolResult, ToolResult("no luck", is_error=True), output_schema=schema)
    assert call(failure, "t") == {
        "content": [{"type": "text", "text": "no luck"}],
        "isError": True,
    }


@pytest.mark.parametrize(
    ("returns", "value", "options"),
    [
        (int, "seven", {}),
        (Point, {"x": "one"}, {}),
        (list[int], [1, "2"], {}),
        (Model, {"name": 5}, {}),
        (Any, {"n": "1"}, {"output_schema": {"type": "object", "properties": {"n": {"const": 1}}}}),
        (ToolResult, ToolResult(structured={"n": 2}), {"output_schema": {"const": {"n": 1}}}),
        (ToolResult, ToolResult("text"), {"output_schema": {"type": "object"}}),
    ],
)
def test_a_result_that_breaks_its_schema_is_our_error_and_never_sent(
    returns: Any, value: Any, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    result = call(tool_of(returns, value, **options), "t")
    assert result["isError"] is True
    assert "Internal error, reference" in text_of(result)
    assert "structuredContent" not in result
    [record] = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], InvalidValueError | UsageError)


# -- arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_schema_written_by_hand_is_listed_as_it_stands_and_enforced(revision: str) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"n": {"type": "integer", "multipleOf": 5}},
        "required": ["n"],
        "x-own": [1],
    }
    server = Server("s")

    @server.tool(input_schema=schema)
    def t(**values: Any) -> str:
        return json.dumps(values)

    assert listed(server, revision)["inputSchema"] == schema
    assert text_of(call(server, "t", {"n": 10}, revision=revision)) == '{"n": 10}'
    refused = call(server, "t", {"n": 7}, revision=revision)
    assert refused["isError"] is True
    assert "n" in text_of(refused)
    assert "7" in text_of(refused)


def test_an_input_schema_must_be_an_object_at_its_root() -> None:
    with pytest.raises(UsageError, match='"type": "object"'):
        tool_of(str, "a", input_schema={"type": "array"})


def test_bad_arguments_are_a_result_that_names_place_value_and_what_is_allowed() -> None:
    server = Server("s")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    one = call(server, "add", {"a": 1, "b": "x"})
    assert one["isError"] is True
    assert text_of(one).startswith("Invalid arguments for add: b: expected")
    assert '"x"' in text_of(one)
    two = text_of(call(server, "add", {"a": "y", "c": 1}))
    assert two.count("\n- ") == 3
    missing = ask(server, "tools/call", {"name": "add"})
    assert "a: " in text_of(missing)


def test_positional_only_parameters_get_their_arguments() -> None:
    server = Server("s")

    @server.tool
    async def f(a: int, b: int = 2, /, *, c: int = 3) -> str:
        return f"{a} {b} {c}"

    assert text_of(call(server, "f", {"a": 1})) == "1 2 3"
    assert text_of(call(server, "f", {"a": 1, "b": 5, "c": 6})) == "1 5 6"


def test_arguments_as_json_in_a_string_are_taken_where_the_operator_allows_it() -> None:
    for accept in (True, False):
        server = Server("s", options=Options(accept_json_strings=accept))

        @server.tool
        def f(a: list[int]) -> str:
            return str(a)

        result = call(server, "f", {"a": "[1, 2]"})
        assert result.get("isError", False) is not accept


# -- failures ---------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_a_tool_error_is_shown_as_written_and_any_other_only_by_reference(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("s")

    @server.tool
    def known() -> str:
        raise ToolError("The city has no forecast.")

    @server.tool
    async def crash() -> str:
        raise ValueError("secret detail")

    assert call(server, "known", revision=revision) == {
        "content": [{"type": "text", "text": "The city has no forecast."}],
        "isError": True,
    }
    assert not caplog.records
    shown = text_of(call(server, "crash", revision=revision))
    assert "secret" not in shown
    reference = shown.split("reference ")[1].split(";")[0]
    assert reference in caplog.text
    assert "secret detail" in caplog.text


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_an_unknown_tool_is_a_protocol_error_with_the_nearest_name(revision: str) -> None:
    server = tool_of(str, "a")
    server.tools.add(lambda: "b", name="forecast", blocking=False)
    error = refusal(server, "tools/call", {"name": "forcast"}, revision=revision)
    assert error["code"] == -32602
    assert error["message"] == "Unknown tool: 'forcast'; did you mean 'forecast'?"


# -- names and listings -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a b", "ä", "a/b", "a\n", "x" * 129, "a,b"])
def test_names_outside_the_protocols_alphabet_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"1 to 128 characters of A-Z a-z 0-9 _ - \."):
        tool_of(str, "a", name=name)


@pytest.mark.parametrize("name", ["a", "x" * 128, "A-b_c.9"])
def test_names_inside_it_are_taken(name: str) -> None:
    assert listed(tool_of(str, "a", name=name))["name"] == name


def test_a_name_that_is_taken_is_refused_and_says_what_to_do() -> None:
    server = tool_of(str, "a")
    with pytest.raises(
        DuplicateError, match=r"tool 't' is registered already \(.*\); remove it first"
    ):
        server.tools.add(lambda: "b", name="t")
    assert text_of(call(server, "t")) == "a"


def test_the_listing_says_all_that_was_given() -> None:
    server = Server("s")

    @server.tool(
        title="Adder",
        annotations=ToolAnnotations(read_only_hint=True),
        icons=[Icon(src="https://e.com/i.png")],
        meta={"example.com/k": 1},
    )
    def add(a: int, ctx: Context) -> int:
        """Add one.

        Args:
            a: The number.
        """
        return a + 1

    tool = listed(server)
    assert tool["title"] == "Adder"
    assert tool["description"] == "Add one."
    assert tool["annotations"] == {"readOnlyHint": True}
    assert tool["icons"] == [{"src": "https://e.com/i.png"}]
    assert tool["_meta"] == {"example.com/k": 1}
    assert list(tool["inputSchema"]["properties"]) == ["a"]
    assert tool["inputSchema"]["properties"]["a"]["description"] == "The number."
    assert listed(server, OLDEST).keys() == {"name", "description", "inputSchema"}
    assert [t.name for t in server.tools.list()] == ["add"]
    assert isinstance(server.tools.list()[0], Tool)


def test_a_description_that_is_given_wins_over_the_docstring() -> None:
    assert listed(tool_of(str, "a", description="Own."))["description"] == "Own."
    assert "description" not in listed(tool_of(str, "a"))


# -- changes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", [OLDEST, LEGACY])
def test_many_changes_in_one_turn_are_one_notification(revision: str) -> None:
    async def scenario() -> None:
        server = tool_of(str, "a")
        wire = await Wire(server, revision).open()
        for name in "bcd":
            server.tools.add(lambda: "x", name=name, blocking=False)
        server.tools.remove("t")
        await turn()
        assert len(wire.heard("notifications/tools/list_changed")) == 1
        listing = await wire.ask("tools/list")
        assert [tool["name"] for tool in listing["result"]["tools"]] == ["b", "c", "d"]
        server.tools.remove("b")
        await turn()
        assert len(wire.heard("notifications/tools/list_changed")) == 2
        await wire.connection.close()

    run(scenario())


@pytest.mark.parametrize("style", ["async", "thread", "inline"])
def test_a_handler_can_add_and_remove_tools(style: str) -> None:
    async def scenario() -> None:
        server = Server("s")

        def change() -> str:
            server.tools.add(lambda: "new", name="new", blocking=False)
            server.tools.remove("change")
            return ", ".join(tool.name for tool in server.tools.list())

        async def change_async() -> str:
            return change()

        if style == "async":
            server.tools.add(change_async, name="change")
        else:
            server.tools.add(change, blocking=style == "thread")
        wire = await Wire(server).open()
        response = await wire.call("change")
        assert text_of(response["result"]) == "new"
        assert text_of((await wire.call("new"))["result"]) == "new"
        await turn()
        # A thread's changes reach the loop one by one, perhaps in two turns.
        heard = len(wire.heard("notifications/tools/list_changed"))
        assert heard == 1 or (style == "thread" and heard == 2)
        await wire.connection.close()

    run(scenario())


def test_pages_are_followed_by_cursor() -> None:
    server = Server("s", options=Options(page_size=2))
    for name in "abc":
        server.tools.add(lambda: "x", name=name)
    first = ask(server, "tools/list")
    assert [tool["name"] for tool in first["tools"]] == ["a", "b"]
    second = ask(server, "tools/list", {"cursor": first["nextCursor"]})
    assert [tool["name"] for tool in second["tools"]] == ["c"]
    assert "nextCursor" not in second


def test_an_error_about_many_arguments_is_short() -> None:
    server = Server("s")

    @server.tool
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    arguments = {"numbers": ["x" * 1000] * 1000}
    text = text_of(ask(server, "tools/call", {"name": "total", "arguments": arguments}))
    assert text.endswith("- and 980 more")
    assert text.count("\n") == 21 and len(text) < 5000


@pytest.mark.parametrize("register", ["tool", "prompt", "resource_list"])
def test_an_unknown_keyword_is_refused_with_the_nearest_known_one(register: str) -> None:
    server = Server("s")
    with pytest.raises(TypeError, match=r"keyword argument 'scope'; did you mean 'scopes'\?"):
        getattr(server, register)(scope={"a"})(lambda: "")
    with pytest.raises(TypeError, match="'scope'"):
        server.resource("a://b", scope={"a"})(lambda: "")  # type: ignore[call-arg]  # as above
