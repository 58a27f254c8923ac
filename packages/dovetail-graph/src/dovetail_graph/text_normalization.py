"""Text as the index sees it, and queries that no character can break."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["fold", "normalize", "quoted_words", "spread", "telling_words", "trigrams", "words_of"]

# Scripts without blanks between words: each character is a word of its own.
_IDEOGRAPH = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 64
# Words of questions, in English: whoever has only these of a query has nothing of it.
_SMALL_WORDS = """
a about after again all also am an and any are as at be because been before being but by
can could did do does doing for from had has have having he her here hers him his how i if
in into is it its just let me more most my no nor not of off on once only or other our
ours out over own please same shall she should so some such than that the their theirs
them then there these they this those through to too until up us very was we were what
when where which while who whom whose why will with would you your yours
"""
_SMALL = frozenset(_SMALL_WORDS.split())


def normalize(text: str) -> str:
    """One form for what looks the same; blanks around it say nothing."""
    return unicodedata.normalize("NFC", text).strip()


def fold(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character))


def spread(text: str) -> str:
    """The text as it is indexed."""
    text = text.replace("_", " ")
    return _IDEOGRAPH.sub(r" \1 ", text) if not text.isascii() else text


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    return _WORD.findall(spread(text))


def quoted_words(query: str) -> list[str]:
    """The words of a query as terms of a full-text expression, in which nothing is special."""
    return [f'"{word}"' for word in dict.fromkeys(words_of(query))][:_MOST_WORDS]


def telling_words(query: str) -> str:
    """The query without its small words; the query itself where it has no others."""
    return " ".join(word for word in words_of(query) if word.lower() not in _SMALL) or query


def trigrams(name: str) -> list[str]:
    """Every three characters in a row, as terms of a full-text expression."""
    folded = name.casefold()[:200]
    grams = dict.fromkeys(folded[at : at + 3] for at in range(len(folded) - 2))
    return ['"' + gram.replace('"', '""') + '"' for gram in grams]
