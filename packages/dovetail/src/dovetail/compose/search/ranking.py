"""BM25F: rank documents with weighted fields by the terms of a question.

A term counts more in a short field with a high weight, and more if few documents contain it. A
term of the question also finds synonyms, words that begin with it ("repo", "repository") and, if it
is unknown, words that are spelled nearly the same; those count less.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple, TypeAlias

from dovetail.compose.search.vocabulary import SYNONYMS

__all__ = ["Document", "Field", "Ranking"]

# The terms of each field.
Document: TypeAlias = Mapping[str, Sequence[str]]

# How soon more occurrences of a term stop to count (the k1 of BM25).
_SATURATION = 1.2
# Terms in fewer than 2 % of the documents are equally rare: whether a word occurs in one or in
# ten of a thousand documents is chance.
_HIGHEST_RARITY = 4.0
_SYNONYM, _PREFIX, _SIMILAR = 0.5, 0.25, 0.4
_SHORTEST_PREFIX = 3
# Question terms that are looked up; the question comes from a client.
_MOST_TERMS = 64


class Field(NamedTuple):
    """What a term in a field counts, and how much less in a long field (the b of BM25)."""

    weight: float
    length_effect: float


class Ranking:
    """An index of documents, which are numbered in their order."""

    def __init__(self, documents: Sequence[Document], fields: Mapping[str, Field]) -> None:
        totals = Counter[str]()
        for document in documents:
            for name, terms in document.items():
                totals[name] += len(terms)
        average = {name: max(1.0, total / len(documents)) for name, total in totals.items()}
        self._postings: dict[str, dict[int, float]] = {}
        for number, document in enumerate(documents):
            for name, terms in document.items():
                weight, effect = fields[name]
                length = 1 - effect + effect * len(terms) / average[name]
                for term, count in Counter(terms).items():
                    found = self._postings.setdefault(term, {})
                    found[number] = found.get(number, 0.0) + weight * count / length
        for found in self._postings.values():
            # A term that many documents only mention in passing is still a rare one.
            spread = sum(min(1.0, frequency) for frequency in found.values())
            rarity = math.log(1 + (len(documents) - spread + 0.5) / (spread + 0.5))
            rarity = min(rarity, _HIGHEST_RARITY)
            for number, frequency in found.items():
                found[number] = rarity * frequency / (_SATURATION + frequency)
        self._words = sorted(self._postings)

    def find(self, terms: Mapping[str, float]) -> list[int]:
        """Return the numbers of the documents with any of the terms, the best first.

        The values are what each term counts.
        """
        scores: dict[int, float] = {}
        for term, importance in [*terms.items()][:_MOST_TERMS]:
            best: dict[int, float] = {}
            for word, weight in self._alternatives(term).items():
                for number, score in self._postings[word].items():
                    # One term of the question counts once, by its best match.
                    best[number] = max(best.get(number, 0.0), weight * score)
            for number, score in best.items():
                scores[number] = scores.get(number, 0.0) + importance * score
        return sorted(scores, key=lambda number: (-scores[number], number))

    def _alternatives(self, term: str) -> dict[str, float]:
        """Return the indexed words for a term of the question, with their weights."""
        found: dict[str, float] = {}
        if len(term) >= _SHORTEST_PREFIX:
            place = bisect_left(self._words, term)
            while place < len(self._words) and self._words[place].startswith(term):
                found[self._words[place]] = _PREFIX
                place += 1
        for word in SYNONYMS.get(term, ()):
            if word in self._postings:
                found[word] = _SYNONYM
        if term in self._postings:
            found[term] = 1.0
        return found or dict.fromkeys(self._similar(term), _SIMILAR)

    def _similar(self, term: str) -> list[str]:
        # difflib is slow, so only words with the same first letter and about the same length.
        first = bisect_left(self._words, term[:1])
        last = bisect_left(self._words, chr(ord(term[0]) + 1))
        near = [word for word in self._words[first:last] if abs(len(word) - len(term)) <= 2]
        return get_close_matches(term, near, n=2, cutoff=0.75)
