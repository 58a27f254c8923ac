"""Sampling (client/sampling): ask the client's model, with or without tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from dovetail.core.call import Ask, Call
from dovetail.errors import ToolError, UsageError
from dovetail.features.content import Message, to_block
from dovetail.spec.models import (
    AudioContent,
    ImageContent,
    Meta,
    Role,
    TextContent,
    Tool,
    ToolResultContent,
    ToolUseContent,
)
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = ["ModelPreferences", "Sampled", "SampledContent", "SamplingMessage", "sample"]

# The content of a sampled message, and of a message in the conversation to continue.
SampledContent: TypeAlias = TextContent | ImageContent | AudioContent | ToolUseContent
_MessageContent: TypeAlias = SampledContent | ToolResultContent


class ModelPreferences(Struct, kw_only=True, omit_defaults=True, rename="camel"):
    """The preferred kind of model; priorities from 0 to 1, hints are parts of model names."""

    hints: list[dict[str, str]] | None = None
    cost_priority: float | None = None
    speed_priority: float | None = None
    intelligence_priority: float | None = None


class SamplingMessage(Struct, kw_only=True, omit_defaults=True):
    """One message of the conversation to continue; `content` may be one block or several."""

    role: Role
    content: _MessageContent | list[_MessageContent]
    meta: Meta | None = msgspec.field(default=None, name="_meta")


class Sampled(Struct, kw_only=True, rename="camel"):
    """The message of the model."""

    role: Role
    content: SampledContent | list[SampledContent]
    model: str
    stop_reason: str | None = None

    @property
    def blocks(self) -> list[SampledContent]:
        """The content as a list, also for a single block."""
        return self.content if isinstance(self.content, list) else [self.content]

    @property
    def text(self) -> str:
        """All text of the message."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextContent))

    @property
    def tool_uses(self) -> list[ToolUseContent]:
        """The tool calls that the model requests."""
        return [block for block in self.blocks if isinstance(block, ToolUseContent)]


class _CreateMessage(Struct, kw_only=True, omit_defaults=True, rename="camel"):
    messages: list[SamplingMessage]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None
    model_preferences: ModelPreferences | None = None
    include_context: Literal["none", "thisServer", "allServers"] | None = None
    metadata: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    tool_choice: dict[str, str] | None = None


async def sample(
    call: Call,
    messages: str | Message | Sequence[str | Message | SamplingMessage],
    key: str | None,
    options: dict[str, Any],
) -> Sampled:
    """Ask the client's model to continue `messages`."""
    _require(call, options)
    conversation = _conversation(messages)
    _check_tool_balance(conversation)
    conversation = _fit(conversation, call.era.revision)
    choice = options.pop("tool_choice", None)
    params = _CreateMessage(
        messages=conversation,
        tool_choice={"mode": choice} if choice is not None else None,
        **options,
    )
    key = call.record.claim(key, "sample")
    answer = await call.era.ask(call, Ask(key, "sampling/createMessage", codec.encode(params)))
    try:
        return codec.decode_as(Sampled, answer)
    except msgspec.ValidationError as error:
        raise call.era.bad_answer(f"The answer to {key!r} is no sampled message: {error}") from None


def _require(call: Call, options: dict[str, Any]) -> None:
    declared = call.peer.capabilities.get("sampling")
    # sampling.capability (2025-11-25 client/sampling): only if declared
    if not isinstance(declared, dict):
        raise call.era.undeclared(call, {"sampling": {}})
    # sampling.tools-capability (2025-11-25 client/sampling): tools only with sampling.tools
    with_tools = options.get("tools") is not None or options.get("tool_choice") is not None
    if with_tools and not (call.era.revision.sampling_tools and "tools" in declared):
        raise call.era.undeclared(call, {"sampling": {"tools": {}}})
    # sampling.include-context (2025-11-25 client/sampling); earlier revisions need no capability
    wide = options.get("include_context") in ("thisServer", "allServers")
    if wide and call.era.revision.sampling_tools and "context" not in declared:
        raise call.era.undeclared(call, {"sampling": {"context": {}}})


def _conversation(
    messages: str | Message | Sequence[str | Message | SamplingMessage],
) -> list[SamplingMessage]:
    if isinstance(messages, str | Message):
        messages = [messages]
    conversation = []
    for message in messages:
        if isinstance(message, SamplingMessage):
            conversation.append(message)
            continue
        role: Role = "user" if isinstance(message, str) else message.role
        block = to_block(message if isinstance(message, str) else message.content)
        if not isinstance(block, TextContent | ImageContent | AudioContent):
            raise UsageError(
                f"a sampling message contains text, images or audio, got {block!r:.80}"
            )
        conversation.append(SamplingMessage(role=role, content=block))
    if not conversation:
        raise UsageError("sample needs at least one message")
    return conversation


def _fit(conversation: list[SamplingMessage], revision: Revision) -> list[SamplingMessage]:
    """Return the conversation in the form of `revision`: first versions have one block each."""
    fitted = conversation
    if not revision.sampling_tools:
        fitted = [
            SamplingMessage(role=message.role, content=block)
            for message in conversation
            for block in _blocks(message)
        ]
    for message in fitted:
        for block in _blocks(message):
            if isinstance(block, AudioContent) and "audio" not in revision.content_types:
                raise ToolError("The client's version of the protocol cannot carry audio.")
    return fitted


def _blocks(message: SamplingMessage) -> list[_MessageContent]:
    return message.content if isinstance(message.content, list) else [message.content]


def _check_tool_balance(conversation: list[SamplingMessage]) -> None:
    # sampling.tool-balance, sampling.tool-result-only (2025-11-25 client/sampling)
    open_uses: set[str] = set()
    for message in conversation:
        blocks = _blocks(message)
        results = {b.tool_use_id for b in blocks if isinstance(b, ToolResultContent)}
        if results and len(results) != len(blocks):
            raise UsageError("a message with tool results must contain only tool results")
        if results != open_uses:
            raise UsageError(
                f"tool uses {sorted(open_uses)} must be followed by their results, got "
                f"{sorted(results)}"
            )
        open_uses = {b.id for b in blocks if isinstance(b, ToolUseContent)}
    if open_uses:
        raise UsageError(f"tool uses {sorted(open_uses)} have no results yet")
