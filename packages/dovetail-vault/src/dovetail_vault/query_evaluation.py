"""Evaluate a query with the index: which notes match, which may match, and their scores.

The index contains words, but a term may be any text. For single words the result is exact. For
phrases, case-sensitive terms and punctuation the index only gives candidates, and `Subject` checks
the text of each candidate.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from dovetail_vault.bitsets import Planes, add_planes, from_numbers, scale_planes
from dovetail_vault.index import Index
from dovetail_vault.postings import weight_of
from dovetail_vault.query_language import And, Node, Not, Or, Term, positive_terms
from dovetail_vault.words import WORD, fold

__all__ = ["Evaluator", "Found", "Subject"]

_EXACT = 8


class Found(NamedTuple):
    """The notes that match for sure, and all candidates."""

    sure: int
    possible: int


class Subject:
    """A note whose text is checked against a query."""

    def __init__(self, text: str, title: str, tags: list[str], path: str) -> None:
        self.text = text
        self.title = title
        self.tags = tags
        self.path = path

    @cached_property
    def folded(self) -> str:
        """The case-folded text."""
        return fold(self.text)

    def matches(self, node: Node, case_sensitive: bool) -> bool:
        """Whether the note matches the query."""
        match node:
            case Term():
                return self._has(node, case_sensitive)
            case Not(inner=inner):
                return not self.matches(inner, case_sensitive)
            case And(parts=parts):
                return all(self.matches(part, case_sensitive) for part in parts)
            case Or(parts=parts):
                return any(self.matches(part, case_sensitive) for part in parts)

    def _has(self, term: Term, case_sensitive: bool) -> bool:
        wanted = term.text if case_sensitive else fold(term.text)
        if term.field in ("any", "content"):
            return wanted in (self.text if case_sensitive else self.folded)
        if term.field == "tag":
            wanted = wanted.lstrip("#")
            tags = self.tags if case_sensitive else map(fold, self.tags)
            return any(tag == wanted or tag.startswith(f"{wanted}/") for tag in tags)
        value = self.title if term.field == "title" else self.path
        return wanted in (value if case_sensitive else fold(value))


class Evaluator:
    """Evaluates one query; use it inside `index.reading()`."""

    def __init__(self, index: Index, *, case_sensitive: bool) -> None:
        self._index = index
        self._case_sensitive = case_sensitive
        self._levels: dict[Term, Planes] = {}

    def evaluate(self, node: Node) -> Found:
        """Return the notes that match, and the candidates."""
        live = self._index.live
        match node:
            case Term():
                return self._term(node)
            case Not(inner=inner):
                found = self.evaluate(inner)
                return Found(live & ~found.possible, live & ~found.sure)
            case And(parts=parts):
                sure = possible = live
                for part in parts:
                    found = self.evaluate(part)
                    sure, possible = sure & found.sure, possible & found.possible
                return Found(sure, possible)
            case Or(parts=parts):
                sure = possible = 0
                for part in parts:
                    found = self.evaluate(part)
                    sure, possible = sure | found.sure, possible | found.possible
                return Found(sure, possible)

    def score(self, node: Node) -> Planes:
        """Return the scores of all notes; call `evaluate` first."""
        total = self._index.live.bit_count()
        planes: Planes = []
        for term in dict.fromkeys(positive_terms(node)):
            levels = self._levels.get(term)
            if levels:
                found = 0
                for plane in levels:
                    found |= plane
                weight = weight_of(found.bit_count(), total)
                planes = add_planes(planes, scale_planes(levels, weight))
        return planes

    def _term(self, term: Term) -> Found:
        if term.field in ("any", "content"):
            return self._content(term)
        if term.field == "tag":
            return self._tag(term)
        return self._column(term)

    def _content(self, term: Term) -> Found:
        index = self._index
        folded = fold(term.text)
        runs = list(WORD.finditer(folded))
        if not runs:
            return Found(0, index.live)
        possible = index.live
        planes: Planes = []
        for run in runs:
            levels = self._word(run[0], run.start() > 0, run.end() < len(folded))
            possible &= levels[0] | levels[1] | levels[2] | levels[3]
            planes = add_planes(planes, levels) if planes else levels
        self._levels[term] = planes
        is_exact = len(runs) == 1 and runs[0][0] == folded and not self._case_sensitive
        return Found(possible if is_exact else 0, possible | index.doubtful)

    def _word(self, word: str, at_start: bool, at_end: bool) -> Planes:
        """Return notes with words that contain this text; a whole word scores higher."""
        vocabulary = self._index.vocabulary
        # An ideograph is a word of its own and never part of a longer one.
        is_alone = len(word) == 1 and WORD.fullmatch(f"{word}{word}") is None
        terms = vocabulary.find(word, at_start=at_start or is_alone, at_end=at_end or is_alone)
        exact = vocabulary.find(word, at_start=True, at_end=True)
        levels = self._index.levels_of(terms)
        whole = self._index.levels_of(exact) if len(terms) > 1 else levels
        return [*levels, (whole[0] | whole[1] | whole[2]) if exact else 0]

    def _tag(self, term: Term) -> Found:
        column = "tag" if self._case_sensitive else "folded"
        wanted = term.text.lstrip("#")
        wanted = wanted if self._case_sensitive else fold(wanted)
        rows = self._index.query(f"SELECT note FROM tags WHERE {column} = ?", (wanted,))
        rows += self._index.query(
            f"SELECT note FROM tags WHERE {column} >= ? AND {column} < ?",
            (f"{wanted}/", f"{wanted}0"),
        )
        bits = from_numbers([note for (note,) in rows])
        return Found(bits & self._index.live, bits & self._index.live)

    def _column(self, term: Term) -> Found:
        column = term.field if self._case_sensitive else f"folded_{term.field}"
        wanted = term.text if self._case_sensitive else fold(term.text)
        bits = self._index.numbers(f"WHERE instr({column}, ?) > 0", (wanted,)) & self._index.live
        self._levels[term] = [0, bits]
        return Found(bits, bits)
