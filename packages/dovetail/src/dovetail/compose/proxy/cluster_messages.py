"""What the processes of a cluster tell each other about the calls of a proxy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw, Struct

from dovetail.core.call import Ask
from dovetail.errors import RpcError, ToolError

__all__ = ["AskMessage", "FailureMessage", "read_asks", "write_asks"]


class AskMessage(Struct, array_like=True):
    """A question to the client."""

    method: str
    params: Raw


def write_asks(asks: Mapping[str, Ask]) -> dict[str, AskMessage]:
    """Return questions as messages."""
    return {key: AskMessage(ask.method, Raw(ask.params or b"{}")) for key, ask in asks.items()}


def read_asks(messages: Mapping[str, AskMessage]) -> dict[str, Ask]:
    """Return the questions of messages."""
    return {key: Ask(key, each.method, bytes(each.params)) for key, each in messages.items()}


class FailureMessage(Struct):
    """An error to answer a call with; without a code, the text of a failed tool."""

    message: str
    code: int | None = None
    data: Any = None

    @classmethod
    def from_error(cls, error: RpcError | ToolError) -> FailureMessage:
        """Return the message for an error."""
        if isinstance(error, RpcError):
            return cls(error.message, error.code, error.data)
        return cls(str(error))

    def to_error(self) -> RpcError | ToolError:
        """Return the error."""
        if self.code is None:
            return ToolError(self.message)
        return RpcError.from_wire(self.code, self.message, self.data)
