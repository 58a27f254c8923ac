"""English word stems: "generate", "generated" and "generation" become "gener".

A stem is a key for comparison and need not be a word. There are fewer rules than in Porter's
algorithm; they cover the endings that names and descriptions of tools have.
"""

from __future__ import annotations

from functools import lru_cache

__all__ = ["stem"]

_SHORTEST = 3
_VOWELS = frozenset("aeiouy")
# Words that the rules would merge with another word.
_EXCEPTIONS = {"settings": "setting", "setting": "setting"}
# Plural and third person: (ending, replacement). The first ending that matches applies.
_PLURALS = (("sses", "ss"), ("ies", "y"), ("ss", "ss"), ("us", "us"), ("sis", "sis"), ("s", ""))
# Endings of verbs and of nouns made from verbs.
_ENDINGS = (
    ("ification", "ify"),
    ("istration", "ister"),
    ("ization", "iz"),
    ("isation", "iz"),
    ("ription", "rib"),
    ("ising", "iz"),
    ("ised", "iz"),
    ("oval", "ov"),
    ("ship", ""),
    ("sion", "s"),
    ("tion", "t"),
    ("ment", ""),
    ("able", ""),
    ("ise", "iz"),
    ("ied", "y"),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
)
# "generat" loses "at", which "generate" and "generation" have in common; "creat" is too short.
_SHORTEST_WITH_AT = 7


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words that are not ASCII letters stay as they are."""
    if len(word) <= _SHORTEST or not (word.isascii() and word.isalpha()):
        return word
    if word in _EXCEPTIONS:
        return _EXCEPTIONS[word]
    word = _replace(_replace(word, _PLURALS), _ENDINGS)
    if len(word) <= _SHORTEST:
        return word
    word = word.removesuffix("e")
    if len(word) >= _SHORTEST_WITH_AT:
        word = word.removesuffix("at")
    if word[-1] == "y" and word[-2] not in _VOWELS:
        return word[:-1] + "i"
    if word[-1] == word[-2] and word[-1] not in _VOWELS:
        return word[:-1]
    return word


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for ending, replacement in rules:
        if word.endswith(ending):
            kept = word[: -len(ending)]
            # What is left must look like a word: "string" and "comment" keep their endings.
            shortest = _SHORTEST + (ending == "ment")
            if len(kept) >= shortest and not _VOWELS.isdisjoint(kept):
                return kept + replacement
            return word
    return word
