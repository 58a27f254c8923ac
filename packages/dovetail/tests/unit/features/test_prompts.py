"""Prompts: typed arguments from strings, messages of every kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pydantic
import pytest

from dovetail import Audio, Context, Icon, Image, Message, ResourceLink, Server, Text
from dovetail.errors import DuplicateError, UsageError
from dovetail.spec.models import PromptMessage, TextContent
from tests.unit.talk import LEGACY, MODERN, OLDEST, REVISIONS, ask, refusal

PNG = b"\x89PNG\r\n\x1a\nrest"
WAV = b"RIFF\x00\x00\x00\x00WAVE"
LINK = {"uri": "n://a", "name": "a"}
FILE = {"uri": "n://a", "text": "A"}
BLOB = {"uri": "n://a", "blob": "QQ=="}


def prompt_of(value: Any) -> Server:
    server = Server("s")
    server.prompts.add(lambda: value, name="p", blocking=False)
    return server


def messages(server: Server, revision: str = LEGACY) -> list[tuple[str, str]]:
    result = ask(server, "prompts/get", {"name": "p"}, revision=revision)
    return [(message["role"], message["content"]["type"]) for message in result["messages"]]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("hi", [("user", "text")]),
        (Message("hi", "assistant"), [("assistant", "text")]),
        (Text("hi"), [("user", "text")]),
        (PNG, [("user", "image")]),
        (
            ["hi", Message(Image(PNG)), Message("yo", "assistant")],
            [("user", "text"), ("user", "image"), ("assistant", "text")],
        ),
        (("a", "b"), [("user", "text"), ("user", "text")]),
        (PromptMessage(role="assistant", content=TextContent(text="x")), [("assistant", "text")]),
        ([], []),
        ({"role": "assistant", "content": "hi"}, [("assistant", "text")]),
        ({"role": "user", "content": Image(PNG)}, [("user", "image")]),
        (
            ["hi", {"role": "assistant", "content": {"type": "resource_link", **LINK}}],
            [("user", "text"), ("assistant", "resource_link")],
        ),
        (
            {"role": "user", "content": {"type": "resource", "resource": FILE}},
            [("user", "resource")],
        ),
        (
            {"role": "user", "content": {"type": "resource", "resource": BLOB}},
            [("user", "resource")],
        ),
    ],
)
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_what_a_prompt_returns_becomes_messages(value: Any, said: Any, revision: str) -> None:
    assert messages(prompt_of(value), revision) == said


def test_blocks_are_said_as_the_revision_can_say_them() -> None:
    server = prompt_of([Message(Audio(WAV)), Message(ResourceLink(uri="n://a", name="a"))])
    assert [kind for _, kind in messages(server, OLDEST)] == ["resource", "text"]
    assert [kind for _, kind in messages(server, LEGACY)] == ["audio", "resource_link"]


@dataclass
class City:
    name: str
    people: int


class Model(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (5, ["5"]),
        ({"city": "Oslo"}, ['{"city":"Oslo"}']),
        ({"role": "user"}, ['{"role":"user"}']),
        (City("Oslo", 7), ['{"name":"Oslo","people":7}']),
        (Model(name="Oslo"), ['{"name":"Oslo"}']),
        ([City("Oslo", 7), 1.5, "hi"], ['{"name":"Oslo","people":7}', "1.5", "hi"]),
        ({"role": "user", "content": City("Oslo", 7)}, ['{"name":"Oslo","people":7}']),
        ({"role": "user", "content": {"type": "Feature"}}, ['{"type":"Feature"}']),
        ({"role": "user", "content": {"type": []}}, ['{"type":[]}']),
    ],
)
@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_data_is_sent_as_json_text(value: Any, texts: list[str], revision: str) -> None:
    result = ask(prompt_of(value), "prompts/get", {"name": "p"}, revision=revision)
    assert [message["content"]["text"] for message in result["messages"]] == texts
    assert {message["role"] for message in result["messages"]} == {"user"}


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (None, "a prompt must return text, a Message, JSON data or a list of these, got None"),
        (["hi", None], "a prompt must return text, a Message, JSON data or a list of these"),
        ({"role": "system", "content": "x"}, "role must be 'user' or 'assistant', got 'system'"),
        ({"role": "user", "content": {"type": "image"}}, "not a valid image block: Object missing"),
        ({"role": "user", "content": {"type": "resource"}}, "not a valid resource block: Expected"),
        (object(), "a value of type object is neither content nor JSON"),
    ],
)
def test_what_is_no_message_is_our_error(
    value: Any, complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = refusal(prompt_of(value), "prompts/get", {"name": "p"})
    assert error["code"] == -32603
    assert "prompt 'p' (test_prompts.py:" in caplog.text
    assert complaint in caplog.text


def test_a_message_can_be_returned_to_clients_of_several_revisions() -> None:
    link = ResourceLink(uri="n://a", name="a")
    server = prompt_of(PromptMessage(role="user", content=link))
    assert messages(server, OLDEST) == [("user", "text")]
    assert messages(server, LEGACY) == [("user", "resource_link")]


def typed_server() -> Server:
    server = Server("s")

    @server.prompt(title="Plan", icons=[Icon(src="https://e.com/i.png")], meta={"example.com/k": 1})
    async def plan(
        city: str,
        days: Annotated[int, msgspec.Meta(ge=1, description="How many days")],
        ctx: Context,
        tags: list[str] | None = None,
    ) -> str:
        """Plan a trip.

        Args:
            city: Where to.
        """
        return f"{city} {days} {tags} {ctx.request_id}"

    return server


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_listing_names_arguments_and_what_the_revision_knows(revision: str) -> None:
    [prompt] = ask(typed_server(), "prompts/list", revision=revision)["prompts"]
    assert prompt["name"] == "plan"
    assert prompt["description"] == "Plan a trip."
    assert prompt["arguments"] == [
        {"name": "city", "description": "Where to.", "required": True},
        {"name": "days", "description": "How many days", "required": True},
        {"name": "tags"},
    ]
    assert ("title" in prompt) is (revision not in REVISIONS[:2])
    assert ("icons" in prompt) is (revision in REVISIONS[3:])
    assert ("_meta" in prompt) is (revision not in REVISIONS[:2])


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_strings_become_what_the_parameters_want(revision: str) -> None:
    arguments = {"city": "Oslo", "days": "3", "tags": '["a"]'}
    result = ask(
        typed_server(), "prompts/get", {"name": "plan", "arguments": arguments}, revision=revision
    )
    assert result["description"] == "Plan a trip."
    assert result["messages"][0]["content"]["text"] == "Oslo 3 ['a'] 1"


@pytest.mark.parametrize(
    ("params", "complaint"),
    [
        ({"name": "plan"}, "Invalid arguments for prompt 'plan': city:"),
        ({"name": "plan", "arguments": {"city": "Oslo", "days": "0"}}, "days: expected"),
        ({"name": "plan", "arguments": {"city": "Oslo", "days": "x"}}, "days: expected"),
        ({"name": "plan", "arguments": {"city": "O", "days": "1", "no": ""}}, "no"),
        ({"name": "plan", "arguments": {"city": 5}}, "Invalid params"),
        ({"name": "plam"}, "Unknown prompt: 'plam'; did you mean 'plan'?"),
    ],
)
def test_bad_arguments_are_an_error_of_the_request(params: Any, complaint: str) -> None:
    error = refusal(typed_server(), "prompts/get", params)
    assert error["code"] == -32602
    assert complaint in error["message"]


def test_names_are_taken_once_and_free_again_after_removal() -> None:
    server = prompt_of("a")
    assert [prompt.name for prompt in server.prompts.list()] == ["p"]
    with pytest.raises(DuplicateError, match="prompt 'p' is registered already"):
        server.prompts.add(lambda: "b", name="p")
    server.prompts.remove("p")
    server.prompts.add(lambda: "b", name="p", description="Own.")
    assert ask(server, "prompts/list")["prompts"] == [{"name": "p", "description": "Own."}]
    with pytest.raises(UsageError, match="no prompt 'q' to remove"):
        server.prompts.remove("q")
