"""The texts of an entity that are embedded: each observation, prefixed with the entity's name.

A passage is identified by a digest of its text, so unchanged texts are not embedded again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dovetail_graph.records import observation_id

__all__ = ["Passage", "passages_of"]

# Characters that a model reads of a text; longer observations become several passages.
_MAX_LENGTH = 800
# Passages per entity, from the latest observations.
_MAX_PASSAGES = 256
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to embed."""

    text: str
    # The id of its observation; empty if it is made from the name and type alone.
    observation: str

    @property
    def digest(self) -> bytes:
        """Identifies the text."""
        return hashlib.blake2b(self.text.encode(), digest_size=12).digest()


def passages_of(name: str, kind: str, contents: Sequence[str]) -> list[Passage]:
    """Return the passages of an entity, without duplicates."""
    # Models know words, not identifiers, so PaymentService becomes two words.
    title = _WORD_BOUNDARY.sub(" ", name).strip() or name
    if not contents:
        return [Passage(f"{title} ({_WORD_BOUNDARY.sub(' ', kind)})", "")]
    found = {
        text: Passage(text, observation_id(content))
        for content in contents[-_MAX_PASSAGES:]
        for text in (f"{title}: {piece}" for piece in _pieces(content))
    }
    return list(found.values())[:_MAX_PASSAGES]


def _pieces(content: str) -> Iterator[str]:
    """Split a text into parts of limited length, between words if possible."""
    start = 0
    while len(content) - start > _MAX_LENGTH:
        cut = content.rfind(" ", start + _MAX_LENGTH // 2, start + _MAX_LENGTH)
        end = cut if cut > 0 else start + _MAX_LENGTH
        yield content[start:end]
        start = end
    yield content[start:]
