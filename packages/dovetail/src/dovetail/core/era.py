"""What the two eras of the protocol have in common, as an interface.

Features are written against this and never learn which era asks: they return a
neutral result, the era stamps it; they ask the user something, the era finds the
way (a request on the back channel, or an interim result and a second run).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Raw, Struct

from dovetail.errors import DovetailError
from dovetail.spec.methods import MethodSpec, methods_at
from dovetail.spec.revisions import Revision

if TYPE_CHECKING:
    from dovetail.core.call import Ask, Call
    from dovetail.core.tasks import TaskShape

__all__ = ["CacheHint", "Encoded", "Era"]


class CacheHint(NamedTuple):
    """How long a client may keep a result, and whether it may be shared between users."""

    ttl_ms: int = 0
    scope: Literal["public", "private"] = "public"


class Encoded(NamedTuple):
    """A result that is stamped and encoded already."""

    body: bytes


class Era(ABC):
    """One revision, seen by the features."""

    # How it speaks of tasks.
    tasks: TaskShape

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.methods: dict[str, MethodSpec] = methods_at(revision)

    @abstractmethod
    def complete(
        self, result: Struct | dict[str, Any] | Raw, hint: CacheHint | None = None
    ) -> bytes:
        """The final result of a request as JSON, stamped as the revision wants it.

        A `Raw` is a JSON object with members, none of them `_meta`.
        """

    @abstractmethod
    def undeclared(self, call: Call, required: dict[str, Any]) -> DovetailError:
        """What to raise when the client has not declared what an ask needs."""

    @abstractmethod
    def bad_answer(self, text: str) -> DovetailError:
        """What to raise when the client's answer to an ask cannot be used."""

    @abstractmethod
    def ask(self, call: Call, ask: Ask) -> Coroutine[Any, Any, Raw]:
        """Get one thing from the client; the answer is the raw JSON of its result."""
