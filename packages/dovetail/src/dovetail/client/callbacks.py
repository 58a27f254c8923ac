"""What a server may ask of the user, the model and the workspace, through callbacks.

The same three questions reach a client as requests (legacy) or inside an
`input_required` result (modern); the answers are the same. Which capabilities are
declared follows from which callbacks were given, so nothing is promised that nobody keeps.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from dovetail.client.background import resolve
from dovetail.client.content import SampledBlock, WireSampledBlock, read_sampled_block
from dovetail.errors import MethodNotFoundError, PeerError
from dovetail.spec.models import (
    Meta,
    Role,
    Root,
    TextContent,
)
from dovetail.spec.revisions import Revision

__all__ = [
    "ElicitCallback",
    "ElicitRequest",
    "ElicitResponse",
    "Inputs",
    "RootsSource",
    "SampleCallback",
    "SamplingMessage",
    "SamplingRequest",
    "SamplingResponse",
]

T = TypeVar("T")


class ElicitRequest(Struct, rename="camel", frozen=True, kw_only=True):
    """A server wants something from the user: a form to fill in, or a page to visit."""

    message: str
    mode: Literal["form", "url"] = "form"
    # The form, as a flat JSON Schema; None where the user is sent to a URL.
    schema: dict[str, Any] | None = msgspec.field(default=None, name="requestedSchema")
    url: str | None = None
    elicitation_id: str | None = None


@dataclass(frozen=True, slots=True)
class ElicitResponse:
    """What the user did."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None

    @classmethod
    def accept(cls, content: Mapping[str, Any] | None = None) -> ElicitResponse:
        """The user agreed; a form comes with what was filled in."""
        return cls("accept", content)

    @classmethod
    def decline(cls) -> ElicitResponse:
        """The user said no."""
        return cls("decline")

    @classmethod
    def cancel(cls) -> ElicitResponse:
        """The user went away without choosing."""
        return cls("cancel")


@dataclass(frozen=True, slots=True)
class SamplingMessage:
    """One message of the conversation a server wants continued."""

    role: Role
    content: Sequence[SampledBlock]
    meta: Meta | None = None

    @property
    def text(self) -> str:
        """Every text block, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingRequest:
    """A server wants a model to answer."""

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
    """What the model answered."""

    content: str | SampledBlock | Sequence[SampledBlock]
    model: str
    stop_reason: str | None = "endTurn"
    role: Role = "assistant"


class _MessageOnWire(Struct):
    role: Role
    content: WireSampledBlock | list[WireSampledBlock]
    meta: Meta | None = msgspec.field(default=None, name="_meta")

    def read(self) -> SamplingMessage:
        blocks = self.content if isinstance(self.content, list) else [self.content]
        return SamplingMessage(self.role, [read_sampled_block(b) for b in blocks], self.meta)


class _SamplingOnWire(Struct, rename="camel", kw_only=True):
    messages: list[_MessageOnWire]
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
class Inputs:
    """The callbacks of one client."""

    elicit: ElicitCallback | None = None
    sample: SampleCallback | None = None
    roots: RootsSource | None = None
    # Named as the model where a sampling callback returns bare text.
    model: str = field(default="unknown")

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        """What to declare to a server at this revision."""
        declared: dict[str, Any] = {}
        if self.elicit is not None and revision.elicitation:
            declared["elicitation"] = {"form": {}, "url": {}} if revision.url_elicitation else {}
        if self.sample is not None:
            declared["sampling"] = {"tools": {}} if revision.sampling_tools else {}
        if self.roots is not None:
            declared["roots"] = {}
        return declared

    def can_answer(self, method: str) -> bool:
        """Whether there is a callback for this question."""
        callbacks = {
            "elicitation/create": self.elicit,
            "sampling/createMessage": self.sample,
            "roots/list": self.roots,
        }
        return callbacks.get(method) is not None

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result for one question; raises PeerError for a question that makes no sense."""
        if method == "elicitation/create" and self.elicit is not None:
            request = _read(ElicitRequest, method, params)
            return _shape_elicited(request, await resolve(self.elicit, request))
        if method == "sampling/createMessage" and self.sample is not None:
            sampling = _read(_SamplingOnWire, method, params).read()
            return _shape_sampled(await resolve(self.sample, sampling), self.model)
        if method == "roots/list" and self.roots is not None:
            listed = await resolve(self.roots) if callable(self.roots) else self.roots
            return {"roots": [_shape_root(root) for root in listed]}
        raise MethodNotFoundError(f"This client has not declared {method}")


def _read(type_: type[T], method: str, params: Mapping[str, Any]) -> T:
    try:
        return msgspec.convert(dict(params), type_)
    except msgspec.ValidationError as problem:
        raise PeerError(f"The params of {method} do not fit: {problem}") from None


def _shape_elicited(request: ElicitRequest, answer: ElicitAnswer) -> dict[str, Any]:
    if answer is None:
        answer = ElicitResponse.decline()
    elif not isinstance(answer, ElicitResponse):
        answer = ElicitResponse.accept(answer)
    shaped: dict[str, Any] = {"action": answer.action}
    # The content is the form's; a visit to a URL is accepted without any
    # (2025-11-25 client/elicitation).
    if answer.action == "accept" and request.mode == "form":
        shaped["content"] = dict(answer.content or {})
    return shaped


def _shape_sampled(answer: SampleAnswer, model: str) -> dict[str, Any]:
    if isinstance(answer, str):
        answer = SamplingResponse(answer, model)
    if not isinstance(answer, SamplingResponse):
        return dict(answer)
    content: Any = answer.content
    if isinstance(content, str):
        content = TextContent(text=content)
    shaped = {"role": answer.role, "content": msgspec.to_builtins(content), "model": answer.model}
    if answer.stop_reason is not None:
        shaped["stopReason"] = answer.stop_reason
    return shaped


def _shape_root(root: str | os.PathLike[str] | Root) -> dict[str, Any]:
    if isinstance(root, Root):
        shaped: dict[str, Any] = msgspec.to_builtins(root)
        return shaped
    if isinstance(root, str) and "://" in root:
        return {"uri": root}
    path = Path(root).absolute()
    return {"uri": path.as_uri(), "name": path.name} if path.name else {"uri": path.as_uri()}
