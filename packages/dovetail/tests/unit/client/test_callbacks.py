"""Client callbacks: their parameters and their accepted return values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dovetail.client import ElicitResponse, SamplingRequest, SamplingResponse
from dovetail.client.callbacks import ClientCallbacks
from dovetail.errors import MethodNotFoundError, PeerError
from dovetail.spec.models import Root, TextContent, ToolResultContent, ToolUseContent
from tests.peers.scripted import run

FORM = {"message": "Who?", "requestedSchema": {"type": "object"}}
DEFAULTS = {
    "message": "Who?",
    "requestedSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer", "default": 7}, "b": {"type": "string"}, "c": True},
    },
}
PAGE = {"message": "Go", "mode": "url", "url": "https://example.com", "elicitationId": "1"}


@pytest.mark.parametrize(
    ("params", "answer", "sent"),
    [
        (FORM, {"a": 1}, {"action": "accept", "content": {"a": 1}}),
        (FORM, {}, {"action": "accept", "content": {}}),
        (DEFAULTS, {"b": "x"}, {"action": "accept", "content": {"a": 7, "b": "x"}}),
        (DEFAULTS, {"a": 1}, {"action": "accept", "content": {"a": 1}}),
        (DEFAULTS, None, {"action": "decline"}),
        (FORM, None, {"action": "decline"}),
        (FORM, ElicitResponse.cancel(), {"action": "cancel"}),
        (FORM, ElicitResponse.decline(), {"action": "decline"}),
        (FORM, ElicitResponse.accept({"a": 1}), {"action": "accept", "content": {"a": 1}}),
        (PAGE, {}, {"action": "accept"}),
        (PAGE, ElicitResponse.accept({"a": 1}), {"action": "accept"}),
        (PAGE, None, {"action": "decline"}),
    ],
)
def test_elicitation(params: dict[str, Any], answer: Any, sent: dict[str, Any]) -> None:
    asked = []

    def elicit(request: Any) -> Any:
        asked.append(request)
        return answer

    assert run(ClientCallbacks(elicit=elicit).answer("elicitation/create", params)) == sent
    assert asked[0].mode == params.get("mode", "form")
    assert asked[0].url == params.get("url")
    assert asked[0].schema == params.get("requestedSchema")


def test_a_sampling_callback_sees_the_conversation() -> None:
    messages = [
        {"role": "user", "content": {"type": "text", "text": "one"}},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "two"},
                {"type": "tool_use", "id": "1", "name": "t", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "toolUseId": "1",
                    "content": [{"type": "resource", "resource": {"uri": "a:b", "text": "x"}}],
                }
            ],
        },
    ]
    params = {"messages": messages, "maxTokens": 9, "tools": [{"name": "t"}], "temperature": 0.5}
    seen: list[SamplingRequest] = []

    async def sample(request: SamplingRequest) -> SamplingResponse:
        seen.append(request)
        return SamplingResponse(ToolUseContent(id="2", name="t", input={}), "m", "toolUse")

    answer = run(ClientCallbacks(sample=sample).answer("sampling/createMessage", params))
    assert answer == {
        "role": "assistant",
        "content": {"type": "tool_use", "id": "2", "name": "t", "input": {}},
        "model": "m",
        "stopReason": "toolUse",
    }
    request = seen[0]
    assert [message.text for message in request.messages] == ["one", "two", ""]
    assert [type(block) for block in request.messages[1].content] == [TextContent, ToolUseContent]
    assert isinstance(request.messages[2].content[0], ToolResultContent)
    assert (request.max_tokens, request.temperature) == (9, 0.5)
    assert request.tools == [{"name": "t"}]


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        (
            SamplingResponse([TextContent(text="a")], "m", None),
            {"role": "assistant", "content": [{"type": "text", "text": "a"}], "model": "m"},
        ),
        ({"role": "assistant", "model": "raw"}, {"role": "assistant", "model": "raw"}),
    ],
)
def test_a_sampling_callback_may_return_a_full_response(answer: Any, sent: dict[str, Any]) -> None:
    inputs = ClientCallbacks(sample=lambda _: answer)
    params = {"messages": [], "maxTokens": 1}
    assert run(inputs.answer("sampling/createMessage", params)) == sent


def test_roots_may_be_paths_uris_or_roots(tmp_path: Path) -> None:
    async def roots() -> list[Any]:
        return [tmp_path, "file:///srv", Root(uri="file:///x", name="X"), "/"]

    assert run(ClientCallbacks(roots=roots).answer("roots/list", {}))["roots"] == [
        {"uri": tmp_path.as_uri(), "name": tmp_path.name},
        {"uri": "file:///srv"},
        {"uri": "file:///x", "name": "X"},
        {"uri": "file:///"},
    ]


def test_invalid_params_and_missing_callbacks_are_different_errors() -> None:
    with pytest.raises(PeerError, match=r"Invalid params for sampling/createMessage: .*maxTokens"):
        run(ClientCallbacks(sample=lambda _: "").answer("sampling/createMessage", {"messages": []}))
    with pytest.raises(MethodNotFoundError):
        run(ClientCallbacks().answer("roots/list", {}))
