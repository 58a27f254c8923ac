"""The server that the official conformance suite expects, written with the public API.

    dovetail run qa/conformance/server.py --http 127.0.0.1:8000

Names, arguments and texts are the suite's. Tools without arguments come first: one probe calls
whatever is listed first with no arguments at all.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from dovetail import (
    Audio,
    Choices,
    Context,
    EmbeddedResource,
    Header,
    Image,
    Message,
    Options,
    Server,
    ToolError,
)
from dovetail.errors import RpcError

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SOUND = (
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"
    b"D\xac\x00\x00\x88X\x01\x00\x02\x00\x10\x00data\x00\x00\x00\x00"
)

# Set for one of several processes, which share the key as well.
CLUSTER = os.environ.get("CLUSTER_URL")

server = Server(
    "conformance",
    version="1.0.0",
    instructions="For the conformance suite.",
    options=Options(state=CLUSTER, state_keys=[b"shared by all processes" * 2])
    if CLUSTER
    else Options(state="memory://"),
)


# -- content ----------------------------------------------------------------------------


@server.tool
async def test_simple_text() -> str:
    """One text block."""
    return "This is a simple text response for testing."


@server.tool
async def test_image_content() -> Image:
    """One image."""
    return Image(PIXEL)


@server.tool
async def test_audio_content() -> Audio:
    """One sound."""
    return Audio(SOUND)


@server.tool
async def test_embedded_resource() -> EmbeddedResource:
    """One embedded resource."""
    return EmbeddedResource(
        "test://embedded-resource", "This is an embedded resource content.", "text/plain"
    )


@server.tool
async def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Several blocks."""
    return [
        "Multiple content types test:",
        Image(PIXEL),
        EmbeddedResource(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        ),
    ]


@server.tool
async def test_error_handling() -> str:
    """A failure that the model reads."""
    raise ToolError("This tool intentionally returns an error for testing")


# -- while it runs ------------------------------------------------------------------------


@server.tool
async def test_tool_with_logging(ctx: Context) -> str:
    """Three log messages."""
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.log.info(text)
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_tool_with_progress(ctx: Context) -> str:
    """Three steps."""
    for done in (0, 50, 100):
        await ctx.progress(done, 100)
        await asyncio.sleep(0.05)
    return "done"


@server.tool
async def test_logging_tool(ctx: Context) -> str:
    """Logs to whoever asked for it."""
    await ctx.log.info("a message")
    return "done"


@server.tool
async def test_reconnection(ctx: Context) -> str:
    """Closes the connection and answers to whoever comes back."""
    ctx.disconnect(retry_ms=100)
    await asyncio.sleep(0.15)
    return "Reconnection test completed"


# -- asking -------------------------------------------------------------------------------


@dataclass
class Person:
    username: Annotated[str, "User's response"]
    email: Annotated[str, "User's email address"]


@server.tool
async def test_elicitation(message: str, ctx: Context) -> str:
    """Asks for a name and an address."""
    answer = await ctx.elicit(message, Person)
    return f"User response: {answer.action} {answer.data}"


@dataclass
class Defaults:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


@server.tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """A form with a default for everything."""
    answer = await ctx.elicit("Please confirm", Defaults)
    return f"Elicitation completed: action={answer.action}, content={answer.data}"


OPTIONS = ["option1", "option2", "option3"]
VALUES = {"value1": "First Option", "value2": "Second Option", "value3": "Third Option"}
OPTS = {"opt1": "Option One", "opt2": "Option Two", "opt3": "Option Three"}


@dataclass
class Enums:
    untitledSingle: Annotated[str, Choices(OPTIONS)]
    titledSingle: Annotated[str, Choices(VALUES)]
    legacyEnum: Annotated[str, Choices(OPTS, legacy=True)]
    untitledMulti: Annotated[list[str], Choices(OPTIONS)]
    titledMulti: Annotated[list[str], Choices(VALUES)]


@server.tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """A form with every kind of choice."""
    answer = await ctx.elicit("Please choose", Enums)
    return f"Elicitation completed: action={answer.action}, content={answer.data}"


@server.tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    """Asks the client's model."""
    sampled = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {sampled.text}"


@server.tool
async def test_missing_capability(ctx: Context) -> str:
    """Needs sampling."""
    return (await ctx.sample("hi", max_tokens=10)).text


@dataclass
class Name:
    name: str


@dataclass
class Confirm:
    ok: bool


@dataclass
class Color:
    color: str


@server.tool
async def test_streaming_elicitation(ctx: Context) -> str:
    """Progress first, then a question."""
    await ctx.progress(1, 2)
    answer = await ctx.elicit("What is your name?", Name, key="user_name")
    return f"Hello, {answer.data.name if answer.data else 'nobody'}!"


@server.tool
async def test_input_required_result_elicitation(ctx: Context) -> str:
    """Asks for a name."""
    answer = await ctx.elicit("What is your name?", Name, key="user_name")
    return f"Hello, {answer.data.name if answer.data else 'nobody'}!"


@server.tool
async def test_input_required_result_sampling(ctx: Context) -> str:
    """Asks the client's model."""
    sampled = await ctx.sample(
        "What is the capital of France?", max_tokens=100, key="capital_question"
    )
    return sampled.text


@server.tool
async def test_input_required_result_list_roots(ctx: Context) -> str:
    """Asks for the roots."""
    return json.dumps([root.uri for root in await ctx.roots(key="client_roots")])


@server.tool
async def test_input_required_result_request_state(ctx: Context) -> str:
    """Asks for a confirmation."""
    await ctx.elicit("Please confirm", Confirm, key="confirm")
    return "state-ok"


