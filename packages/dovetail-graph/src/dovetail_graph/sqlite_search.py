"""Search current entities with SQLite's full-text index."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping, Sequence

from dovetail_graph.storage import Match
from dovetail_graph.text_normalization import fold, quoted_words, trigrams

__all__ = ["SqliteSearch"]

# CROSS JOIN fixes the join order: otherwise SQLite would scan all documents of a namespace and
# query the full-text index for each.
# A word that more entities have is treated as common.
_COMMON = 1_000


class SqliteSearch:
    """Searches one snapshot of one namespace."""

    def __init__(self, database: sqlite3.Connection, namespace: str) -> None:
        self.database = database
        self.namespace = namespace

    def match_words(self, query: str, mode: str, limit: int) -> list[Match]:
        """Search current entities by words; mode is all, any or prefix."""
        words = [f"{word}*" if mode == "prefix" else word for word in quoted_words(query)]
        rows = self._documents_with("texts", words)
        rare = [word for word in words if 0 < len(rows[word]) <= _COMMON]
        common = [word for word in words if len(rows[word]) > _COMMON]
        if mode == "any":
            # Next to rare words, common ones add little to the ranking and cost much time.
            shares = self._shares({word: rows[word] for word in words if word not in common})
            return self._rank(" OR ".join(rare), limit, shares) or self._latest(
                " OR ".join(common), limit
            )
        if not all(rows.values()):
            return []
        if not common or not rare:
            return self._rank(" AND ".join(rare), limit) or self._latest(
                " AND ".join(common), limit
            )
        there = {match.name for match in self._latest(" AND ".join(words), _COMMON)}
        ranked = self._rank(" AND ".join(rare), _COMMON)
        return [match for match in ranked if match.name in there][:limit]

    def _shares(self, rows: Mapping[str, Sequence[int]]) -> dict[int, float]:
        """Return each document's share of the words, weighted by how rare each word is."""
        (documents,) = self.database.execute(
            "SELECT coalesce(max(id), 0) FROM documents"
        ).fetchone()
        weights = {
            word: math.log(1 + (documents - len(having) + 0.5) / (len(having) + 0.5))
            for word, having in rows.items()
        }
        total = sum(weights.values()) or 1.0
        shares: dict[int, float] = {}
        for word, having in rows.items():
            for number in having:
                shares[number] = shares.get(number, 0.0) + weights[word] / total
        return shares

    def _rank(
        self, expression: str, limit: int, shares: Mapping[int, float] | None = None
    ) -> list[Match]:
        """Rank by BM25; takes time linear in the number of entities that have a word."""
        if not expression:
            return []
        # A match in the name counts more than one in the observations, and half if it is past.
        rows = self.database.execute(
            "SELECT d.name, bm25(texts, 8.0, 4.0, 1.0, 0.5) * (0.5 + 0.5 * d.current) AS score, "
            "d.id FROM texts CROSS JOIN documents d ON d.id = texts.rowid "
            "WHERE texts MATCH ? AND d.ns = ? ORDER BY score LIMIT ?",
            (expression, self.namespace, limit),
        )
        known = {} if shares is None else shares
        return [Match(name, -score, known.get(number, 1.0)) for name, score, number in rows]

    def _latest(self, expression: str, limit: int) -> list[Match]:
        """For common words: matches in name or type first, then others, the latest first."""
        if not expression:
            return []
        found: dict[str, Match] = {}
        for part, score in ((f"{{name kind}} : ({expression})", 1e-6), (expression, 1e-7)):
            rows = self.database.execute(
                "SELECT d.name FROM texts CROSS JOIN documents d ON d.id = texts.rowid "
                "WHERE texts MATCH ? AND d.ns = ? ORDER BY texts.rowid DESC LIMIT ?",
                (part, self.namespace, limit - len(found)),
            )
            for (name,) in rows:
                found.setdefault(name, Match(name, score))
        return list(found.values())

    def match_prefixes(self, words: Sequence[str], limit: int) -> list[Match]:
        """Search current entities by beginnings of words, ignoring very common ones."""
        terms = [f"{term}*" for word in words for term in quoted_words(word)]
        rows = self._documents_with("texts", terms)
        return self._latest(" OR ".join(t for t in terms if 0 < len(rows[t]) <= _COMMON), limit)

    def match_spelling(self, name: str, limit: int) -> list[Match]:
        """Search current entities by similar spelling of the name."""
        grams = trigrams(name)
        rows = self._documents_with("spellings", grams)
        rare = [gram for gram in grams if 0 < len(rows[gram]) <= _COMMON]
        common = [gram for gram in grams if len(rows[gram]) > _COMMON]
        if not rare and not common:
            return []
        order = "rank" if rare else "spellings.rowid DESC"
        found = self.database.execute(
            "SELECT d.name FROM spellings CROSS JOIN documents d ON d.id = spellings.rowid "
            f"WHERE spellings MATCH ? AND d.ns = ? ORDER BY {order} LIMIT ?",
            (" OR ".join(rare or common), self.namespace, limit),
        )
        return [Match(one, 0.0) for (one,) in found]

    def _documents_with(self, table: str, terms: Sequence[str]) -> dict[str, list[int]]:
        """Return the documents that have each term, at most _COMMON + 1 of them."""
        sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?"
        return {
            term: [number for (number,) in self.database.execute(sql, (term, _COMMON + 1))]
            for term in terms
        }

    def names_starting_with(self, prefix: str, limit: int) -> list[str]:
        """Return names of current entities, for completion."""
        start = fold(prefix)
        rows = self.database.execute(
            "SELECT name FROM documents WHERE ns = ? AND folded >= ? AND folded < ? "
            "ORDER BY folded LIMIT ?",
            (self.namespace, start, start + "\U0010ffff", limit),
        )
        return [name for (name,) in rows]
