"""Text and names as terms: the stems of their words, without stop words."""

from __future__ import annotations

import re

from dovetail.compose.search.stemming import stem
from dovetail.compose.search.vocabulary import ABBREVIATIONS, IMPLIED, STOP_WORDS

__all__ = ["question_terms", "split_terms"]

# What terms of a question count that say less than others: those that it only implies, values
# (quoted text, paths, addresses, numbers), parts of a name such as GitHub, and weak words.
_IMPLIED, _VALUE_WEIGHT, _PART_WEIGHT, _WEAK_WEIGHT = 0.4, 0.3, 0.2, 0.3
_WEAK = frozenset(map(stem, ("all", "each", "entire", "every", "everything", "new", "whole")))
_OPEN, _CLOSE = "\"'\u201c\u2018", "\"'\u201d\u2019"
_VALUE = re.compile(rf"[{_OPEN}][^{_CLOSE}]{{2,}}[{_CLOSE}]|\S*[/@]\S*|\b\d[\d.,:]*\b")
# Chinese, Japanese and Thai have no spaces between words, so each character is a term.
_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
# listRepos -> list Repos, HTTPServer -> HTTP Server
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# to-do, re-run
_PREFIXED = re.compile(r"\b([^\W\d_]{1,3})-([^\W\d_]+)")


def split_terms(text: str) -> list[str]:
    """Return the terms of a text, in order.

    A word with inner capitals gives its parts and itself: GitHub is found as "git", "hub" and
    "github". A short prefix also stays with its word: to-do is found as "todo", re-run as "rerun".
    """
    words = [first + second for first, second in _PREFIXED.findall(text)]
    terms: list[str] = []
    for word in words + _WORD.findall(text):
        parts = _HUMP.split(word)
        for part in parts if len(parts) == 1 else (*parts, word):
            folded = part.casefold()
            if folded not in STOP_WORDS:
                terms += map(stem, ABBREVIATIONS.get(folded, folded).split())
    return terms


def question_terms(text: str) -> dict[str, float]:
    """Return the terms of a question and what each of them counts."""
    implied = {term: _IMPLIED for pattern, term in IMPLIED if pattern.search(text)}
    # Values are for the arguments of a tool and rarely say which tool is meant.
    terms = dict.fromkeys(split_terms(text), _VALUE_WEIGHT)
    terms.update(dict.fromkeys(split_terms(_VALUE.sub(" ", text)), 1.0))
    # The parts of a name such as GitHub say less than the name.
    for word in _WORD.findall(text):
        if len(_HUMP.split(word)) > 1:
            terms.update(dict.fromkeys(split_terms(word)[:-1], _PART_WEIGHT))
    terms.update(dict.fromkeys(_WEAK.intersection(terms), _WEAK_WEIGHT))
    return {**implied, **terms}
