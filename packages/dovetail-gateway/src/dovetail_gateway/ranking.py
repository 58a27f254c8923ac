"""BM25: ranks tools by the words that they share with a query.

Words are compared by their stems. A word in the name of a tool counts more than one in its
description or in the names of its arguments.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import takewhile
from typing import Any, TypeAlias

__all__ = ["Entry", "Ranking", "description_of", "first_sentence", "stem"]

# A tool as in tools/list.
Entry: TypeAlias = dict[str, Any]


# What a word counts in the name, the first sentence of the description, the rest of it, and the
# names of the arguments. Chosen with the questions in qa/bench/search/tuning.txt.
_WEIGHTS = (4.0, 1.0, 0.3, 0.3)
# How soon more occurrences of a word stop to count, and how much less a word counts in a long
# text: k1 and b of BM25.
_SATURATION, _LENGTH_EFFECT = 1.2, 0.75
# What longer words count that begin with a word of the query ("repo", "repository"), and, if the
# index has none, words with nearly the same spelling.
_PREFIX, _SIMILAR = 0.3, 0.4
_SHORTEST_PREFIX = 3
# Words of a query that are looked up; the query comes from a client.
_MOST_WORDS = 64
_STOP_WORDS = """
a about all an and any are as at be been by can could did do does for from had has have her his
how i if in into is it its let like many me much my new no not of on one only or our out please
should so some something tell than that the their them then there these they this those to up us
use using want was we were what when where which who why will with would you your
"""
_STOPPED = frozenset(_STOP_WORDS.split())
# Chinese, Japanese and Thai have no spaces between words, so each character is a word.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
# listRepos -> list Repos, HTTPServer -> HTTP Server
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDING = re.compile(
    r"(?:(?<=\w{4})at(?:ions?|ing|ed|es?)|itions?|ions?|ments?|ings?|ed|e?s|e|ly|al)$"
)
_KEPT_ENDINGS = ("ss", "us", "is")
_SHORTEST_STEM = 3
_VOWELS = frozenset("aeiouy")


class Ranking:
    """An index of tools, which are numbered in their order."""

    def __init__(self, tools: Sequence[Entry]) -> None:
        counted = [_count_words(tool) for tool in tools]
        lengths = [sum(counts.values()) for counts in counted]
        average = sum(lengths) / max(1, len(lengths)) or 1.0
        self._scores: dict[str, dict[int, float]] = {}
        for number, counts in enumerate(counted):
            length = 1 - _LENGTH_EFFECT + _LENGTH_EFFECT * lengths[number] / average
            for word, count in counts.items():
                score = count / (count + _SATURATION * length)
                self._scores.setdefault(word, {})[number] = score
        for found in self._scores.values():
            rarity = math.log(1 + (len(tools) - len(found) + 0.5) / (len(found) + 0.5))
            for number in found:
                found[number] *= rarity
        self._words = sorted(self._scores)

    def find(self, query: str) -> list[int]:
        """Return the numbers of the tools with any word of the query, the best first."""
        totals: dict[int, float] = {}
        for word in [*dict.fromkeys(_split_words(query))][:_MOST_WORDS]:
            best: dict[int, float] = {}
            for known, weight in self._alternatives(word).items():
                for number, score in self._scores[known].items():
                    # One word of the query counts once, by its best match.
                    best[number] = max(best.get(number, 0.0), weight * score)
            for number, score in best.items():
                totals[number] = totals.get(number, 0.0) + score
        return sorted(totals, key=lambda number: (-totals[number], number))

    def _alternatives(self, word: str) -> Mapping[str, float]:
        """Return the indexed words for a word of the query, with their weights."""
        found: dict[str, float] = {}
        start = bisect_left(self._words, word)
        if len(word) >= _SHORTEST_PREFIX:
            longer = takewhile(lambda known: known.startswith(word), self._words[start:])
            found = dict.fromkeys(longer, _PREFIX)
        if word in self._scores:
            found[word] = 1.0
        return found or dict.fromkeys(self._similar(word), _SIMILAR)

    def _similar(self, word: str) -> list[str]:
        # difflib is slow, so only words with the same first letter and about the same length.
        start = bisect_left(self._words, word[0])
        same_letter = takewhile(lambda known: known[0] == word[0], self._words[start:])
        near = [known for known in same_letter if abs(len(known) - len(word)) <= 2]
        return get_close_matches(word, near, n=2, cutoff=0.75)


def description_of(tool: Entry) -> str:
    """Return the description of a tool, as far as it is text."""
    description = tool.get("description")
    return description if isinstance(description, str) else ""


def first_sentence(text: str) -> str:
    """Return the text up to the first full stop or blank line."""
    sentence, stop, _ = text.partition("\n\n")[0].partition(". ")
    return sentence + stop.rstrip()


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the stem of an English word; it need not be a word ("creates": "creat")."""
    if len(word) <= _SHORTEST_STEM or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith(_KEPT_ENDINGS):
        return word
    found = _ENDING.sub("", word)
    if len(found) < _SHORTEST_STEM or _VOWELS.isdisjoint(found):
        # What is left must look like a word: "string" keeps its ending.
        found = word.removesuffix("s")
    # "query", "queries" and "queried"
    found = re.sub("(?:y|ie)$", "i", found)
    # "run" and "running"
    return re.sub(r"(?<=\w\w)([bdgmnprt])\1$", r"\1", found)


def _count_words(tool: Entry) -> dict[str, float]:
    description = description_of(tool)
    summary = first_sentence(description)
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    name = f"{tool['name']} {tool.get('title') or ''}"
    arguments = " ".join(properties) if isinstance(properties, dict) else ""
    counts: dict[str, float] = {}
    texts = name, summary, description[len(summary) :], arguments
    for text, weight in zip(texts, _WEIGHTS, strict=True):
        for word in _split_words(text):
            counts[word] = counts.get(word, 0.0) + weight
    return counts


def _split_words(text: str) -> Iterator[str]:
    """Yield the stems of a text; GitHub is found as "git", "hub" and "github"."""
    for word in _WORD.findall(text):
        parts = _HUMP.split(word)
        for part in parts if len(parts) == 1 else (*parts, word):
            folded = part.casefold()
            if folded not in _STOPPED:
                yield stem(folded)
