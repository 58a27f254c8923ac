"""Callbacks that handle elicitation, sampling and roots requests from a server.

The requests arrive as JSON-RPC requests (legacy) or inside an `input_required` result (modern); the
results are the same. The client declares the capabilities for which it has callbacks.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from dovetail.errors import MethodNotFoundError, PeerError
from dovetail.net.background import resolve
from dovetail.spec.models import (
    Meta,
    Role,
    Root,
    TextContent,
)
from dovetail.spec.results import SampledBlock, WireSampledBlock, read_sampled_block
from dovetail.spec.revisions import Revision

__all__ = [
    "ClientCallbacks",
    "ElicitCallback",
    "ElicitRequest",
    "ElicitResponse",
    "InputRequest",
    "RootsSource",
    "SampleCallback",
    "SamplingMessage",
    "SamplingRequest",
    "SamplingResponse",
]

T = TypeVar("T")


class ElicitRequest(Struct, rename="camel", frozen=True, kw_only=True):
    """The server asks the user to fill in a form or to visit a URL."""

    message: str
    mode: Literal["form", "url"] = "form"
    # The form as a flat JSON Schema; None in URL mode.
    schema: dict[str, Any] | None = msgspec.field(default=None, name="requestedSchema")
    url: str | None = None
    elicitation_id: str | None = None


@dataclass(frozen=True, slots=True)
class ElicitResponse:
    """The user's response to an elicitation."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None

    @classmethod
    def accept(cls, content: Mapping[str, Any] | None = None) -> ElicitResponse:
        """The user accepted; for a form, `content` has the values."""
        return cls("accept", content)

    @classmethod
    def decline(cls) -> ElicitResponse:
        """The user declined."""
        return cls("decline")

    @classmethod
    def cancel(cls) -> ElicitResponse:
        """The user dismissed the request without a choice."""
        return cls("cancel")


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """One message of the conversation to continue."""

    role: Role
    content: Sequence[SampledBlock]
    meta: Meta | None = None

    @property
    def text(self) -> str:
        """Every text block, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


class InputRequest(Struct):
    """A request for input in a result of the server."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """The server asks the client's model to continue a conversation."""

    messages: Sequence[SamplingMessage]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: Sequence[str] | None = None
    model_preferences: Mapping[str, Any] | None = None
    include_context: str | None = None
    metadata: Mapping[str, Any] | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SamplingResponse:
    """The message that the model generated."""

    content: str | SampledBlock | Sequence[SampledBlock]
    model: str
    stop_reason: str | None = "endTurn"
    role: Role = "assistant"


class _WireMessage(Struct):
    role: Role
    content: WireSampledBlock | list[WireSampledBlock]
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    def read(self) -> SamplingMessage:
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return SamplingMessage(self.role, [read_sampled_block(b) for b in blocks], self.meta)


class _WireSamplingRequest(Struct, rename="camel", kw_only=True):
    messages: list[_WireMessage]
    max_tokens: int
    system_prompt: str | None = None
    temperature: float | None = None
    stop_sequences: list[str] | None = None
    model_preferences: dict[str, Any] | None = None
    include_context: str | None = None
    metadata: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None

    def read(self) -> SamplingRequest:
        members = msgspec.structs.asdict(self)
        members["messages"] = [message.read() for message in self.messages]
        return SamplingRequest(**members)


ElicitAnswer: TypeAlias = ElicitResponse | Mapping[str, Any] | None
ElicitCallback: TypeAlias = Callable[[ElicitRequest], Awaitable[ElicitAnswer] | ElicitAnswer]
SampleAnswer: TypeAlias = str | SamplingResponse | Mapping[str, Any]
SampleCallback: TypeAlias = Callable[[SamplingRequest], Awaitable[SampleAnswer] | SampleAnswer]
RootList: TypeAlias = Sequence[str | os.PathLike[str] | Root]
RootsSource: TypeAlias = RootList | Callable[[], Awaitable[RootList] | RootList]


@dataclass(frozen=True, slots=True)
class ClientCallbacks:
    """The callbacks of one client."""

    elicit: ElicitCallback | None = None
    sample: SampleCallback | None = None
    roots: RootsSource | None = None
    # The model name to report if a sampling callback returns a plain string.
    model: str = field(default="unknown")

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        """The client capabilities to declare at this revision."""
        declared: dict[str, Any] = {}
        if self.elicit is not None and revision.elicitation:
            declared["elicitation"] = {"form": {}, "url": {}} if revision.url_elicitation else {}
        if self.sample is not None:
            declared["sampling"] = {"tools": {}} if revision.sampling_tools else {}
        if self.roots is not None:
            declared["roots"] = {}
        return declared

    def can_answer(self, method: str) -> bool:
        """Whether there is a callback for this method."""
        callbacks = {
            "elicitation/create": self.elicit,
            "sampling/createMessage": self.sample,
            "roots/list": self.roots,
        }
        return callbacks.get(method) is not None

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result for one request; raises PeerError if its params are invalid."""
        if method == "elicitation/create" and self.elicit is not None:
            request = _read(ElicitRequest, method, params)
            return _encode_elicited(request, await resolve(self.elicit, request))
        if method == "sampling/createMessage" and self.sample is not None:
            sampling = _read(_WireSamplingRequest, method, params).read()
            return _encode_sampled(await resolve(self.sample, sampling), self.model)
        if method == "roots/list" and self.roots is not None:
            listed = await resolve(self.roots) if callable(self.roots) else self.roots
            return {"roots": [_encode_root(root) for root in listed]}
        raise MethodNotFoundError(f"This client has not declared {method}")


def _read(type_: type[T], method: str, params: Mapping[str, Any]) -> T:
    try:
        return msgspec.convert(dict(params), type_)
    except msgspec.ValidationError as problem:
        raise PeerError(f"Invalid params for {method}: {problem}") from None


def _encode_elicited(request: ElicitRequest, answer: ElicitAnswer) -> dict[str, Any]:
    if answer is None:
        answer = ElicitResponse.decline()
    elif not isinstance(answer, ElicitResponse):
        answer = ElicitResponse.accept(answer)
    encoded: dict[str, Any] = {"action": answer.action}
    # Only a form has content; URL mode has none (2025-11-25 client/elicitation).
    if answer.action == "accept" and request.mode == "form":
        encoded["content"] = {**_find_defaults(request.schema), **(answer.content or {})}
    return encoded


def _find_defaults(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """The default values of a form, for fields that the answer leaves out (SEP-1034)."""
    properties = (schema or {}).get("properties")
    fields = properties.items() if isinstance(properties, Mapping) else ()
    return {
        name: field["default"]
        for name, field in fields
        if isinstance(field, Mapping) and "default" in field
    }


def _encode_sampled(answer: SampleAnswer, model: str) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = SamplingResponse(answer, model)
    if not isinstance(answer, SamplingResponse):
        return dict(answer)
    content: Any = answer.content
    if isinstance(content, str):
        content = TextContent(text=content)
    encoded = {"role": answer.role, "content": msgspec.to_builtins(content), "model": answer.model}
    if answer.stop_reason is not None:
        encoded["stopReason"] = answer.stop_reason
    return encoded


def _encode_root(root: str | os.PathLike[str] | Root) -> dict[str, Any]:
    if isinstance(root, Root):
        encoded: dict[str, Any] = msgspec.to_builtins(root)
        return encoded
    if isinstance(root, str) and "://" in root:
        return {"uri": root}
    path = Path(root).absolute()
    return {"uri": path.as_uri(), "name": path.name} if path.name else {"uri": path.as_uri()}
