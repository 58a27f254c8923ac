"""`Era`: the interface that both eras of the protocol implement.

Features use this interface and do not depend on the era. They return a neutral result, to which
the era adds its metadata. When they ask the client for input, the era either sends a request or
returns an interim result and runs the handler again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Raw, Struct

from dovetail.errors import DovetailError
from dovetail.spec.methods import MethodSpec, methods_at
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.core.call import Ask, Call

__all__ = ["CacheHint", "Encoded", "Era"]


class CacheHint(NamedTuple):
    """How long a client may keep a result, and whether it may be shared between users."""

    ttl_ms: int = 0
    scope: Literal["public", "private"] = "public"


class Encoded(NamedTuple):
    """A complete result that is already encoded."""

    body: bytes


class Era(ABC):
    """One protocol revision, as features see it."""

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.methods: dict[str, MethodSpec] = methods_at(revision)

    @abstractmethod
    def complete(
        self, result: Struct | dict[str, Any] | Raw, hint: CacheHint | None = None
    ) -> bytes:
        """The final result of a request as JSON, with the metadata of the revision.

        A `Raw` must be a JSON object that is not empty and has no `_meta`.
        """

    def interim(self, result_type: str, members: dict[str, Any]) -> bytes:
        """A result of another type than the final one; not all eras have types of results."""
        return codec.encode(members)

    @abstractmethod
    def undeclared(self, call: Call, required: dict[str, Any]) -> DovetailError:
        """The error to raise if the client did not declare a required capability."""

    @abstractmethod
    def bad_answer(self, text: str) -> DovetailError:
        """The error to raise if the client's answer is not valid."""

    @abstractmethod
    def ask(self, call: Call, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Ask the client for input; returns the raw JSON of its result."""
