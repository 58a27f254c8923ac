"""Which texts of an entity get a vector: each observation, said together with whom it is about.

A passage is named by a digest of its text, so that what did not change is not calculated again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dovetail_graph.records import observation_id

__all__ = ["Passage", "passages_of"]

# What models read of a text; longer observations are several passages.
_LONGEST = 800
# Of one entity; the latest observations.
_MOST = 256
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to be compared."""

    text: str
    # The id of the observation it is from; empty where it is of the name and type alone.
    observation: str

    @property
    def digest(self) -> bytes:
        """Names the text."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).digest()


def passages_of(name: str, kind: str, contents: Sequence[str]) -> list[Passage]:
    """The passages of an entity, each once."""
    # Models know words, not identifiers: PaymentService is two of them.
    called = _HUMP.sub(" ", name).strip() or name
    if not contents:
        return [Passage(f"{called} ({_HUMP.sub(' ', kind)})", "")]
    found = {
        text: Passage(text, observation_id(content))
        for content in contents[-_MOST:]
        for text in (f"{called}: {piece}" for piece in _pieces(content))
    }
    return list(found.values())[:_MOST]


def _pieces(content: str) -> Iterator[str]:
    """The text in parts of a bounded length, cut between words where there are any."""
    start = 0
    while len(content) - start > _LONGEST:
        cut = content.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
        end = cut if cut > 0 else start + _LONGEST
        yield content[start:end]
        start = end
    yield content[start:]
