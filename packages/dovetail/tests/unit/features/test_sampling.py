"""Asking the client's model: what may be asked, what is sent, what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import (
    Audio,
    Context,
    EmbeddedResource,
    Image,
    Message,
    ModelPreferences,
    Sampled,
    SamplingMessage,
    Server,
    Tool,
)
from dovetail.errors import UsageError
from dovetail.spec.models import TextContent, ToolResultContent, ToolUseContent
from tests.unit.talk import (
    FIRST_FORMS,
    LEGACY,
    MODERN,
    OLDEST,
    Json,
    Wire,
    answer,
    complaint_of,
    run,
    text_of,
)

PNG = b"\x89PNG\r\n\x1a\nrest"
WAV = b"RIFF\x00\x00\x00\x00WAVE"
TOOL = Tool(name="look", input_schema={"type": "object"})
USE = ToolUseContent(id="u1", name="look", input={})
OTHER_USE = ToolUseContent(id="u2", name="look", input={})
DONE = ToolResultContent(tool_use_id="u1", content=[TextContent(text="seen")])
OTHER_DONE = ToolResultContent(tool_use_id="u2", content=[])
WORDS = TextContent(text="words")
REPLY = {"role": "assistant", "content": {"type": "text", "text": "yo"}, "model": "m"}


def said(*blocks: Any, role: Any = "user") -> SamplingMessage:
    return SamplingMessage(role=role, content=list(blocks))


def sampling(messages: Any, **options: Any) -> tuple[Server, list[Sampled]]:
    server = Server("s")
    got: list[Sampled] = []

    @server.tool
    async def ask(ctx: Context) -> str:
        sampled = await ctx.sample(messages, **options)
        got.append(sampled)
        return sampled.text

    return server, got


def exchange(
    messages: Any = "hi",
    *,
    declared: Any = None,
    reply: Any = REPLY,
    revision: str = LEGACY,
    **options: Any,
) -> tuple[Json | None, Json, list[Sampled]]:
    """The params the client got, the response it got in the end, what the handler got."""
    server, got = sampling(messages, **options)
    capabilities = {"sampling": {} if declared is None else declared}

    async def scenario() -> tuple[Json | None, Json]:
        wire = await Wire(server, revision, capabilities).open()
        id = wire.put_call("ask")
        first = await wire.until(lambda m: m.get("id") == id or "method" in m)
        if first.get("method") != "sampling/createMessage":
            return None, first
        wire.reply(first["id"], reply)
        wire.sent.remove(first)
        response = await wire.response(id)
        await wire.connection.close()
        return first["params"], response

    params, response = run(scenario())
    return params, response, got


@pytest.mark.parametrize(
    ("messages", "sent"),
    [
        ("hi", [("user", "text")]),
        (Message("hi", "assistant"), [("assistant", "text")]),
        (["a", Message(Image(PNG))], [("user", "text"), ("user", "image")]),
        (
            ["a", Message(Audio(WAV)), SamplingMessage(role="assistant", content=WORDS)],
            [("user", "text"), ("user", "audio"), ("assistant", "text")],
        ),
    ],
)
def test_text_messages_and_blocks_make_a_conversation(
    messages: Any, sent: list[tuple[str, str]]
) -> None:
    params, response, _ = exchange(messages)
    assert params is not None
    assert [(m["role"], m["content"]["type"]) for m in params["messages"]] == sent
    assert text_of(response["result"]) == "yo"


def test_parameters_go_out_in_the_protocols_words_and_only_those_given() -> None:
    params, _, _ = exchange(
        max_tokens=7,
        system_prompt="Be brief",
        temperature=0.5,
        stop_sequences=["."],
        model_preferences=ModelPreferences(hints=[{"name": "claude"}], speed_priority=1.0),
        include_context="none",
        metadata={"k": 1},
    )
    assert params == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
        "maxTokens": 7,
        "systemPrompt": "Be brief",
        "temperature": 0.5,
        "stopSequences": ["."],
        "modelPreferences": {"hints": [{"name": "claude"}], "speedPriority": 1.0},
        "includeContext": "none",
        "metadata": {"k": 1},
    }
    bare, _, _ = exchange()
    assert bare is not None
    assert bare.keys() == {"messages", "maxTokens"}


def test_tools_and_choice_go_out_where_the_client_takes_them() -> None:
    params, _, _ = exchange(declared={"tools": {}}, tools=[TOOL], tool_choice="required")
    assert params is not None
    assert params["tools"] == [{"name": "look", "inputSchema": {"type": "object"}}]
    assert params["toolChoice"] == {"mode": "required"}


def test_what_the_model_said_is_at_hand() -> None:
    reply = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "one "},
            {"type": "tool_use", "id": "u1", "name": "look", "input": {"a": 1}},
            {"type": "text", "text": "two"},
        ],
        "model": "m-1",
        "stopReason": "toolUse",
    }
    _, _, [sampled] = exchange(reply=reply)
    assert sampled.text == "one two"
    assert [use.input for use in sampled.tool_uses] == [{"a": 1}]
    assert (sampled.model, sampled.stop_reason) == ("m-1", "toolUse")
    _, _, [single] = exchange()
    assert single.blocks == [TextContent(text="yo")]
    assert single.tool_uses == []


@pytest.mark.parametrize("reply", [{}, {**REPLY, "role": "system"}, {**REPLY, "content": "yo"}])
def test_what_is_no_sampled_message_is_refused(reply: Json) -> None:
    _, response, got = exchange(reply=reply)
    complaint = complaint_of(response, LEGACY)
    assert "The answer to 'sample-1' is no sampled message" in complaint
    assert got == []


@pytest.mark.parametrize(
    ("declared", "revision", "options", "needed"),
    [
        (True, LEGACY, {}, "sampling"),
        ({}, LEGACY, {"tools": [TOOL]}, "sampling (tools)"),
        ({}, LEGACY, {"tool_choice": "auto"}, "sampling (tools)"),
        ({"tools": {}}, FIRST_FORMS, {"tools": [TOOL]}, "sampling (tools)"),
        ({}, LEGACY, {"include_context": "thisServer"}, "sampling (context)"),
        ({}, LEGACY, {"include_context": "allServers"}, "sampling (context)"),
    ],
)
def test_what_the_client_has_not_declared_is_not_sent(
    declared: Any, revision: str, options: Any, needed: str
) -> None:
    params, response, _ = exchange(declared=declared, revision=revision, **options)
    assert params is None
    assert needed in text_of(response["result"])


def test_context_goes_out_where_it_is_declared() -> None:
    params, _, _ = exchange(declared={"context": {}}, include_context="allServers")
    assert params is not None
    assert params["includeContext"] == "allServers"


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "at least one message"),
        ([Message(EmbeddedResource("n://a", "A"))], "text, images or audio"),
        ([said(USE, role="assistant")], r"tool uses \['u1'\] have no results yet"),
        ([said(USE, role="assistant"), "and?"], r"\['u1'\] must be followed by their results"),
        ([said(DONE)], r"tool uses \[\] must be followed by their results, got \['u1'\]"),
        (
            [said(USE, OTHER_USE, role="assistant"), said(DONE)],
            r"\['u1', 'u2'\] must be followed by their results, got \['u1'\]",
        ),
        ([said(USE, role="assistant"), said(DONE, WORDS)], "only tool results"),
        ([said(USE, role="assistant"), said(DONE, DONE)], "only tool results"),
    ],
)
def test_a_conversation_that_does_not_add_up_is_the_authors_error(
    messages: Any, complaint: str
) -> None:
    server = Server("s")

    @server.tool
    async def ask(ctx: Context) -> str:
        with pytest.raises(UsageError, match=complaint):
            await ctx.sample(messages)
        return "refused"

    how: Any = {"revision": MODERN, "capabilities": {"sampling": {}}}
    assert text_of(run(answer(server, "tools/call", {"name": "ask"}, **how))["result"]) == "refused"


def test_uses_and_their_results_in_turn_are_a_conversation() -> None:
    params, _, _ = exchange(
        [
            "look twice",
            said(USE, OTHER_USE, role="assistant"),
            said(OTHER_DONE, DONE),
            SamplingMessage(role="assistant", content=WORDS),
        ]
    )
    assert params is not None
    assert len(params["messages"]) == 4
    assert [block["type"] for block in params["messages"][2]["content"]] == ["tool_result"] * 2


def test_older_clients_get_one_block_a_message() -> None:
    params, _, _ = exchange([said(WORDS, WORDS)], revision=FIRST_FORMS)
    assert params is not None
    block = {"type": "text", "text": "words"}
    assert params["messages"] == [{"role": "user", "content": block}] * 2


def test_a_client_that_knows_no_audio_is_not_sent_any() -> None:
    params, response, _ = exchange([Message(Audio(WAV))], revision=OLDEST)
    assert params is None
    assert "cannot carry audio" in text_of(response["result"])


def test_context_needed_no_capability_at_first() -> None:
    params, _, _ = exchange(include_context="allServers", revision=FIRST_FORMS)
    assert params is not None
    assert params["includeContext"] == "allServers"
