"""Texts as vectors: a model where one is installed, hashed n-grams where none is.

Nothing is ever downloaded. A model is a package with an entry point in the group
`dovetail.embedders`: a class without arguments that is an Embedder. What is built in compares
spelling, not meaning, and says so: its kind is "lexical".
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Protocol

from dovetail import UsageError
from dovetail.servers.graph.text_rules import fold, words_of

__all__ = ["GROUP", "Embedder", "HashedNgrams", "cosine", "find_embedder", "pack", "unpack"]

GROUP = "dovetail.embedders"
_SIZES = (3, 4)


class Embedder(Protocol):
    """Makes vectors of length one."""

    # Names the model and its version: vectors of different names are never compared.
    name: str
    # "semantic" or "lexical".
    kind: str
    # From here on two texts are taken to be about the same, with this model.
    min_similarity: float

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """A vector per text."""


class HashedNgrams:
    """Words and the n-grams in them, hashed to places of a vector; no model, no meaning."""

    name = "hashed-ngrams-1"
    kind = "lexical"
    # Chosen by hand, not calibrated on a corpus; the unit test has the pairs it keeps apart.
    min_similarity = 0.25
    dimensions = 512

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """A vector per text."""
        return [self._dense(text) for text in texts]

    def weigh(self, text: str) -> Mapping[int, float]:
        """The same vector, without its zeros."""
        counts: Counter[int] = Counter()
        for word in words_of(fold(text)):
            counts.update(_places(word))
        weights = {place: 1 + math.log(count) for place, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {place: weight / length for place, weight in weights.items()}

    def _dense(self, text: str) -> Sequence[float]:
        vector = [0.0] * self.dimensions
        for place, weight in self.weigh(text).items():
            vector[place] = weight
        return vector


@lru_cache(maxsize=50_000)
def _places(word: str) -> tuple[int, ...]:
    framed = f"<{word}>"
    grams = [framed]
    for size in _SIZES:
        grams += [framed[at : at + size] for at in range(len(framed) - size + 1)]
    return tuple(
        int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=2).digest())
        % HashedNgrams.dimensions
        for gram in grams
    )


def cosine(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """How alike two vectors of length one are."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return min(1.0, sum(weight * long.get(place, 0.0) for place, weight in short.items()))


def pack(vector: Sequence[float]) -> bytes:
    """A vector as it is kept."""
    return array("f", vector).tobytes()


def unpack(data: bytes) -> array[float]:
    """A vector that was kept."""
    vector = array("f")
    vector.frombytes(data)
    return vector


def find_embedder(choice: str) -> Embedder | None:
    """The embedder of `--embeddings`: auto, off, or a name."""
    if choice == "off":
        return None
    installed = {point.name: point for point in entry_points(group=GROUP)}
    if choice == "auto":
        choice = next(iter(sorted(installed)), "ngrams")
    if choice in installed:
        made: Embedder = installed[choice].load()()
        return made
    if choice == "ngrams":
        return HashedNgrams()
    names = ", ".join(["auto", "off", "ngrams", *sorted(installed)])
    raise UsageError(f"--embeddings {choice!r} is not installed; there is: {names}")
