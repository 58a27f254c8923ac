"""How alike texts are spelled: hashed n-grams, for misspellings and where no model is installed.

They compare spelling, not meaning, and whoever uses them says so.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache

from dovetail_graph.text_rules import fold, words_of

__all__ = ["HashedNgrams", "cosine"]

_SIZES = (3, 4)


class HashedNgrams:
    """Words and the n-grams in them, hashed to places of a vector; no model, no meaning."""

    name = "hashed-ngrams-1"
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
