"""Spelling similarity by hashed n-grams, for misspellings and when no model is installed.

N-grams compare spelling, not meaning; results that use them say "lexical".
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dovetail_graph.text_normalization import fold, words_of

__all__ = ["HashedNgrams", "cosine"]

_SIZES = (3, 4)


class HashedNgrams:
    """Vectors of hashed words and n-grams; no model."""

    name = "hashed-ngrams-1"
    # Chosen by hand, not calibrated on a corpus; the unit test shows which pairs it separates.
    min_similarity = 0.25
    dimensions = 512

    def embed(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """Return a dense vector per text."""
        return [self._dense(text) for text in texts]

    def weigh(self, text: str) -> Mapping[int, float]:
        """Return the vector of a text in sparse form."""
        counts: Counter[int] = Counter()
        for word in words_of(fold(text)):
            counts.update(_positions(word))
        weights = {position: 1 + math.log(count) for position, count in counts.items()}
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        return {position: weight / length for position, weight in weights.items()}

    def _dense(self, text: str) -> Sequence[float]:
        vector = [0.0] * self.dimensions
        for position, weight in self.weigh(text).items():
            vector[position] = weight
        return vector


@lru_cache(maxsize=50_000)
def _positions(word: str) -> tuple[int, ...]:
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
    """Return the cosine similarity of two sparse vectors of unit length."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return min(1.0, sum(weight * long.get(position, 0.0) for position, weight in short.items()))
