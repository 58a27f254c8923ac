"""Normalize text for the index, and build full-text queries from arbitrary input."""

from __future__ import annotations

import re
import unicodedata

__all__ = [
    "fold",
    "normalize",
    "quoted_words",
    "separate_ideographs",
    "significant_words",
    "trigrams",
    "words_of",
]

# Scripts without spaces between words: each character is indexed as a word.
_IDEOGRAPH = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_WORD = re.compile(r"[^\W_]+")
_MAX_WORDS = 64
# English stop words: an entity that matches only these does not match the query.
_STOP_WORD_LIST = """
a about after again all also am an and any are as at be because been before being but by
can could did do does doing for from had has have having he her here hers him his how i if
in into is it its just let me more most my no nor not of off on once only or other our
ours out over own please same shall she should so some such than that the their theirs
them then there these they this those through to too until up us very was we were what
when where which while who whom whose why will with would you your yours
"""
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())


def normalize(text: str) -> str:
    """Return the text in Unicode form NFC, without surrounding whitespace."""
    return unicodedata.normalize("NFC", text).strip()


def fold(text: str) -> str:
    """Return the text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))


def separate_ideographs(text: str) -> str:
    """Return the text as it is indexed: underscores as spaces, ideographs as separate words."""
    text = text.replace("_", " ")
    return _IDEOGRAPH.sub(r" \1 ", text) if not text.isascii() else text


def words_of(text: str) -> list[str]:
    """Return the words of a text, in order."""
    return _WORD.findall(separate_ideographs(text))


def quoted_words(query: str) -> list[str]:
    """Return the words of a query as quoted FTS5 terms, so that no character has a meaning."""
    return [f'"{word}"' for word in dict.fromkeys(words_of(query))][:_MAX_WORDS]


def significant_words(query: str) -> str:
    """Return the query without stop words, or unchanged if it has no other words."""
    return " ".join(word for word in words_of(query) if word.lower() not in _STOP_WORDS) or query


def trigrams(name: str) -> list[str]:
    """Return the trigrams of a name as quoted FTS5 terms."""
    folded = name.casefold()[:200]
    grams = dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return ['"' + gram.replace('"', '""') + '"' for gram in grams]