@server.tool
async def test_input_required_result_multiple_inputs(ctx: Context) -> str:
    """Asks for three things at once."""
    name, greeting, roots = await asyncio.gather(
        ctx.elicit("What is your name?", Name, key="user_name"),
        ctx.sample("Generate a greeting", max_tokens=50, key="greeting"),
        ctx.roots(key="client_roots"),
    )
    return f"{name.data} {greeting.text} {len(roots)}"


@server.tool
async def test_input_required_result_multi_round(ctx: Context) -> str:
    """Asks for one thing, then for another."""
    first = await ctx.elicit("Step 1: What is your name?", Name, key="step1")
    second = await ctx.elicit("Step 2: What is your favorite color?", Color, key="step2")
    return f"{first.data} {second.data}"


@server.tool
async def test_input_required_result_tampered_state(ctx: Context) -> str:
    """Asks for a confirmation; its state must come back as it went out."""
    await ctx.elicit("Please confirm", Confirm, key="confirm")
    return "state-ok"


@server.tool
async def test_input_required_result_capabilities(ctx: Context) -> str:
    """Asks only for what the client has declared."""
    declared = ctx.client.capabilities
    if "elicitation" in declared:
        await ctx.elicit("What is your name?", Name, key="user_name")
    if "sampling" in declared:
        await ctx.sample("hi", max_tokens=10, key="greeting")
    return "done"


# -- tasks --------------------------------------------------------------------------------


@server.tool
async def greet(name: str) -> str:
    """Answers at once, always."""
    return f"Hello, {name}!"


@server.tool(task="optional")
async def slow_compute(seconds: float = 1, label: str = "") -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return f"Computed {label} in {seconds:g} s"


@server.tool(task="required")
async def failing_job() -> str:
    """Fails as a tool does."""
    await asyncio.sleep(0.2)
    raise ToolError("This job always fails")


@server.tool(task="optional")
async def protocol_error_job() -> str:
    """Fails as a request does."""
    await asyncio.sleep(0.1)
    raise RpcError("This job breaks the protocol", code=-32050)


@dataclass
class Deletion:
    confirm: bool = False


@server.tool(task="optional")
async def confirm_delete(filename: str, ctx: Context) -> str:
    """Asks before it deletes nothing."""
    answer = await ctx.elicit(f"Delete {filename}?", Deletion)
    return f"Deleted {filename}" if answer.data and answer.data.confirm else "Kept"


@server.tool(task="optional")
async def multi_input(ctx: Context) -> str:
    """Asks two things at once."""
    name, deletion = await asyncio.gather(
        ctx.elicit("What is your name?", Name), ctx.elicit("Are you sure?", Deletion)
    )
    return f"{name.data} {deletion.data}"


async def _ask_name(ctx: Context) -> None:
    await ctx.elicit("What is your name?", Name, key="user_name")


@server.tool(task="required", before_task=_ask_name)
async def test_tool_with_task(ctx: Context) -> str:
    """Asks first, then becomes a task that knows the answer."""
    answer = await ctx.elicit("What is your name?", Name, key="user_name")
    return f"Hello, {answer.data.name if answer.data else 'nobody'}!"


# -- changes ------------------------------------------------------------------------------


@server.tool
async def test_trigger_tool_change() -> str:
    """Changes the list of tools."""
    server.tools.add(_passing, name="test_passing_tool")
    server.tools.remove("test_passing_tool")
    return "changed"


@server.tool
async def test_trigger_prompt_change() -> str:
    """Changes the list of prompts."""
    server.prompts.add(_passing, name="test_passing_prompt")
    server.prompts.remove("test_passing_prompt")
    return "changed"


async def _passing() -> str:
    return "here today"


# -- schemas ------------------------------------------------------------------------------


@server.tool
async def test_x_mcp_header(region: Annotated[str, Header("Region")]) -> str:
    """A parameter that HTTP repeats in a header."""
    return region


@server.tool(
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "additionalProperties": False,
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
    }
)
async def json_schema_2020_12_tool(**arguments: Any) -> str:
    """A schema written by hand, sent as it stands."""
    return json.dumps(arguments)


# -- resources ----------------------------------------------------------------------------


@server.resource("test://static-text", mime_type="text/plain")
async def static_text() -> str:
    """Text."""
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
async def static_binary() -> bytes:
    """A picture."""
    return PIXEL


@server.resource("test://template/{id}/data", mime_type="application/json")
async def template_data(id: str) -> dict[str, Any]:
    """Data by id."""
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


@server.resource("test://watched-resource", mime_type="text/plain")
async def watched_resource() -> str:
    """Something to subscribe to."""
    return "Watched resource content"


# -- prompts ------------------------------------------------------------------------------


@server.prompt
async def test_simple_prompt() -> str:
    """One message."""
    return "This is a simple prompt for testing."


@server.prompt
async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.complete(test_prompt_with_arguments, "arg1")
async def first_argument(typed: str) -> list[str]:
    return [word for word in ("paris", "park", "party") if word.startswith(typed)]


@server.prompt
async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Message]:
    """An embedded resource."""
    return [
        Message(EmbeddedResource(resourceUri, "Embedded resource content", "text/plain")),
        Message("Please process the embedded resource above."),
    ]


@server.prompt
async def test_prompt_with_image() -> list[Message]:
    """An image."""
    return [Message(Image(PIXEL)), Message("Please analyze the image above.")]


@dataclass
class About:
    context: str


@server.prompt
async def test_input_required_result_prompt(ctx: Context) -> str:
    """Asks before it writes."""
    answer = await ctx.elicit("What context should the prompt use?", About, key="user_context")
    return f"Context: {answer.data.context if answer.data else 'none'}"
